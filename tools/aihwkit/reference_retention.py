"""Mean and standard deviation over a tile that is not pulsed: decay, diffusion, drift, reset.

usage: python reference_retention.py [--out FOLDER]
writes retention_statistics.json

Every case starts with all cells at one weight and goes through a list of operations; mean and standard deviation over the
64 x 64 cells, and of the persistent weights where write noise hides them, follow each operation.
"""

import argparse

from common import GOLDEN, VERSIONS, configuration, hidden, pulse_tile, significant, without_variation, write

import torch
from aihwkit.simulator.configs.devices import ConstantStepDevice, LinearStepDevice
from aihwkit.simulator.parameters.inference import DriftParameter

SIZE = 64
SEEDS = (1, 2, 3)
START = 0.3

DECAY = [["decay", n] for n in (1, 1, 3, 5, 10, 30)]
DIFFUSE = [["diffuse", n] for n in (1, 1, 3, 5, 10, 30)]
DRIFT = [["drift", seconds] for seconds in (1.0, 9.0, 30.0, 400.0, 1e4)]
REWRITE = [["drift", 10.0], ["drift", 30.0], ["write", 0.2], ["drift", 10.0], ["drift", 10.0], ["drift", 50.0]]
RESET = [["reset", [0, SIZE]], ["reset", [0, SIZE]], ["write", 0.3], ["reset", [16, 32]]]
WRITE_NOISE = {"dw_min": 0.001, "write_noise_std": 20.0}

# Name, operations, what is not ideal.
CASES = (
    ("decay", DECAY, {"lifetime": 20.0}),
    ("decay to a reset value", DECAY, {"lifetime": 20.0, "reset": 0.1}),
    ("decay, lifetimes spread", DECAY, {"lifetime": 20.0, "lifetime_dtod": 0.3}),
    ("decay, lifetimes at and below 1", DECAY, {"lifetime": 2.0, "lifetime_dtod": 0.4}),
    ("decay, reset values spread", DECAY, {"lifetime": 20.0, "lifetime_dtod": 0.2, "reset": 0.1, "reset_dtod": 0.05}),
    ("decay, write noise", DECAY, {"lifetime": 20.0, **WRITE_NOISE}),
    ("diffusion", DIFFUSE, {"diffusion": 0.01}),
    ("diffusion, spread", DIFFUSE, {"diffusion": 0.01, "diffusion_dtod": 0.3}),
    ("diffusion, spread folded", DIFFUSE, {"diffusion": 0.01, "diffusion_dtod": 1.0}),
    ("diffusion into the bounds", DIFFUSE, {"diffusion": 0.1}),
    ("diffusion, write noise", DIFFUSE, {"diffusion": 0.01, **WRITE_NOISE}),
    ("drift", DRIFT, {"drift": {"nu": 0.1, "t_0": 2.0}}),
    ("drift, exponents spread", DRIFT, {"drift": {"nu": 0.1, "t_0": 2.0, "nu_dtod": 0.3}}),
    ("drift, noise of the exponent", DRIFT, {"drift": {"nu": 0.1, "t_0": 2.0, "nu_std": 0.3}}),
    ("drift, noise of the state", DRIFT, {"drift": {"nu": 0.1, "t_0": 2.0, "w_noise_std": 0.02}}),
    ("drift, write noise", DRIFT, {"drift": {"nu": 0.1, "t_0": 2.0}, **WRITE_NOISE}),
    ("drift, rewritten", REWRITE, {"drift": {"nu": 0.1, "t_0": 2.0, "nu_dtod": 0.3}}),
    ("reset", RESET, {"reset": 0.1, "reset_std": 0.05}),
    ("reset, values spread", RESET, {"reset": 0.1, "reset_std": 0.0, "reset_dtod": 0.05}),
    ("reset, both", RESET, {"reset": 0.1, "reset_std": 0.03, "reset_dtod": 0.05}),
    ("reset into a bound", RESET, {"reset": 0.58, "reset_std": 0.05}),
    ("reset, write noise", RESET, {"reset": 0.1, "reset_std": 0.05, **WRITE_NOISE}),
)


def device(settings, seed):
    """A device with flat steps, ideal but for the settings; write noise needs the linear family."""
    family = LinearStepDevice if "write_noise_std" in settings else ConstantStepDevice
    made = without_variation(family(construction_seed=seed, reset_std=0.0))
    for name, value in settings.items():
        setattr(made, name, DriftParameter(**value) if name == "drift" else value)
    return made


def operate(tile, operation, argument):
    """One operation; a number of decays or diffusions is that many calls."""
    if operation == "decay":
        for _ in range(argument):
            tile.decay_weights(1.0)
    elif operation == "diffuse":
        for _ in range(argument):
            tile.diffuse_weights()
    elif operation == "drift":
        tile.drift_weights(argument)
    elif operation == "reset":
        tile.reset_columns(argument[0], argument[1], 1.0)
    else:
        tile.set_weights(torch.full((SIZE, SIZE), argument))


def points(settings, operations, seed):
    """Mean and standard deviation after each operation: visible, then persistent where there is one."""
    tile = pulse_tile(device(settings, seed), SIZE, SIZE, torch.full((SIZE, SIZE), START))
    seen = []
    for operation, argument in operations:
        operate(tile, operation, argument)
        looks = [tile.get_weights()]
        if "persistent_weights" in hidden(tile):
            looks.append(hidden(tile)["persistent_weights"])
        seen.append([moment for w in looks for moment in (w.double().mean().item(), w.double().std().item())])
    return significant(seen, 6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    options = parser.parse_args()
    document = {**VERSIONS, "size": SIZE, "start": START, "cases": []}
    for name, operations, settings in CASES:
        document["cases"].append({
            "name": name, "operations": operations, "config": configuration(device(settings, SEEDS[0])),
            "curves": [{"seed": seed, "points": points(settings, operations, seed)} for seed in SEEDS],
        })
    write(options.out, "retention_statistics.json", document)


if __name__ == "__main__":
    main()
