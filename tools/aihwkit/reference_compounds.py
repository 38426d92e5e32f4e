"""Where AIHWKIT's training algorithms drift under a constant gradient: SGD, Tiki-Taka v1 to AGAD, mixed precision.

usage: python reference_compounds.py [--out FOLDER]
writes compound_statistics.json

The slope of W on -d x^T says how much of the asked update arrives; ideal SGD gives lr * updates.
"""

import argparse

from common import GOLDEN, VERSIONS, configuration, significant, tile, write

import torch
from aihwkit.simulator.configs import build_config
from aihwkit.simulator.configs.devices import PowStepDevice, SoftBoundsReferenceDevice

SIZE, RATE, CONSTRUCTIONS = 16, 0.05, 12
AT = [50, 100, 200, 400]
ALGORITHMS = ("sgd", "ttv1", "ttv1_fast.01", "ttv2", "c-ttv2", "agad", "mp")

DEVICES = {
    "SoftBoundsReference_novar": lambda: SoftBoundsReferenceDevice(
        dw_min_dtod=0.0, dw_min_std=0.0, up_down_dtod=0.0, w_max_dtod=0.0, w_min_dtod=0.0
    ),
    "SoftBoundsReference": SoftBoundsReferenceDevice,
    "PowStep_tau.6": lambda: PowStepDevice(
        dw_min=0.001, pow_gamma=1.0, pow_gamma_dtod=0.0, w_max=0.6, w_min=-0.6, w_max_dtod=0.0, w_min_dtod=0.0
    ),
}


def build(algorithm, device, seed):
    """The configuration of an algorithm; `_fast.01` lowers the rate of the fast array."""
    config = build_config(algorithm.split("_")[0], device, construction_seed=seed)
    if algorithm.endswith("_fast.01"):
        config.device.fast_lr = 0.01
    return config


def trajectory(config, x, d):
    """Effective weights after the recorded numbers of updates."""
    made = tile(config, SIZE, SIZE, learning_rate=RATE)
    records = []
    for update in range(1, AT[-1] + 1):
        made.update(x, d, False)
        if update in AT:
            records.append(made.get_weights().flatten().double())
    return torch.stack(records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    options = parser.parse_args()
    k = torch.arange(SIZE).float()
    x, d = torch.cos(0.4 * k).reshape(1, SIZE), 0.1 * torch.sin(0.9 * k + 0.3).reshape(1, SIZE)
    direction = -(d.T @ x).flatten().double()
    document = {
        **VERSIONS, "tile": [SIZE, SIZE], "x": "cos(0.4 j)", "d": "0.1 sin(0.9 i + 0.3)", "lr": RATE,
        "updates": AT[-1], "constructions": CONSTRUCTIONS,
        "note": "W starts at 0; batch-1 updates; statistics over constructions (seeds 1..12) of the effective weight",
        "slope_meaning": "least-squares slope of W on (-d x^T); ideal SGD would give lr * updates = 0.05 * u",
        "cases": {}, "configs": {},
    }
    for kind, make in DEVICES.items():
        for algorithm in ALGORITHMS:
            runs = [trajectory(build(algorithm, make(), seed), x, d) for seed in range(1, CONSTRUCTIONS + 1)]
            weights = torch.stack(runs)  # construction, record, weight
            slope = (weights * direction).sum(2) / (direction * direction).sum()
            rest = weights - slope[..., None] * direction
            document["cases"][f"{kind}/{algorithm}"] = {
                "device": configuration(make()), "at": AT,
                "slope_mean": significant(slope.mean(0)), "slope_std": significant(slope.std(0)),
                "w_rms": significant(weights.pow(2).mean((0, 2)).sqrt()),
                "resid_std": significant(rest.pow(2).mean((0, 2)).sqrt()),
            }
    for algorithm in ("ttv1", "ttv2", "c-ttv2", "agad", "mp"):
        document["configs"][algorithm] = configuration(build(algorithm, SoftBoundsReferenceDevice(), 1).device)
    write(options.out, "compound_statistics.json", document)


if __name__ == "__main__":
    main()
