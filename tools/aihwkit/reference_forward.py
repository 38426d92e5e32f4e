"""Mean and standard deviation of the analog forward and backward pass for several input/output settings.

usage: python reference_forward.py [--out FOLDER] [--repeats N]
writes forward_statistics.json; weights and inputs are given by formula, so no array has to be stored
"""

import argparse

from common import GOLDEN, VERSIONS, configuration, significant, tile, write

import torch
from aihwkit.simulator.configs import SingleRPUConfig
from aihwkit.simulator.configs.devices import ConstantStepDevice
from aihwkit.simulator.parameters.enums import BoundManagementType, NoiseManagementType
from aihwkit.simulator.parameters.io import IOParameters

ROWS, COLUMNS = 16, 32

SETTINGS = {
    "default": {},
    "no_noise": {"out_noise": 0.0},
    "perfect": {"is_perfect": True},
    "nm_none_bm_none": {"noise_management": NoiseManagementType.NONE, "bound_management": BoundManagementType.NONE},
    "inp_noise_0.01": {"inp_noise": 0.01},
    "out_bound_1": {"out_bound": 1.0},
    "out_bound_1_bm_none": {"out_bound": 1.0, "bound_management": BoundManagementType.NONE},
    "sto_round": {"inp_sto_round": True, "out_sto_round": True},
}


def moments(outputs):
    """Mean and unbiased standard deviation over the repeats."""
    outputs = outputs.double()
    return significant(outputs.mean(0)), significant(outputs.std(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    parser.add_argument("--repeats", type=int, default=4000)
    options = parser.parse_args()
    i, j = torch.arange(ROWS).float(), torch.arange(COLUMNS).float()
    weights = 0.5 * torch.sin(0.7 * i[:, None] + 0.31 * j + 0.2 * i[:, None] * j / 7)
    x, d = 0.8 * torch.cos(0.5 * j), 0.3 * torch.cos(1.3 * i)
    device = ConstantStepDevice(w_max=1.0, w_min=-1.0, w_max_dtod=0.0, w_min_dtod=0.0)
    document = {
        **VERSIONS, "W": "0.5*sin(0.7 i + 0.31 j + 0.2 i j / 7), i<16 rows, j<32 columns", "x": "0.8*cos(0.5 j)",
        "exact": significant(weights @ x, 6), "repeats": options.repeats, "device": configuration(device), "cases": {},
    }
    for name, setting in SETTINGS.items():
        io = IOParameters(**setting)
        made = tile(SingleRPUConfig(device=device, forward=io, backward=io), ROWS, COLUMNS, weights)
        mean, std = moments(made.forward(x.repeat(options.repeats, 1)))
        backward_mean, backward_std = moments(made.backward(d.repeat(options.repeats, 1)))
        document["cases"][name] = {
            "io": configuration(io), "mean": mean, "std": std,
            "backward_d": "0.3*cos(1.3 i)", "bwd_mean": backward_mean, "bwd_std": backward_std,
        }
    write(options.out, "forward_statistics.json", document)


if __name__ == "__main__":
    main()
