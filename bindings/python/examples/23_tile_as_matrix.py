"""Tiles as a matrix: products with it and its transpose through converters, and outer-product updates."""

import numpy as np
from _common import small
from residuum import TileMatrix


def main():
    size = 20 if small() else 200
    draw = np.random.default_rng(0)
    weights = draw.uniform(-0.3, 0.3, (size, size)).astype(np.float32)
    tables = {"device": {"preset": "idealized"}, "rule": {"kind": "analog"}, "readout": "aihwkit"}
    matrix = TileMatrix(tables, weights, seed=0, name="matrix")
    x = draw.standard_normal((3, size)).astype(np.float32)
    y, back = np.empty_like(x), np.empty_like(x)
    n = matrix.read(x, y)
    matrix.read_back(n, x, back)
    error = np.abs(y - x @ weights.T).mean(), np.abs(back - x @ weights).mean()
    print(f"mean error of a read {error[0]:.3f}, of a transposed read {error[1]:.3f}")
    before = matrix.weights()
    matrix.step(x, x, learning_rate=5e-4)
    desired = -5e-4 * x.T @ x
    slope = (desired * (matrix.weights() - before)).sum() / (desired**2).sum()
    print(f"{matrix.pulses()} pulses wrote {slope:.2f} of the desired change")
    assert max(error) < 0.5 and 0.7 < slope < 1.3
    return slope


if __name__ == "__main__":
    main()
