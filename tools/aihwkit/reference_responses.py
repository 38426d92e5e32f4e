"""Response curves of AIHWKIT's pulsed devices: n single up-pulses, then n single down-pulses, on a 64 x 64 tile.

usage: python reference_responses.py [--out FOLDER] [--only NAME ...]
writes response_<device>.json for each device, and its line of summary.json

Variants: `default` as shipped; `no_dtod` without device-to-device variation; `ideal` without noise either.
"""

import argparse
import json
import pathlib

from common import (
    DEVICES, GOLDEN, PRESETS, VERSIONS, configuration, hidden, ideal, pulse, pulse_tile, without_variation, write,
)

import torch

SIZE = 64
RUNS = ((200, 10), (1000, 50))  # (pulses each way, pulses between two records)
VARIANTS = {
    "default": (lambda device: device, (1, 2, 3)),
    "no_dtod": (without_variation, (1, 2, 3)),
    "ideal": (ideal, (1,)),
}


def cases():
    """Name and constructor of every device with a curve."""
    made = {**DEVICES, **PRESETS}
    del made["PiecewiseStepDevice"]  # its default table is a constant step
    linear, power, piecewise = (DEVICES[name] for name in ("LinearStepDevice", "PowStepDevice", "PiecewiseStepDevice"))
    made["LinearStepDevice_gamma0.5"] = lambda: linear(gamma_up=0.5, gamma_down=0.5)
    made["PowStepDevice_gamma2"] = lambda: power(pow_gamma=2.0)
    made["PiecewiseStepDevice_3seg"] = lambda: piecewise(
        piecewise_up=[1.0, 0.6, 0.2], piecewise_down=[0.2, 0.6, 1.0]
    )
    # One parameter, or two that belong together, beyond what the defaults switch on.
    changed = {
        "LinearStepDevice_spreads": {
            "gamma_up": 0.3, "gamma_down": 0.5, "gamma_up_dtod": 0.4, "gamma_down_dtod": 0.05,
        },
        "LinearStepDevice_increasing": {
            "gamma_up": 0.2, "gamma_down": 0.1, "gamma_up_dtod": 0.4, "gamma_down_dtod": 0.4, "allow_increasing": True,
        },
        "LinearStepDevice_reversed": {
            "gamma_up": 0.5, "gamma_down": 0.3, "reverse_up": True, "reverse_down": True, "reverse_offset": 0.1,
        },
        "SoftBoundsDevice_reversed": {"reverse_down": True, "reverse_offset": 0.2},
        "SoftBoundsPmaxDevice_reversed": {"reverse_up": True, "reverse_offset": 0.5},
        "SoftBoundsReferenceDevice_slopes": {"dw_min": 0.004, "slope_up_dtod": 0.2, "slope_down_dtod": 0.1},
        "PowStepDevice_up_down": {"pow_gamma": 1.5, "pow_up_down": 0.4, "pow_up_down_dtod": 0.2},
        "PowStepReferenceDevice_symmetric": {
            "pow_up_down": -0.3, "pow_up_down_dtod": 0.1, "reference_mean": 0.02, "reference_std": 0.02,
            "subtract_symmetry_point": True,
        },
    }
    for name, parameters in changed.items():
        kind = DEVICES[name.split("_")[0]]
        made[name] = lambda kind=kind, parameters=parameters: kind(**parameters)
    return made


def curve(device, seed, pulses, every):
    """Mean and standard deviation over the tile every so many pulses."""
    device.construction_seed = seed
    made = pulse_tile(device, SIZE, SIZE)
    points = []

    def record(k):
        states = [made.get_weights()]
        persistent = hidden(made).get("persistent_weights")
        if persistent is not None:
            states.append(persistent)
        moments = [moment for state in states for moment in (state.double().mean(), state.double().std())]
        points.append([k] + [round(float(moment), 6) for moment in moments])

    record(0)
    top = None
    for k in range(1, 2 * pulses + 1):
        pulse(made, up=k <= pulses)
        if k % every == 0:
            record(k)
        if k == pulses:
            top = made.get_weights().flatten().double()
    levels = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], dtype=torch.float64)
    quantiles = [round(float(value), 6) for value in torch.quantile(top, levels)]
    return {"seed": seed, "points": points, "quantiles_at_top": quantiles, "n": pulses}


def response(name, make):
    """The document of one device."""
    document = {
        **VERSIONS, "device": name, "tile": [SIZE, SIZE],
        "protocol": "n single up-pulses then n single down-pulses from w = 0",
        "point_format": "[pulse index, mean w, std w(unbiased, over 4096 devices)"
                        "(, mean persistent w, std persistent w)]",
        "variants": {},
    }
    for variant, (change, seeds) in VARIANTS.items():
        document["variants"][variant] = {
            "config": configuration(change(make())),
            "curves": [
                curve(change(make()), seed, pulses, every) for pulses, every in RUNS for seed in seeds
            ],
        }
    return document


def top_and_end(document):
    """Per variant, seed 1: [n, mean and std at the top, mean and std after the way down]."""
    return {
        variant: [
            run["points"][len(run["points"]) // 2][:3] + run["points"][-1][1:3]
            for run in content["curves"] if run["seed"] == 1
        ]
        for variant, content in document["variants"].items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    parser.add_argument("--only", nargs="*", choices=sorted(cases()))
    options = parser.parse_args()
    known = pathlib.Path(options.out) / "summary.json"
    summary = json.loads(known.read_text())["summary"] if options.only and known.exists() else {}
    for name, make in cases().items():
        if options.only and name not in options.only:
            continue
        document = response(name, make)
        summary[name] = top_and_end(document)
        write(options.out, f"response_{name}.json", document)
    form = "per variant, per n in (200,1000): [n, mean at top, std at top, mean after down, std after down], seed 1"
    write(options.out, "summary.json", {"format": form, "summary": summary})


if __name__ == "__main__":
    main()
