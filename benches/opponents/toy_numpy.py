#!/usr/bin/env python3
"""The one-dimensional toy of the paper in plain vectorised NumPy: the opponent of the toy benchmark.

    python3 toy_numpy.py --replicas 20000 --steps 6000      # prints seconds and the mean of each final iterate
The setting of `residuum reproduce fig-toy`: f = (w - 0.5)^2 / 2, power response, shape 1, radius 1, W0 = 0.8, P0 = 0,
learning rate 2e-3, transfer rate 4e-3, mixing 1, Gaussian gradient noise; independent noise for each rule.
"""
import argparse
import time

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--replicas", type=int, default=20000)
ap.add_argument("--steps", type=int, default=6000)
ap.add_argument("--sigmas", type=float, nargs="*", default=[0.1, 0.5, 1.0, 2.0, 4.0])
a = ap.parse_args()
target, alpha, beta, mixing = 0.5, 2e-3, 4e-3, 1.0


def realize(delta, w):
    """A(delta; w) = delta F - |delta| G with F = 1, G = w, then clipped to the dynamic range."""
    return np.clip(w + delta - np.abs(delta) * w, -1.0, 1.0)


start = time.perf_counter()
for i, sigma in enumerate(a.sigmas):
    rng = np.random.default_rng(i)
    digital = np.full(a.replicas, 0.8)
    analog = np.full(a.replicas, 0.8)
    main = np.full(a.replicas, 0.8)
    residual = np.zeros(a.replicas)
    for _ in range(a.steps):
        digital -= alpha * (digital - target + sigma * rng.standard_normal(a.replicas))
        analog = realize(-alpha * (analog - target + sigma * rng.standard_normal(a.replicas)), analog)
        g = main + mixing * residual - target + sigma * rng.standard_normal(a.replicas)
        residual = realize(-alpha * g, residual)
        main = realize(beta * mixing * residual, main)
    print(f"sigma {sigma}: digital {digital.mean():.4f} analog {analog.mean():.4f} "
          f"main {main.mean():.4f} effective {(main + mixing * residual).mean():.4f}")
print(f"{time.perf_counter() - start:.2f} s")
