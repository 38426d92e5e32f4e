"""residuum.torch beside AIHWKIT and beside `residuum run`: the paper's FCN, batch 10, one thread.

    python tools/torch/bench_layers.py [--steps 10] [--pieces 8] [--rounds 40] [--rules "Analog SGD" ...] [--data FOLDER]

Needs the package `residuum-analog` with torch; AIHWKIT is measured where it is installed. All train on the same batches and take turns
in one process, a piece of so many steps each; for every piece the least CPU time of all rounds counts: other work on the machine delays
a piece, it never speeds one up, and a piece is short enough to be left alone now and then. Prints microseconds per step (forward, loss,
backward, update of ten samples) layer by layer, with `fuse`, and with `TrainingStep`, and what a call of a layer adds to the work inside. What `residuum run` spends on shuffling its 60 000
images, once for the 6 000 steps of an epoch, is measured apart and taken off. "Torch alone" is the same network with layers that do
nothing and are not stepped: what is left is torch's own functions, graph and way back, which no layer of Python's can avoid.
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


def loop(model, optimizer, pieces):
    """A function that trains once on every batch of a piece."""

    def run(piece):
        for x, y in pieces[piece]:
            optimizer.zero_grad()
            nn.functional.nll_loss(model(x), y).backward()
            optimizer.step()

    return run


def ours(rule, pieces, start, fuse=False, whole=False):
    model = rt.convert(network(start), device=DEVICE, rule=RULES[rule], readout="aihwkit", mapping={"output_scaling": "tile"}, seed=0)
    if fuse or whole:
        model = rt.fuse(model)
    optimizer = rt.Optimizer(model.parameters(), lr=RATE)
    if not whole:
        return loop(model, optimizer, pieces)
    step = rt.TrainingStep(model, nn.functional.nll_loss, optimizer)

    def run(piece):
        for x, y in pieces[piece]:
            step(x, y)

    return run


class Nothing(torch.autograd.Function):
    """A function of as many parameters as a layer on tiles has, which only makes the tensors that torch expects."""

    @staticmethod
    def forward(ctx, inputs, outputs, *parameters):
        ctx.save_for_backward(inputs)
        ctx.shapes = [p.shape for p in parameters]
        return torch.zeros(len(inputs), outputs)

    @staticmethod
    def backward(ctx, errors):
        (inputs,) = ctx.saved_tensors
        back = torch.empty_like(inputs) if ctx.needs_input_grad[0] else None
        return back, None, *(torch.empty(shape) for shape in ctx.shapes)


class Empty(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs
        self.tile, self.scale = nn.Parameter(torch.zeros(())), nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, inputs):
        return Nothing.apply(inputs, self.outputs, self.tile, self.bias, self.scale)


class Standing(torch.optim.SGD):
    def step(self, closure=None):
        pass

    step.hooked = True


def torch_alone(pieces):
    model = nn.Sequential(nn.Flatten(), Empty(256), nn.Sigmoid(), Empty(128), nn.Sigmoid(), Empty(10), nn.LogSoftmax(1))
    return loop(model, Standing(model.parameters(), lr=RATE), pieces)


def theirs(rule, pieces, start):
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
    return loop(model, optimizer, pieces)


def trial(rule, data):
    table = {"learning_rate": RATE, **RULES[rule]}
    spec = {
        "network": {"model": "fcn"}, "data": {"set": "mnist"}, "device": DEVICE, "rule": table, "readout": "aihwkit",
        "mapping": {"output_scaling": "tile"}, "digital": {"learning_rate": RATE},
        "training": {"epochs": 1, "batch_size": BATCH, "loss": "negative_log_likelihood"},
    }
    return residuum.Trial(spec, seed=0, data=data)


def rounds(functions, pieces, count):
    """For each function the sum over the pieces of its least time, all taking turns."""
    least = {name: [float("inf")] * pieces for name in functions}
    for _ in range(count):
        for piece in range(pieces):
            for name, function in functions.items():
                start = time.process_time()
                function(piece)
                least[name][piece] = min(least[name][piece], time.process_time() - start)
    return {name: sum(times) for name, times in least.items()}


def overhead(calls=200, repeats=100):
    """Microseconds of a call of a tiny layer, of the read inside, and of torch's own layer."""
    layer = rt.AnalogLinear(4, 4, device={"preset": "ecram"}, rule="analog")
    x = torch.randn(10, 4)
    linear = nn.Linear(4, 4)
    kernel_x, out = x.numpy(), np.empty((10, 4), np.float32)

    def repeated(call):
        def run(_):
            for _ in range(calls):
                call()

        return run

    best = rounds({
        "a call of the layer": repeated(lambda: layer(x)),
        "the read inside": repeated(lambda: layer.tile.matrix.read(kernel_x, out)),
        "nn.Linear": repeated(lambda: linear(x)),
        "an empty call": repeated(lambda: None),
    }, 1, repeats)
    return {name: 1e6 * (seconds - best["an empty call"]) / calls for name, seconds in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--pieces", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--data", help="folder of data sets")
    options = parser.parse_args()
    torch.set_num_threads(1)
    residuum.set_threads(1)
    calls = overhead()
    print(", ".join(f"{name} {us:.1f} µs" for name, us in calls.items() if "empty" not in name), flush=True)
    for rule in options.rules:
        run = trial(rule, options.data)
        start = run.tensors()
        pieces = [
            [(torch.from_numpy(x), torch.from_numpy(y)) for _, (x, y) in zip(range(options.steps), run.batches(epoch))]
            for epoch in range(options.pieces)
        ]
        functions = {
            "residuum.torch": ours(rule, pieces, start),
            "fused": ours(rule, pieces, start, fuse=True),
            "in one call": ours(rule, pieces, start, whole=True),
            "residuum run": lambda piece: run.train(piece, options.steps),
            "shuffle": lambda piece: run.train(piece, 0),
            "AIHWKIT": theirs(rule, pieces, start),
            "torch alone": torch_alone(pieces),
        }
        best = rounds({name: function for name, function in functions.items() if function}, options.pieces, options.rounds)
        best["residuum run"] -= best.pop("shuffle")
        us = {name: 1e6 * seconds / (options.steps * options.pieces) for name, seconds in best.items()}
        text = ", ".join(f"{name} {value:.0f} µs" for name, value in us.items())
        ways = ("residuum.torch", "fused", "in one call")
        ratios = "/".join(f"{us[way] / us['residuum run']:.2f}" for way in ways) + " × residuum run"
        if "AIHWKIT" in us:
            ratios += "; " + "/".join(f"{us['AIHWKIT'] / us[way]:.1f}" for way in ways) + " × faster than AIHWKIT"
        print(f"{rule}: {text} per step; {ratios}", flush=True)


if __name__ == "__main__":
    main()
