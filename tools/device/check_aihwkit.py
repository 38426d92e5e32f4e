"""Whether the Python that `residuum device fit --aihwkit` writes makes a device of AIHWKIT with the fitted steps.

    residuum device fit pulses.csv --aihwkit device.py --json > fit.json
    python tools/device/check_aihwkit.py device.py fit.json

Needs aihwkit 1.1.0. Every state of the fitted curve is written to a row of cells, one pulse is sent in each direction, and the
mean change is compared with the curve. Noise and spreads are switched off for that, so the tolerance is that of single precision and of
the nodes of a piecewise device: 1 % of the mean step.
"""

import json
import sys

import numpy
import torch
from aihwkit.simulator.configs import SingleRPUConfig
from aihwkit.simulator.configs.utils import PulseType
from aihwkit.simulator.tiles import AnalogTile


def step(device, states, sign):
    """The change by one pulse from each state."""
    config = SingleRPUConfig(device=device)
    config.update.pulse_type = PulseType.DETERMINISTIC_IMPLICIT
    config.update.desired_bl = 1
    config.update.update_management = False
    config.update.update_bl_management = False
    tile = AnalogTile(1, len(states), config)
    tile.set_weights(torch.tensor(states, dtype=torch.float32).reshape(1, -1))
    tile.set_learning_rate(device.dw_min)
    before = tile.get_weights()[0].numpy().ravel().copy()
    tile.update(torch.ones(1, len(states)), torch.full((1, 1), -float(sign)))
    return before, tile.get_weights()[0].numpy().ravel() - before


def main():
    module = {}
    with open(sys.argv[1]) as file:
        exec(file.read(), module)
    device = module["device"]
    for name in ("dw_min_std", "dw_min_dtod", "up_down_dtod", "w_max_dtod", "w_min_dtod", "write_noise_std"):
        if hasattr(device, name):
            setattr(device, name, 0.0)
    with open(sys.argv[2]) as file:
        fit = json.load(file)
    low, high = fit["range"]["low"], fit["range"]["high"]
    per_weight = 0.5 * (high - low)
    points = [p for p in fit["curve"] if device.w_min * 0.97 < p["weight"] < device.w_max * 0.97]
    states = [p["weight"] for p in points]
    mean = fit["step"]["value"] / per_weight
    worst = 0.0
    for sign, side in ((1, "up"), (-1, "down")):
        at, change = step(device, states, sign)
        wanted = numpy.array([sign * p[side]["value"] / per_weight for p in points])
        worst = max(worst, numpy.abs(change - wanted).max() / mean)
    print(f"{type(device).__name__}: largest difference {worst:.2e} of the mean step at {len(states)} states")
    sys.exit(0 if worst < 0.01 else 1)


main()
