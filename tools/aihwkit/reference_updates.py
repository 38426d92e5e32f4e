"""Mean, variance and covariances of one stochastic pulsed update.

usage: python reference_updates.py [--out FOLDER] [--repeats N]
writes update_statistics.json

x and d run over a grid of 8 values, repeated to a 64 x 64 tile; every update starts at W = 0. A grid cell is therefore
sampled 64 times per update, and two cells a period apart share a bit line: their covariance is what independent sampling
of every weight would lose.
"""

import argparse

from common import GOLDEN, VERSIONS, configuration, significant, tile, write

import torch
from aihwkit.simulator.configs import SingleRPUConfig
from aihwkit.simulator.configs.devices import ConstantStepDevice
from aihwkit.simulator.parameters.enums import PulseType
from aihwkit.simulator.parameters.training import UpdateParameters

PERIODS = 8
GRID = torch.tensor([-1.0, -0.7, -0.3, -0.05, 0.05, 0.3, 0.7, 1.0])
SIZE = PERIODS * len(GRID)

SCALES = ((0.6, 0.05), (0.02, 0.05), (0.005, 0.05), (2.0, 0.05), (0.1, 0.01))  # (scale of d, learning rate)
MANAGEMENT = (
    {"desired_bl": 31},
    {"desired_bl": 31, "update_bl_management": False, "update_management": False},
    {"desired_bl": 31, "update_bl_management": False, "update_management": True},
    {"desired_bl": 5},
)

NOTE = (
    f"rows = d index (grid * d_scale), columns = x index (grid); grid = {GRID.tolist()}; dW sign convention of SGD: "
    "dW = -lr * d * x. cov_same_row: two different weights of the same row (same d line) whose x values are equal; "
    "cov_same_col: two weights of the same column (same x line) with equal d."
)


def cases():
    """Settings of every case: (scale of d, learning rate, management, dw_min_std, pulse type)."""
    for scale, rate in SCALES:
        for management in MANAGEMENT:
            for noise in (0.0, 0.3):
                yield scale, rate, management, noise, PulseType.STOCHASTIC_COMPRESSED
    for pulse_type in (PulseType.MEAN_COUNT, PulseType.DETERMINISTIC_IMPLICIT):
        for scale in (0.6, 0.02):
            yield scale, 0.05, MANAGEMENT[0], 0.0, pulse_type


def statistics(scale, rate, management, noise, pulse_type, repeats):
    """Moments of one update, pooled over the cells of equal (d, x)."""
    device = ConstantStepDevice(
        dw_min=0.001, dw_min_dtod=0.0, dw_min_std=noise, up_down_dtod=0.0,
        w_max=10.0, w_min=-10.0, w_max_dtod=0.0, w_min_dtod=0.0,
    )
    update = UpdateParameters(pulse_type=pulse_type, **management)
    made = tile(SingleRPUConfig(device=device, update=update), SIZE, SIZE, learning_rate=rate)
    x, d = GRID.repeat(PERIODS).reshape(1, SIZE), scale * GRID.repeat(PERIODS).reshape(1, SIZE)
    start = torch.zeros(SIZE, SIZE)
    sums = torch.zeros(4, SIZE, SIZE, dtype=torch.float64)
    for _ in range(repeats):
        made.set_weights(start)
        made.update(x, d, False)
        w = made.get_weights().double()
        sums += torch.stack((w, w * w, w * w.roll(len(GRID), 1), w * w.roll(len(GRID), 0)))
    pooled = sums.reshape(4, PERIODS, len(GRID), PERIODS, len(GRID)).mean(dim=(1, 3)) / repeats
    mean, (square, row, column) = pooled[0], pooled[1:] - pooled[0] ** 2
    return {
        "lr": rate, "d_scale": scale, "dw_min": device.dw_min, "dw_min_std": noise,
        "update": {**management, "pulse_type": pulse_type.value}, "repeats": repeats,
        "samples_per_cell": repeats * PERIODS ** 2, "mean_dw": significant(mean), "var_dw": significant(square),
        "cov_same_row": significant(row), "cov_same_col": significant(column),
        "device": configuration(device), "update_parameters": configuration(update),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    parser.add_argument("--repeats", type=int, default=1500)
    options = parser.parse_args()
    document = {**VERSIONS, "cases": [], "note": NOTE}
    for case in cases():
        stochastic = case[-1] == PulseType.STOCHASTIC_COMPRESSED
        document["cases"].append(statistics(*case, repeats=options.repeats if stochastic else 1))
    write(options.out, "update_statistics.json", document)


if __name__ == "__main__":
    main()
