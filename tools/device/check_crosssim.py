"""Whether the look-up tables that `residuum device fit --crosssim` writes are what CrossSim reads, and say what the fit says.

    residuum device fit pulses.csv --crosssim tables --json > fit.json
    python tools/device/check_crosssim.py tables fit.json [CROSSSIM]

Needs NumPy. The rules are those of CrossSim 2.0: a title; conductances; cumulative probabilities; a row of changes for each of
them; both files with the same first two; equal distances in both, within one in ten thousand, or a slower interpolation is
used. The mean change is the sum of changes times the differences of probabilities, and must have the sign of its direction.

With CROSSSIM, the folder `cross_sim` of a copy of CrossSim 2.0 (it needs SciPy), its own class reads the tables and makes pulses:
their means and deviations must be those of the fit within 4.9 standard errors, the width of a state in the table and half a per cent.
"""

import importlib.util
import json
import sys
import types

import numpy as np

DRAWS = 4000


def table(path):
    """Conductances, probabilities and changes of one direction."""
    with open(path) as file:
        lines = file.read().splitlines()
    states, shares = (np.array([float(x) for x in line.split(",")]) for line in lines[1:3])
    changes = np.array([[float(x) for x in line.split(",")] for line in lines[3:]])
    assert changes.shape == (len(shares), len(states)), f"{path}: {changes.shape} changes for {len(shares)} × {len(states)}"
    assert shares[0] == 0 and shares[-1] == 1, f"{path}: probabilities from {shares[0]} to {shares[-1]}"
    for name, values in (("conductances", states), ("probabilities", shares)):
        steps = np.diff(values)
        assert steps.min() > 0 and np.ptp(steps) < steps.max() / 1e4, f"{path}: {name} are not equally far apart"
    return states, shares, changes


def wanted(fit, states, side):
    """Mean and deviation of a pulse from each state, by the fit, and how far lines between its points may be from its curve."""
    at = np.array([p["conductance"] for p in fit["curve"]])
    values = np.array([p[side]["value"] for p in fit["curve"]])
    step = np.maximum(np.interp(states, at, values), 0)
    noise = fit["write_noise"]
    sign = 1 if side == "up" else -1
    deviation = np.hypot(noise["additive"]["value"], noise["proportional"]["value"] * step)
    # A kink in the middle between two points is missed by half of the second difference there.
    return sign * step, deviation, 0.5 * np.abs(np.diff(values, 2)).max()


def agree(words, found, expected, tolerance):
    off = np.abs(found - expected) / tolerance
    print(f"{'ok  ' if off.max() < 1 else 'FAIL'} {words}: at most {off.max():.2f} of the tolerance")
    return off.max() < 1


def own_rules(fit, tables):
    right = True
    for side, (states, shares, changes) in tables.items():
        step, deviation, bend = wanted(fit, states, side)
        weights = np.diff(shares)[:, None]
        mean = (weights * changes[:-1]).sum(axis=0)
        assert np.sign(mean.mean()) == np.sign(step.mean()), f"{side} pulses go the wrong way"
        spread = np.sqrt((weights * (changes[:-1] - mean) ** 2).sum(axis=0))
        small = bend + 0.005 * np.abs(step).mean()
        # A sum of rows that leaves the last one out is low by its share.
        right &= agree(f"mean {side} step by the rule of sums", mean, step, small + 4 * deviation / len(shares))
        right &= agree(f"deviation of {side} steps", spread, deviation, small + 0.03 * deviation)
    return right


def reader(folder):
    """CrossSim's class, without the rest of its package: only what it imports of it is loaded."""
    root = f"{folder}/xbar_simulator/parameters"
    package = types.ModuleType("crosssim_parameters")
    package.__path__ = [root]
    sys.modules["crosssim_parameters"] = package
    try:
        import pkg_resources  # noqa: F401
    except ImportError:
        sys.modules["pkg_resources"] = types.SimpleNamespace(resource_filename=lambda *_: "")
    spec = importlib.util.spec_from_file_location("crosssim_parameters.numeric_params", f"{root}/numeric_params.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def by_crosssim(fit, tables, folder, files):
    module = reader(folder)
    limits = lambda: types.SimpleNamespace(minimum=0.0, maximum=1.0)
    root = types.SimpleNamespace(
        numeric_params=types.SimpleNamespace(update_model=module.UpdateModelEnum.DG_LOOKUP),
        xbar_params=types.SimpleNamespace(weight_clipping=limits(), weights=limits()),
    )
    settings = dict(
        param_root=root, gpu_engaged=False, multi_LUT=False, N_updates=0, Nlevels=0, Gmin_relative=0.0, Gmax_relative=1.0,
        file_increasing=files[0], file_decreasing=files[1], disable_writenoise=False, disable_nonlinearity=False,
    )
    device = types.SimpleNamespace(**settings)
    kind = module.dGLookupParams
    kind.manual_post_set(device)
    right = agree("CrossSim takes the fast interpolation", np.array([float(device.slow_interpolator)]), 0.0, 0.5)
    np.random.seed(1)
    for side, (states, _, _) in tables.items():
        scale = states[-1]
        # Inside the table; CrossSim takes the nearest state.
        w = np.repeat(np.linspace(states[2], states[-3], 40) / scale, DRAWS)
        asked = np.full(w.shape, device.ave_dw_inc if side == "up" else device.ave_dw_dec)
        moved = (scale * kind.compute_update(device, asked, w)).reshape(40, DRAWS)
        step, deviation, bend = wanted(fit, w.reshape(40, DRAWS)[:, 0] * scale, side)
        small = bend + 0.005 * np.abs(step).mean()
        near = np.abs(np.diff(wanted(fit, states, side)[0])).max()
        error = 4.9 * deviation / np.sqrt(DRAWS)
        right &= agree(f"mean {side} pulse of CrossSim", moved.mean(axis=1), step, error + near + small)
        right &= agree(f"deviation of {side} pulses", moved.std(axis=1), deviation, error + near + small)
    return right


def main(folder, fit_file, crosssim=None):
    files = [f"{folder}/dG_increasing.txt", f"{folder}/dG_decreasing.txt"]
    tables = dict(zip(("up", "down"), map(table, files)))
    assert all((tables["up"][i] == tables["down"][i]).all() for i in (0, 1)), "both files must have the same first two rows"
    with open(fit_file) as file:
        fit = json.load(file)
    right = own_rules(fit, tables)
    if crosssim:
        right &= by_crosssim(fit, tables, crosssim, files)
    sys.exit(0 if right else 1)


main(*sys.argv[1:])
