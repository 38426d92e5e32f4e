"""residuum.torch beside AIHWKIT and beside `residuum run`: the paper's FCN, batch 10, one thread.

    python tools/torch/bench_layers.py [--steps 300] [--rounds 5] [--data FOLDER]

Needs the package `residuum-analog` with torch; AIHWKIT is measured where it is installed. All take turns in one process, a round each,
and the least CPU time of each counts: other work on the machine delays a round, it never speeds one up. Prints microseconds per step
(forward, loss, backward, update of ten samples) and what a call of a layer adds to the work inside. `residuum run` shuffles its
60 000 images once in a call of so many steps, for about 5 µs each at 300; an epoch has 6 000.
"""

import argparse
import time

import numpy as np
import residuum
import residuum.torch as rt
import torch
from torch import nn

RADIUS, STATES, FAST, RATE, BATCH = 0.6, 1200, 0.01, 0.05, 10
DEVICE = {
    "response": "power", "shape": 1.0, "radius": RADIUS, "states": STATES, "normalization": "aihwkit",
    "step_spread": 0.3, "cycle_noise": 0.3, "imbalance_spread": 0.01,
}
RULES = {
    "Analog SGD": {"kind": "analog"},
    "Tiki-Taka": {"kind": "tiki_taka", "learning_rate": {"constant": FAST}, "transfer_rate": RATE, "columns": 1},
    "Residual Learning": {"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.4, "symmetric_point": "zero"},
}


def network(start):
    """The paper's network, from the weights of the trial: all send the same number of pulses."""
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10), nn.LogSoftmax(1)
    )
    model.load_state_dict({name: torch.from_numpy(start[name].reshape(p.shape)) for name, p in model.state_dict().items()})
    return model


def loop(model, optimizer, batches):
    """A function that trains once on every batch."""

    def run():
        for x, y in batches:
            optimizer.zero_grad()
            nn.functional.nll_loss(model(x), y).backward()
            optimizer.step()

    return run


def ours(rule, batches, start, fuse=False):
    model = rt.convert(network(start), device=DEVICE, rule=RULES[rule], readout="aihwkit", mapping={"output_scaling": "tile"}, seed=0)
    if fuse:
        model = rt.fuse(model)
    return loop(model, rt.Optimizer(model.parameters(), lr=RATE), batches)


def theirs(rule, batches, start):
    try:
        from aihwkit.nn.conversion import convert_to_analog
        from aihwkit.optim import AnalogSGD
        from aihwkit.simulator.configs import SingleRPUConfig, build_config
        from aihwkit.simulator.configs.devices import PowStepDevice
    except ImportError:
        return None
    device = PowStepDevice(
        dw_min=2 * RADIUS / STATES, pow_gamma=1.0, pow_gamma_dtod=0, w_max=RADIUS, w_min=-RADIUS, w_max_dtod=0, w_min_dtod=0
    )
    if rule == "Analog SGD":
        config = SingleRPUConfig(device=device)
    elif rule == "Tiki-Taka":
        config = build_config("ttv1", device=device, construction_seed=123)
        config.device.fast_lr, config.device.n_reads_per_transfer = FAST, 1
    else:
        return None  # AIHWKIT moves single columns only
    config.mapping.learn_out_scaling = True
    model = convert_to_analog(network(start), config)
    model.train()
    optimizer = AnalogSGD(model.parameters(), lr=RATE)
    optimizer.regroup_param_groups(model)
    return loop(model, optimizer, batches)


def trial(rule, data):
    table = {"learning_rate": RATE, **RULES[rule]}
    spec = {
        "network": {"model": "fcn"}, "data": {"set": "mnist"}, "device": DEVICE, "rule": table, "readout": "aihwkit",
        "mapping": {"output_scaling": "tile"}, "digital": {"learning_rate": RATE},
        "training": {"epochs": 1, "batch_size": BATCH, "loss": "negative_log_likelihood"},
    }
    return residuum.Trial(spec, seed=0, data=data)


def rounds(functions, count):
    """The least CPU time of each, taking turns."""
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        function()
    for _ in range(count):
        for name, function in functions.items():
            start = time.process_time()
            function()
            best[name] = min(best[name], time.process_time() - start)
    return best


def overhead(calls=2000, repeats=5):
    """Microseconds of a call of a tiny layer, of the read inside, and of torch's own layer."""
    layer = rt.AnalogLinear(4, 4, device={"preset": "ecram"}, rule="analog")
    x = torch.randn(10, 4)
    linear = nn.Linear(4, 4)
    kernel_x, out = x.numpy(), np.empty((10, 4), np.float32)

    def forward():
        for _ in range(calls):
            layer(x)

    def inside():
        for _ in range(calls):
            layer.tile.matrix.read(kernel_x, out)

    def torchs():
        for _ in range(calls):
            linear(x)

    def empty():
        for _ in range(calls):
            pass

    best = rounds({"a call of the layer": forward, "the read inside": inside, "nn.Linear": torchs, "an empty loop": empty}, repeats)
    return {name: 1e6 * (seconds - best["an empty loop"]) / calls for name, seconds in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", help="folder of data sets")
    options = parser.parse_args()
    torch.set_num_threads(1)
    residuum.set_threads(1)
    calls = overhead()
    print(", ".join(f"{name} {us:.1f} µs" for name, us in calls.items() if "empty" not in name))
    for rule in RULES:
        run = trial(rule, options.data)
        start = run.tensors()
        batches = [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in (b for _, b in zip(range(options.steps), run.batches(0)))]
        functions = {
            "residuum.torch": ours(rule, batches, start),
            "fused": ours(rule, batches, start, fuse=True),
            "residuum run": lambda: run.train(0, options.steps),
            "AIHWKIT": theirs(rule, batches, start),
        }
        best = rounds({name: function for name, function in functions.items() if function}, options.rounds)
        us = {name: 1e6 * seconds / options.steps for name, seconds in best.items()}
        text = ", ".join(f"{name} {value:.0f} µs" for name, value in us.items())
        ratios = f"{us['residuum.torch'] / us['residuum run']:.2f} × residuum run, fused {us['fused'] / us['residuum run']:.2f} ×"
        if "AIHWKIT" in us:
            ratios += f"; {us['AIHWKIT'] / us['residuum.torch']:.1f} × faster than AIHWKIT, fused {us['AIHWKIT'] / us['fused']:.1f} ×"
        print(f"{rule}: {text} per step; {ratios}")


if __name__ == "__main__":
    main()
