"""Where AIHWKIT's unit cells drift under a constant gradient: vector cells, reference cells, one-sided pairs.

usage: python reference_unit_cells.py [--out FOLDER]
writes unit_cell_statistics.json, in the form of compound_statistics.json
"""

import argparse

from common import GOLDEN, VERSIONS, significant, tile, write

import torch
from aihwkit.simulator.configs import UnitCellRPUConfig
from aihwkit.simulator.configs.devices import SoftBoundsReferenceDevice
from aihwkit.simulator.configs.compounds import OneSidedUnitCell, ReferenceUnitCell, VectorUnitCell
from aihwkit.simulator.parameters.enums import VectorUnitCellUpdatePolicy as Policy
from aihwkit.simulator.parameters.io import IOParameters

SIZE, RATE, CONSTRUCTIONS = 16, 0.05, 12
AT = [50, 100, 200, 400]


def device(**changes):
    """Soft bounds with AIHWKIT's default variation and noise."""
    return SoftBoundsReferenceDevice(**changes)


def one_sided(refresh_every):
    """G+ and G- that grow from 0; the refresh reads exactly."""
    return OneSidedUnitCell(
        unit_cell_devices=[device(w_min=0.0, w_min_dtod=0.0, w_max=0.6)],
        refresh_every=refresh_every, units_in_mbatch=False,
        refresh_forward=IOParameters(is_perfect=True),
    )


CELLS = {
    "vector_all": lambda: VectorUnitCell(unit_cell_devices=[device(), device()], update_policy=Policy.ALL),
    "vector_sequential": lambda: VectorUnitCell(
        unit_cell_devices=[device(), device()], update_policy=Policy.SINGLE_SEQUENTIAL
    ),
    "vector_random": lambda: VectorUnitCell(
        unit_cell_devices=[device(), device()], update_policy=Policy.SINGLE_RANDOM
    ),
    "reference": lambda: ReferenceUnitCell(unit_cell_devices=[device(), device()]),
    "one_sided": lambda: one_sided(0),
    "one_sided_refreshed": lambda: one_sided(20),
}


def trajectory(make, seed, x, d):
    """Effective weights after the recorded numbers of updates; the gradient turns round every 50 updates."""
    cell = make()
    cell.construction_seed = seed
    made = tile(UnitCellRPUConfig(device=cell), SIZE, SIZE, learning_rate=RATE)
    records = []
    for update in range(1, AT[-1] + 1):
        sign = 1.0 if (update - 1) // 50 % 2 == 0 else -0.5
        made.update(x, sign * d, False)
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
        **VERSIONS, "tile": [SIZE, SIZE], "x": "cos(0.4 j)", "d": "0.1 sin(0.9 i + 0.3), times -0.5 in every second 50",
        "lr": RATE, "updates": AT[-1], "constructions": CONSTRUCTIONS,
        "note": "W starts at 0; batch-1 updates; statistics over constructions (seeds 1..12) of the effective weight",
        "cases": {},
    }
    for name, make in CELLS.items():
        weights = torch.stack([trajectory(make, seed, x, d) for seed in range(1, CONSTRUCTIONS + 1)])
        slope = (weights * direction).sum(2) / (direction * direction).sum()
        rest = weights - slope[..., None] * direction
        document["cases"][name] = {
            "at": AT, "slope_mean": significant(slope.mean(0)), "slope_std": significant(slope.std(0)),
            "resid_std": significant(rest.pow(2).mean((0, 2)).sqrt()),
        }
    write(options.out, "unit_cell_statistics.json", document)


if __name__ == "__main__":
    main()
