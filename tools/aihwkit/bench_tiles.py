"""Speed of AIHWKIT's compiled tile on one thread: pulsed updates, Tiki-Taka v1 without and with gamma, forward and backward.

usage: python bench_tiles.py [--quick] [--updates | --passes] [--only NAME] [--shape RxC] > aihwkit.json
prints one JSON document; `ns` is nanoseconds per weight and sample, the best of several calls

Every row has the best wall time and the best process CPU time: on a busy machine the second is the fairer one. Regimes of
the update, with learning rate 0.05 and x ~ U(-1, 1), d ~ s U(-1, 1): `light` is s = 0.02 (pulse trains of length 1 for a
step of 0.001), `heavy` is s = 0.6 (length 30).
"""

import argparse
import json
import os
import time

from common import VERSIONS, configuration, tile

import torch
from aihwkit.simulator.configs import SingleRPUConfig, build_config, devices
from aihwkit.simulator.parameters.io import IOParameters

RATE = 0.05
REGIMES = {"light": 0.02, "heavy": 0.6}
SHAPES = ((256, 784), (512, 512), (1024, 1024), (32, 400))
BATCHES = (1, 10, 128)
HEAVIEST = 10  # larger batches of the heavy regime repeat what this one shows, in seconds per call

DEVICES = {
    "constant": devices.ConstantStepDevice,
    "linear": devices.LinearStepDevice,
    "soft bounds": devices.SoftBoundsDevice,
    "soft bounds reference": devices.SoftBoundsReferenceDevice,
    "exponential": devices.ExpStepDevice,
    "power, shape 1": lambda: devices.PowStepDevice(pow_gamma=1.0),
    "power, shape 2.5": lambda: devices.PowStepDevice(pow_gamma=2.5),
}


def best(call, budget, least):
    """Shortest wall and CPU seconds of one call, over at least `least` calls and about `budget` seconds."""
    call()
    walls, cpus = [], []
    while len(walls) < least or (sum(walls) < budget and len(walls) < 500):
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus), len(walls)


def signals(shape, batch, scale):
    """The same x and d in every run."""
    generator = torch.Generator().manual_seed(7)
    x = 2 * torch.rand(batch, shape[1], generator=generator) - 1
    d = scale * (2 * torch.rand(batch, shape[0], generator=generator) - 1)
    return x, d


def make(config, shape):
    """A tile with weights uniform in (-0.2, 0.2), the same in every run."""
    generator = torch.Generator().manual_seed(1)
    return tile(config, *shape, 0.4 * (torch.rand(shape, generator=generator) - 0.5), RATE)


def pulses(made, x, d, most=31):
    """Mean train length and expected pulses per weight and sample, as AIHWKIT's default management sets them."""
    granularity = made.dump_extra()["rpu.rpu_device.weight_granularity"][0]
    x_max, d_max = x.abs().amax(1), d.abs().amax(1)
    wanted = RATE * x_max * d_max / granularity
    length = wanted.ceil().clamp(max=most)
    d_max = d_max * (most / wanted).clamp(max=1.0)
    root = (RATE / (granularity * length)).sqrt()
    p_x = (x.abs() * (root * (d_max / x_max).sqrt())[:, None]).clamp(max=1.0).mean(1)
    p_d = (d.abs() * (root * (x_max / d_max).sqrt())[:, None]).clamp(max=1.0).mean(1)
    return {"train_length": float(length.mean()), "pulses": float((length * p_x * p_d).mean())}


class Bench:
    """Rows of one document, and the effort each of them may cost."""

    def __init__(self, quick):
        self.rows = []
        self.budget, self.least = (0.1, 3) if quick else (0.3, 3)
        self.shapes = SHAPES[:1] if quick else SHAPES
        self.batches = BATCHES[:2] if quick else BATCHES

    def row(self, operation, name, shape, batch, call, **more):
        """Time one call."""
        wall, cpu, calls = best(call, self.budget, self.least)
        unit = 1e9 / (shape[0] * shape[1] * batch)
        self.rows.append({
            "operation": operation, "name": name, "rows": shape[0], "columns": shape[1], "batch": batch, **more,
            "ns": round(wall * unit, 4), "ns_cpu": round(cpu * unit, 4), "calls": calls,
        })

    def update(self, name, config, shape, single):
        """One update call per regime and batch."""
        made = make(config, shape)
        for regime, scale in REGIMES.items():
            for batch in self.batches:
                if regime == "heavy" and batch > HEAVIEST:
                    continue
                x, d = signals(shape, batch, scale)
                more = pulses(made, x, d) if single else {}
                self.row("update", name, shape, batch, lambda: made.update(x, d, False), regime=regime, **more)

    def passes(self, name, io, shape):
        """Forward and backward of every batch."""
        made = make(SingleRPUConfig(device=devices.ConstantStepDevice(), forward=io(), backward=io()), shape)
        for batch in self.batches:
            x, d = signals(shape, batch, 0.1)
            self.row("forward", name, shape, batch, lambda: made.forward(x))
            self.row("backward", name, shape, batch, lambda: made.backward(d))


def tiki_taka(gamma, reads):
    """Tiki-Taka v1 with its published fast rate, transferring `reads` columns per mini-batch.

    With gamma, the weight is gamma A + C, reduced anew after every sample: the counterpart of Residual Learning.
    """
    config = build_config("ttv1", devices.SoftBoundsReferenceDevice(), construction_seed=123)
    config.device.fast_lr = 0.01
    config.device.gamma = gamma
    config.device.n_reads_per_transfer = reads
    return config


def rules(columns):
    """Compounds by the name of our counterpart."""
    return {
        "Tiki-Taka v1, 1 column": (0.0, 1),
        "Residual Learning, 1 column": (0.4, 1),
        "Residual Learning, all columns": (0.4, columns),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one shape, two batches, little repetition")
    parser.add_argument("--updates", action="store_true", help="updates only")
    parser.add_argument("--passes", action="store_true", help="forward and backward alone, no updates")
    parser.add_argument("--only", default="", metavar="NAME", help="devices and rules whose name contains NAME")
    parser.add_argument("--shape", metavar="RxC", help="this shape only, for instance 512x512")
    options = parser.parse_args()
    bench = Bench(options.quick)
    if options.shape:
        bench.shapes = (tuple(int(side) for side in options.shape.split("x")),)
    for shape in bench.shapes:
        if options.passes:
            bench.passes("default IO", IOParameters, shape)
            bench.passes("ideal", lambda: IOParameters(is_perfect=True), shape)
            continue
        for name, device in DEVICES.items():
            if options.only in name:
                bench.update(name, SingleRPUConfig(device=device()), shape, single=True)
        for name, (gamma, reads) in rules(shape[1]).items():
            if options.only in name:
                bench.update(name, tiki_taka(gamma, reads), shape, single=False)
        if not options.updates:
            bench.passes("default IO", IOParameters, shape)
            bench.passes("ideal", lambda: IOParameters(is_perfect=True), shape)
    print(json.dumps({
        **VERSIONS, "threads": torch.get_num_threads(), "learning_rate": RATE, "regimes": REGIMES,
        "unit": "ns per weight and sample, best call", "load": os.getloadavg(),
        "devices": {name: configuration(device()) for name, device in DEVICES.items()},
        "rows": bench.rows,
    }, indent=1))


if __name__ == "__main__":
    main()
