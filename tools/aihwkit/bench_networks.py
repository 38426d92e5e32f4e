"""Samples per second of one training step of a network with all layers on AIHWKIT's tiles.

    python tools/aihwkit/bench_networks.py NETWORK RULE THREADS SECONDS FOLDER     prints one number

The benchmark `network` of the Rust workspace runs this; networks, images and timing are those of `../torch/bench_torch.py`.
RULE is `Analog SGD`, `Tiki-Taka` (one column per mini-batch) or `Residual Learning` (the same, with P seen at 0.4).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "torch"))
from bench_torch import RATE, RULE, measure  # noqa: E402

from aihwkit.nn.conversion import convert_to_analog  # noqa: E402
from aihwkit.optim import AnalogSGD  # noqa: E402
from aihwkit.simulator.configs import SingleRPUConfig, build_config  # noqa: E402
from aihwkit.simulator.configs.devices import PowStepDevice  # noqa: E402

RADIUS, STATES, FAST_RATE = 0.6, 1200, 0.01


def configuration():
    device = PowStepDevice(
        dw_min=2 * RADIUS / STATES, pow_gamma=1.0, pow_gamma_dtod=0, w_max=RADIUS, w_min=-RADIUS, w_max_dtod=0,
        w_min_dtod=0)
    if RULE == "Analog SGD":
        config = SingleRPUConfig(device=device)
    else:
        config = build_config("ttv1", device=device, construction_seed=123)
        config.device.fast_lr = FAST_RATE
        config.device.n_reads_per_transfer = 1
        if RULE == "Residual Learning":
            config.device.gamma = 0.4
    config.mapping.learn_out_scaling = True
    return config


def analog(model):
    model = convert_to_analog(model, configuration())
    model.train()
    optimizer = AnalogSGD(model.parameters(), lr=RATE)
    optimizer.regroup_param_groups(model)
    return model, optimizer


if __name__ == "__main__":
    print(measure(analog))
