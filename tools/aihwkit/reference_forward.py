"""Mean and standard deviation of the analog forward and backward pass for several input/output settings.

usage: python reference_forward.py [--out FOLDER] [--repeats N]
writes forward_statistics.json; weights and inputs are given by formula, so no array has to be stored

`cases` repeat one read of one tile. `arrays` read once from each of many tiles: what differs between lines and cells is
drawn when a tile is made. `sequence` holds the outputs of some samples of a sequence, for settings with a memory.
"""

import argparse

from common import GOLDEN, VERSIONS, configuration, significant, tile, write

import torch
from aihwkit.simulator.configs import SingleRPUConfig
from aihwkit.simulator.configs.devices import ConstantStepDevice
from aihwkit.simulator.parameters.enums import (
    AnalogMVType, BoundManagementType, NoiseManagementType, WeightNoiseType,
)
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
    "w_noise": {"w_noise": 0.02, "w_noise_type": WeightNoiseType.ADDITIVE_CONSTANT},
    "pcm_read": {"w_noise": 0.05, "w_noise_type": WeightNoiseType.PCM_READ},
    "ir_drop": {"ir_drop": 1.0, "ir_drop_g_ratio": 800.0},
    "r_series": {"r_series": 0.02},
    "r_series_no_reference": {"r_series": 0.02, "v_offset_w_min": 0.0, "slope_calibration": 0.5},
    "nonlinearity": {"out_nonlinearity": 0.7, "slope_calibration": 0.4},
    "asymmetry": {"inp_asymmetry": 0.1, "out_asymmetry": 0.2},
    "pos_neg": {"mv_type": AnalogMVType.POS_NEG_SEPARATE, "r_series": 0.02, "w_noise": 0.02,
                "w_noise_type": WeightNoiseType.ADDITIVE_CONSTANT},
    "pos_neg_digital": {"mv_type": AnalogMVType.POS_NEG_SEPARATE_DIGITAL_SUM, "out_bound": 3.0},
}
ARRAYS = {
    "out_noise_std": {"out_noise": 0.5, "out_noise_std": 0.8},
    "v_offset": {"v_offset_std": 0.1},
    "v_offset_no_reference": {"v_offset_std": 0.1, "v_offset_w_min": 0.0, "r_series": 0.02},
    "v_offset_r_series": {"v_offset_std": 0.1, "v_offset_w_min": -0.5, "r_series": 0.02},
    "nonlinearity_std": {"out_nonlinearity": 0.7, "out_nonlinearity_std": 0.8, "slope_calibration": 0.5},
    "read_asymmetry": {"mv_type": AnalogMVType.POS_NEG_SEPARATE, "w_read_asymmetry_dtod": 0.3},
}
AVERAGED = {"noise_management": NoiseManagementType.AVERAGE_ABS_MAX, "out_noise": 0.0, "out_res": -1.0,
            "bound_management": BoundManagementType.NONE}
LENGTH = 200


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
    def make(setting):
        io = IOParameters(**setting)
        return io, tile(SingleRPUConfig(device=device, forward=io, backward=io), ROWS, COLUMNS, weights)

    for name, setting in SETTINGS.items():
        io, made = make(setting)
        mean, std = moments(made.forward(x.repeat(options.repeats, 1)))
        backward_mean, backward_std = moments(made.backward(d.repeat(options.repeats, 1)))
        document["cases"][name] = {
            "io": configuration(io), "mean": mean, "std": std,
            "backward_d": "0.3*cos(1.3 i)", "bwd_mean": backward_mean, "bwd_std": backward_std,
        }
    document["arrays"] = {}
    for name, setting in ARRAYS.items():
        reads = []
        for _ in range(options.repeats):
            io, made = make(setting)
            reads.append((made.forward(x[None]), made.backward(d[None])))
        forward, backward = (torch.cat(side) for side in zip(*reads))
        (mean, std), (backward_mean, backward_std) = moments(forward), moments(backward)
        document["arrays"][name] = {
            "io": configuration(io), "mean": mean, "std": std, "bwd_mean": backward_mean, "bwd_std": backward_std,
        }
    io, made = make(AVERAGED)
    samples = (1 + 0.5 * torch.sin(torch.arange(LENGTH).float()))[:, None] * x
    outputs = made.forward(samples)
    document["sequence"] = {
        "io": configuration(io), "samples": "(1 + 0.5 sin s) x, s < 200", "nm_decay": 1e-3,
        "outputs": {str(s): significant(outputs[s]) for s in (0, 1, 2, 50, LENGTH - 1)},
    }
    write(options.out, "forward_statistics.json", document)


if __name__ == "__main__":
    main()
