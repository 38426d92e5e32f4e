"""Every formula of docs/aihwkit.md against the installed AIHWKIT.

usage: python check_formulas.py
prints one line per formula with the largest deviation; exits with 1 if one does not hold

Device-to-device variation stays switched on where it can: the parameters drawn by AIHWKIT are read from the tile and put
into the formula, so that a wrong use of a bound or a scale shows.
"""

import json
import math
import sys

from common import GOLDEN, hidden, ideal, pulse, pulse_tile

import torch
from aihwkit.simulator.configs import devices as D
from aihwkit.simulator.parameters.inference import DriftParameter

ROWS, COLUMNS = 40, 50
CLEAN = {"dw_min_std": 0.0, "w_max_dtod": 0.1, "w_min_dtod": 0.1, "construction_seed": 7}
results = []


def check(name, got, expected, tolerance=2e-7):
    """Record the largest deviation; weights are f32 of order 0.5, so 2e-7 is a few roundings."""
    gap = float((torch.as_tensor(got).double() - torch.as_tensor(expected).double()).abs().max())
    results.append(gap <= tolerance)
    print(f"{'ok  ' if results[-1] else 'FAIL'} {name}: {gap:.2g} (limit {tolerance:.2g})")


def spread(low=-0.35, high=0.35):
    """Weights from low to high over the tile."""
    return torch.linspace(low, high, ROWS * COLUMNS).reshape(ROWS, COLUMNS)


def extra(made, name):
    """A scalar of the tile's internal state."""
    return made.dump_extra()[f"rpu.rpu_device.{name}"][0]


def one_pulse(name, device, formula, weights=None):
    """One up- and one down-pulse from the same weights against `formula(w, parameters, up) -> step`."""
    for up in (True, False):
        made = pulse_tile(device, ROWS, COLUMNS, spread() if weights is None else weights)
        p = hidden(made)
        w = made.get_weights().clone()
        moved = w + formula(w, p, up) if up else w - formula(w, p, up)
        reference = p.get("reference", torch.zeros_like(w))
        moved = torch.minimum(torch.maximum(moved + reference, p["min_bound"]), p["max_bound"]) - reference
        pulse(made, up)
        check(f"{name}, {'up' if up else 'down'}", made.get_weights(), moved)


def scale(p, up):
    return p["dwmin_up"] if up else p["dwmin_down"]


def bound(p, up):
    return p["max_bound"] if up else p["min_bound"]


def steps():
    """The step of one pulse for each family."""
    one_pulse("ConstantStep", D.ConstantStepDevice(**CLEAN), lambda w, p, up: scale(p, up))
    slopes = {"gamma_up": 0.4, "gamma_down": 0.7, "gamma_up_dtod": 0.0, "gamma_down_dtod": 0.0, **CLEAN}
    reverse = {"reverse_up": True, "reverse_down": True, "reverse_offset": 0.05}
    one_pulse(
        "LinearStep, mean bound", D.LinearStepDevice(**slopes),
        lambda w, p, up: scale(p, up) * (1 - (0.4 * w / 0.6 if up else 0.7 * w / -0.6)),
    )
    one_pulse(
        "LinearStep, own bound", D.LinearStepDevice(mean_bound_reference=False, **slopes),
        lambda w, p, up: scale(p, up) * (1 - (0.4 if up else 0.7) * w / bound(p, up)),
    )
    one_pulse(
        "LinearStep, stored slope", D.LinearStepDevice(gamma_up=0.4, **CLEAN),
        lambda w, p, up: scale(p, up) + (p["slope_up"] if up else p["slope_down"]) * w,
    )
    one_pulse(
        "LinearStep, reversed, mean bound", D.LinearStepDevice(**reverse, **slopes),
        lambda w, p, up: scale(p, up) * (1 - (0.4 * w / (-0.6 - 0.05) if up else 0.7 * w / (0.6 + 0.05))),
    )
    one_pulse("SoftBounds", D.SoftBoundsDevice(**CLEAN), lambda w, p, up: scale(p, up) * (1 - w / bound(p, up)))
    one_pulse(
        "SoftBounds, reversed", D.SoftBoundsDevice(**reverse, **CLEAN),
        lambda w, p, up: scale(p, up) * (1 - w / (p["min_bound"] - 0.05 if up else p["max_bound"] + 0.05)),
    )
    one_pulse(
        "SoftBoundsReference",
        D.SoftBoundsReferenceDevice(reference_std=0.05, slope_up_dtod=0.1, slope_down_dtod=0.1, **CLEAN),
        lambda w, p, up: scale(p, up) * (1 - (w + p["reference"]) / bound(p, up)), 0.5 * spread(),
    )
    one_pulse(
        "PowStep", D.PowStepDevice(pow_gamma=2.5, pow_up_down=0.2, **CLEAN), lambda w, p, up: power(w, p, up),
    )
    one_pulse(
        "PowStepReference", D.PowStepReferenceDevice(pow_gamma=1.7, reference_std=0.05, **CLEAN),
        lambda w, p, up: power(w + p["reference"], p, up), 0.5 * spread(),
    )
    one_pulse("ExpStep", D.ExpStepDevice(**CLEAN), exponential)
    wide = spread(-0.9, 0.9)
    one_pulse("ConstantStep, clipped", D.ConstantStepDevice(**CLEAN), lambda w, p, up: scale(p, up), wide)
    one_pulse("ExpStep, clipped", D.ExpStepDevice(**CLEAN), exponential, wide)
    one_pulse(
        "SoftBoundsReference, w + reference clipped", D.SoftBoundsReferenceDevice(reference_std=0.1, **CLEAN),
        lambda w, p, up: scale(p, up) * (1 - (w + p["reference"]) / bound(p, up)), wide,
    )
    table = {"piecewise_up": [1.0, 0.2, 0.7, 0.4], "piecewise_down": [0.3, 0.9, 0.5, 1.1]}
    one = {"piecewise_up": [0.7], "piecewise_down": [0.4]}
    one_pulse(
        "PiecewiseStep, 1 node", D.PiecewiseStepDevice(**one, **CLEAN),
        lambda w, p, up: scale(p, up) * (0.7 if up else 0.4),
    )
    one_pulse(
        "PiecewiseStep, 4 nodes", D.PiecewiseStepDevice(**table, **CLEAN),
        lambda w, p, up: piecewise(w, p, up, table),
    )


def power(w, p, up):
    width = p["max_bound"] - p["min_bound"]
    base = (p["max_bound"] - w if up else w - p["min_bound"]) / width
    return scale(p, up) * base ** (p["gamma_up"] if up else p["gamma_down"])


def exponential(w, p, up, device=D.ExpStepDevice()):
    z = 2 * device.a * w / (p["max_bound"] - p["min_bound"]) + device.b
    lost = device.A_up * torch.exp(device.gamma_up * z) if up else device.A_down * torch.exp(-device.gamma_down * z)
    return scale(p, up) * (1 - lost).clamp(min=0.0)


def piecewise(w, p, up, table):
    nodes = torch.tensor(table["piecewise_up" if up else "piecewise_down"])
    position = ((w - p["min_bound"]) / (p["max_bound"] - p["min_bound"]) * (len(nodes) - 1)).clamp(0, len(nodes) - 1)
    left = position.floor().long().clamp(max=len(nodes) - 2)
    part = position - left
    return scale(p, up) * ((1 - part) * nodes[left] + part * nodes[left + 1])


def construction():
    """Scales, bounds, exponents and references as they are drawn."""
    for up_down in (0.2, -0.2):
        p = hidden(pulse_tile(ideal(D.ConstantStepDevice(up_down=up_down)), ROWS, COLUMNS))
        check(f"up_down = {up_down}: up scale", p["dwmin_up"], 0.001 * (1 + min(up_down, 0.0)), 1e-9)
        check(f"up_down = {up_down}: down scale", p["dwmin_down"], 0.001 * (1 - max(up_down, 0.0)), 1e-9)
    p = hidden(pulse_tile(D.ConstantStepDevice(dw_min_dtod=0.0, up_down_dtod=0.1), ROWS, COLUMNS))
    check("up_down_dtod moves up and down oppositely", p["dwmin_up"] + p["dwmin_down"], 0.002, 1e-8)
    check("up_down_dtod: std", p["dwmin_up"].std() / 0.001, 0.1, 0.1 * 5 / math.sqrt(2 * ROWS * COLUMNS))
    p = hidden(pulse_tile(D.ConstantStepDevice(dw_min_dtod=0.2, up_down_dtod=0.0), ROWS, COLUMNS))
    check("dw_min_dtod moves up and down together", p["dwmin_up"], p["dwmin_down"], 1e-9)
    device = D.ConstantStepDevice(dw_min_dtod=0.7, dw_min_dtod_log_normal=True, up_down_dtod=0.0)
    p = hidden(pulse_tile(device, ROWS, COLUMNS))
    logs = (p["dwmin_up"] / 0.001).log()
    check("dw_min_dtod_log_normal: mean of the log", logs.mean(), 0.0, 0.7 * (5 / math.sqrt(ROWS * COLUMNS) + 0.03))
    check("dw_min_dtod_log_normal: std of the log", logs.std(), 0.7, 0.7 * 5 / math.sqrt(2 * ROWS * COLUMNS))
    p = hidden(pulse_tile(ideal(D.PowStepDevice(pow_gamma=2.0, pow_up_down=0.3)), ROWS, COLUMNS))
    check("pow_up_down > 0 leaves the up exponent", p["gamma_up"], 2.0, 1e-6)
    check("pow_up_down > 0 lowers the down exponent", p["gamma_down"], 1.4, 1e-6)
    p = hidden(pulse_tile(ideal(D.PowStepDevice(pow_gamma=2.0, pow_up_down=-0.3)), ROWS, COLUMNS))
    check("pow_up_down < 0 lowers the up exponent", p["gamma_up"], 1.4, 1e-6)
    check("pow_up_down < 0 leaves the down exponent", p["gamma_down"], 2.0, 1e-6)
    p = hidden(pulse_tile(ideal(D.PowStepDevice(pow_up_down=1.5)), ROWS, COLUMNS))
    check("exponents of the wrong sign are turned round", p["gamma_down"], 0.5, 1e-6)
    device = ideal(D.PowStepDevice(pow_gamma=2.0))
    device.pow_up_down_dtod = 0.1
    p = hidden(pulse_tile(device, ROWS, COLUMNS))
    check("pow_up_down_dtod moves the exponents oppositely", p["gamma_up"] + p["gamma_down"], 4.0, 1e-6)
    check("pow_up_down_dtod: std", p["gamma_up"].std() / 2.0, 0.1, 0.1 * 5 / math.sqrt(2 * ROWS * COLUMNS))
    p = hidden(pulse_tile(D.PowStepDevice(pow_gamma=2.0, pow_gamma_dtod=0.1), ROWS, COLUMNS))
    check("pow_gamma_dtod is relative and common to both directions", p["gamma_up"], p["gamma_down"], 1e-6)
    check("pow_gamma_dtod: std", p["gamma_up"].std() / 2.0, 0.1, 0.1 * 5 / math.sqrt(2 * ROWS * COLUMNS))
    p = hidden(pulse_tile(D.LinearStepDevice(gamma_up=0.05, gamma_up_dtod=0.1), ROWS, COLUMNS))
    check("LinearStep: |gamma| without allow_increasing", (p["slope_up"] > 0).sum(), 0, 0.0)

    slopes = {"gamma_up": 0.1, "gamma_down": 0.2, "gamma_up_dtod": 0.2, "gamma_down_dtod": 0.4, "construction_seed": 7}
    signed = hidden(pulse_tile(D.LinearStepDevice(allow_increasing=True, **slopes), ROWS, COLUMNS))
    turned = hidden(pulse_tile(D.LinearStepDevice(**slopes), ROWS, COLUMNS))
    for side, mean, std, at in (("up", 0.1, 0.2, 0.6), ("down", 0.2, 0.4, -0.6)):
        slope = signed[f"slope_{side}"]
        gamma = -slope / signed[f"dwmin_{side}"] * at
        check(f"gamma_{side}, allow_increasing: mean", gamma.mean(), mean, std * (5 / math.sqrt(ROWS * COLUMNS) + 0.03))
        check(f"gamma_{side}_dtod is absolute: std", gamma.std(), std, std * 5 / math.sqrt(2 * ROWS * COLUMNS))
        folded = -math.copysign(1.0, at) * slope.abs()
        check(f"gamma_{side}: absolute without allow_increasing", turned[f"slope_{side}"], folded, 1e-9)
    p = hidden(pulse_tile(D.LinearStepDevice(gamma_down=0.5, w_min=0.0), ROWS, COLUMNS))
    check("LinearStep: a bound of 0 gives slope 0", p["slope_down"], 0.0, 0.0)
    own = {"mean_bound_reference": False, "reverse_up": True, "reverse_offset": 0.1, "allow_increasing": True}
    p = hidden(pulse_tile(D.LinearStepDevice(gamma_up=0.5, gamma_up_dtod=0.0, **own), ROWS, COLUMNS))
    check("LinearStep, reversed, own bound", p["slope_up"], -0.5 * p["dwmin_up"] / (p["min_bound"] - 0.1), 1e-8)
    try:
        pulse_tile(D.SoftBoundsDevice(reverse_up=True, mult_noise=False), 2, 2)
        refused = False
    except RuntimeError:
        refused = True
    check("reversed steps take multiplicative noise alone", refused, True, 0.0)

    soft = D.SoftBoundsReferenceDevice(subtract_symmetry_point=True, **CLEAN)
    made = pulse_tile(soft, ROWS, COLUMNS)
    p = hidden(made)
    up, down = p["dwmin_up"], p["dwmin_down"]
    symmetric = (up - down) / (up / p["max_bound"] - down / p["min_bound"])
    check("SoftBoundsReference: symmetric point subtracted", p["reference"], symmetric)
    check("SoftBoundsReference: symmetric point added to the reset value", p["reset_bias"], symmetric)
    device = ideal(D.SoftBoundsReferenceDevice())
    device.slope_up_dtod = 0.2
    p = hidden(pulse_tile(device, ROWS, COLUMNS))
    ratio = 0.6 / p["max_bound"]
    check("slope_up_dtod: std of 0.6 / max_bound", ratio.std(), 0.2, 0.2 * 5 / math.sqrt(2 * ROWS * COLUMNS))
    check("slope_up_dtod leaves the scale", p["dwmin_up"], 0.001, 1e-9)
    check("slope_up_dtod leaves the lower bound", p["min_bound"], -0.6, 1e-7)
    device.corrupt_devices_prob = 0.2
    p = hidden(pulse_tile(device, ROWS, COLUMNS))
    stuck = p["dwmin_up"] == 0.0
    check("slope_up_dtod leaves corrupt devices stuck", p["max_bound"][stuck], p["min_bound"][stuck], 0.0)

    settings = {"pow_gamma": 1.7, "subtract_symmetry_point": True, "up_down_dtod": 0.1, **CLEAN}
    p = hidden(pulse_tile(D.PowStepReferenceDevice(dw_min_dtod=0.0, **settings), ROWS, COLUMNS))
    at = p["reference"]
    check("PowStepReference: up and down steps agree at the reference", power(at, p, True), power(at, p, False))
    p = hidden(pulse_tile(D.PowStepReferenceDevice(n_estimation_steps=50, **settings), ROWS, COLUMNS))
    at = torch.zeros(ROWS, COLUMNS)
    for _ in range(50):
        at = at + power(at, p, True) - power(at, p, False)
    check("PowStepReference: n_estimation_steps up-down pairs from 0", p["reference"], at, 1e-6)
    check("PowStepReference: the estimate is added to the reset value", p["reset_bias"], at, 1e-6)
    p = hidden(pulse_tile(D.PowStepReferenceDevice(corrupt_devices_prob=0.2, **settings), ROWS, COLUMNS))
    check("PowStepReference: corrupt devices subtract nothing", p["reference"][p["dwmin_up"] == 0.0], 0.0, 0.0)
    few = D.PowStepReferenceDevice(dw_min=1e-5, dw_min_dtod=0.0, **settings)
    p = hidden(pulse_tile(few, ROWS, COLUMNS))
    at = torch.zeros(ROWS, COLUMNS)
    for _ in range(10_000):
        at = at + power(at, p, True) - power(at, p, False)
    check("PowStepReference: the search gives up after 10 000 pairs", p["reference"], at, 1e-5)

    p = hidden(pulse_tile(D.ConstantStepDevice(corrupt_devices_prob=0.2, corrupt_devices_range=0.1), ROWS, COLUMNS))
    stuck = p["max_bound"] == p["min_bound"]
    check("corrupt devices: share", stuck.double().mean(), 0.2, 5 * math.sqrt(0.16 / (ROWS * COLUMNS)))
    check("corrupt devices: both scales 0", torch.stack((p["dwmin_up"][stuck], p["dwmin_down"][stuck])), 0.0, 0.0)
    check("corrupt devices: stuck within the range", (p["max_bound"][stuck].abs() - 0.1).clamp(min=0.0), 0.0, 1e-7)

    made = pulse_tile(D.SoftBoundsReferenceDevice(reference_mean=0.2, **CLEAN), ROWS, COLUMNS, spread(-0.9, 0.9))
    p = hidden(made)
    clipped = torch.minimum(torch.maximum(spread(-0.9, 0.9), p["min_bound"]), p["max_bound"])
    check("setting weights clips w itself, whatever the reference", made.get_weights(), clipped, 0.0)
    p = hidden(pulse_tile(D.ConstantStepDevice(perfect_bias=True), ROWS, COLUMNS))
    check("perfect_bias: last column has mean steps", p["dwmin_up"][:, -1], 0.001, 1e-9)
    check("perfect_bias: and 100 times the mean bounds", p["max_bound"][:, -1], 60.0, 1e-5)

    made = pulse_tile(ideal(D.SoftBoundsPmaxDevice()), ROWS, COLUMNS, torch.full((ROWS, COLUMNS), -1.0))
    p = hidden(made)
    b = 2.0 / (1 - math.exp(-1000 * 0.0005))
    check("SoftBoundsPmax: upper bound", p["max_bound"], -1.0 + b, 1e-5)
    check("SoftBoundsPmax: up scale b alpha", p["dwmin_up"], b * 0.0005, 1e-8)
    check("SoftBoundsPmax: down scale -2 range_min alpha", p["dwmin_down"], 2 * 0.0005, 1e-8)
    for _ in range(1000):
        pulse(made, True)
    reached = b - 1 - b * (1 - 0.0005 * b / (b - 1)) ** 1000
    check(f"SoftBoundsPmax: {reached:.3f}, not range_max, after p_max up-pulses", made.get_weights(), reached, 1e-4)


def spreads():
    """The law of the parameters that differ from device to device; relative unless said otherwise."""
    n = ROWS * COLUMNS
    device = D.ConstantStepDevice(
        w_max_dtod=0.2, w_min_dtod=0.1, reset=0.1, reset_dtod=0.05, diffusion=0.01, diffusion_dtod=0.3,
        lifetime=50.0, lifetime_dtod=0.1, drift=DriftParameter(nu=0.1, nu_dtod=0.2),
    )
    p = hidden(pulse_tile(device, ROWS, COLUMNS))
    lifetimes = 1 / (1 - p["decay_scales"].double())
    cases = (
        ("w_max_dtod", p["max_bound"] / 0.6, 1.0, 0.2),
        ("w_min_dtod", p["min_bound"] / -0.6, 1.0, 0.1),
        ("reset_dtod (absolute)", p["reset_bias"], 0.1, 0.05),
        ("diffusion_dtod", p["diffusion_rates"] / 0.01, 1.0, 0.3),
        ("lifetime_dtod", lifetimes / 50.0, 1.0, 0.1),
        ("nu_dtod", p["drift_nu"] / 0.1, 1.0, 0.2),
    )
    for name, values, mean, std in cases:
        check(f"{name}: mean", values.mean(), mean, std * (5 / math.sqrt(n) + 0.03))
        check(f"{name}: std", values.std(), std, std * (5 / math.sqrt(2 * n) + 0.03))
    device = {"w_max_dtod": 1.5, "w_min_dtod": 1.5, "dw_min_dtod": 2.0, "construction_seed": 5}
    raw = hidden(pulse_tile(D.ConstantStepDevice(enforce_consistency=False, **device), ROWS, COLUMNS))
    made = hidden(pulse_tile(D.ConstantStepDevice(**device), ROWS, COLUMNS))
    check("enforce_consistency: absolute scales", made["dwmin_up"], raw["dwmin_up"].abs(), 0.0)
    ordered = raw["max_bound"] > raw["min_bound"]
    check("enforce_consistency: absolute upper bound", made["max_bound"][ordered], raw["max_bound"][ordered].abs(), 0.0)
    check("enforce_consistency: absolute lower bound", made["min_bound"][ordered], -raw["min_bound"][ordered].abs(), 0.0)
    off = raw["max_bound"] == raw["min_bound"]
    middle = (made["max_bound"] + made["min_bound"]).abs() / 2
    other = (made["max_bound"] - made["min_bound"]) / 2
    nearest = torch.minimum((raw["max_bound"].abs() - middle).abs(), (raw["max_bound"].abs() - other).abs())
    check("no consistency: crossed bounds meet at their midpoint", nearest[off], 0.0)
    check("no consistency: some are crossed, and only those", (off == ~ordered).all() and off.any(), True, 0.0)


def noise():
    """Standard deviation of one step, per kind of noise; statistical, at five standard errors plus the table's bias."""
    n = ROWS * COLUMNS
    common = {"dw_min_dtod": 0.0, "up_down_dtod": 0.0, "w_max_dtod": 0.0, "w_min_dtod": 0.0, "dw_min_std": 0.5}
    slopes = {"gamma_up": 1.0, "gamma_down": 1.0, "gamma_up_dtod": 0.0, "gamma_down_dtod": 0.0}
    w = 0.3
    cases = {
        "ConstantStep: s sigma": (D.ConstantStepDevice(**common), 0.5e-3),
        "LinearStep, mult_noise: step sigma": (D.LinearStepDevice(**slopes, **common), 0.25e-3),
        "LinearStep, additive: s sigma": (D.LinearStepDevice(mult_noise=False, **slopes, **common), 0.5e-3),
        "SoftBounds: step sigma": (D.SoftBoundsDevice(**common), 0.25e-3),
        "SoftBoundsReference: s sigma": (D.SoftBoundsReferenceDevice(**common), 0.5e-3),
        "SoftBoundsReference, mult_noise: step sigma": (
            D.SoftBoundsReferenceDevice(mult_noise=True, **common), 0.25e-3,
        ),
        "PowStep: step sigma": (D.PowStepDevice(pow_gamma_dtod=0.0, **common), 0.125e-3),
        "PowStepReference: step sigma": (D.PowStepReferenceDevice(pow_gamma_dtod=0.0, **common), 0.125e-3),
        "PiecewiseStep: step sigma": (
            D.PiecewiseStepDevice(piecewise_up=[0.4, 0.4], piecewise_down=[1.0, 1.0], **common), 0.2e-3,
        ),
        "ExpStep: step sigma": (D.ExpStepDevice(A_up=0.5, gamma_up=0.0, **common), 0.25e-3),
        "ExpStep, complex: sigma (step + add + slope |w|)": (
            D.ExpStepDevice(A_up=0.5, gamma_up=0.0, dw_min_std_add=0.01, dw_min_std_slope=0.02, **common),
            0.5 * (0.5e-3 + 0.01 + 0.02 * w),
        ),
    }
    for name, (device, expected) in cases.items():
        made = pulse_tile(device, ROWS, COLUMNS, torch.full((ROWS, COLUMNS), w))
        pulse(made, True)
        check(f"noise, {name}", made.get_weights().std() / expected, 1.0, 5 / math.sqrt(2 * n) + 0.03)

    device = D.SoftBoundsDevice(write_noise_std=3.0, **{**common, "dw_min_std": 0.0})
    made = pulse_tile(device, ROWS, COLUMNS, torch.full((ROWS, COLUMNS), w))
    before = made.get_weights().clone()
    check("write noise on set: std = write_noise_std dw_min", (before - w).std() / 3e-3, 1.0, 5 / math.sqrt(2 * n) + 0.03)
    device.apply_write_noise_on_set = False
    quiet = pulse_tile(device, ROWS, COLUMNS, torch.full((ROWS, COLUMNS), w))
    check("apply_write_noise_on_set = False: none on set", quiet.get_weights(), w, 1e-7)
    quiet.update(torch.ones(1, COLUMNS), torch.full((1, ROWS), -1.0), False)
    drawn = quiet.get_weights() - hidden(quiet)["persistent_weights"]
    check("apply_write_noise_on_set = False: drawn by a pulse", drawn.std() / 3e-3, 1.0, 5 / math.sqrt(n) + 0.03)
    device.apply_write_noise_on_set = True
    half = torch.zeros(1, ROWS)
    half[0, : ROWS // 2] = -1.0
    made.update(torch.ones(1, COLUMNS), half, False)
    after, kept = made.get_weights(), hidden(made)["persistent_weights"]
    check("write noise: untouched cells keep their visible weight", after[ROWS // 2:], before[ROWS // 2:], 0.0)
    check("write noise: the persistent weight takes the noiseless step", kept[: ROWS // 2], w + 0.001 * (1 - w / 0.6))
    drawn = (after - kept)[: ROWS // 2]
    check("write noise: new draw for pulsed cells", drawn.std() / 3e-3, 1.0, 5 / math.sqrt(n) + 0.03)
    top = pulse_tile(device, ROWS, COLUMNS, torch.full((ROWS, COLUMNS), 0.6))
    results.append(bool((top.get_weights() > 0.6).any()))
    print(f"{'ok  ' if results[-1] else 'FAIL'} write noise is added after clipping: visible weights pass the bound")


def granularity():
    """The step that AIHWKIT's update management divides by."""
    exp = D.ExpStepDevice(up_down=0.2)
    at_zero = 0.001 * (1 - 0.2) * (1 - exp.A_down * math.exp(-exp.gamma_down * exp.b))
    cases = (
        ("ConstantStep: dw_min", D.ConstantStepDevice(up_down=0.2), 0.001),
        ("LinearStep: dw_min", D.LinearStepDevice(gamma_up=0.5), 0.001),
        ("SoftBounds: dw_min", D.SoftBoundsDevice(), 0.001),
        ("SoftBoundsPmax: b alpha", D.SoftBoundsPmaxDevice(), 0.0005 * 2.0 / (1 - math.exp(-0.5))),
        ("SoftBoundsReference: dw_min", D.SoftBoundsReferenceDevice(), 0.001),
        ("PowStep: dw_min 2^-gamma", D.PowStepDevice(pow_gamma=2.5), 0.001 * 2 ** -2.5),
        ("PowStep, asymmetric bounds: still dw_min 2^-gamma", D.PowStepDevice(w_max=1.0, w_min=-0.2), 0.0005),
        ("PowStep, pow_up_down: still dw_min 2^-gamma", D.PowStepDevice(pow_gamma=2.0, pow_up_down=0.4), 0.00025),
        ("PowStepReference: dw_min 2^-gamma", D.PowStepReferenceDevice(pow_gamma=2.5), 0.001 * 2 ** -2.5),
        ("ExpStep: the down step at 0", exp, at_zero),
        (
            "PiecewiseStep: dw_min times the middle up node",
            D.PiecewiseStepDevice(piecewise_up=[0.1, 0.2, 0.3, 0.4], piecewise_down=[1.0, 1.0, 1.0, 1.0]), 0.0003,
        ),
    )
    for name, device, expected in cases:
        check(f"granularity, {name}", extra(pulse_tile(device, 2, 2), "weight_granularity"), expected, 1e-9)


def processes():
    """Decay, diffusion, reset and drift."""
    w = spread()
    made = pulse_tile(ideal(D.ConstantStepDevice(lifetime=20.0, reset=0.1)), ROWS, COLUMNS, w)
    made.decay_weights(1.0)
    check("decay towards the reset value", made.get_weights(), (w - 0.1) * (1 - 1 / 20) + 0.1)
    made.set_weights(w)
    made.decay_weights(0.5)
    check("decay, scaled by alpha", made.get_weights(), (w - 0.1) * (1 - 0.5 / 20) + 0.1)
    made = pulse_tile(ideal(D.ConstantStepDevice(lifetime=0.9, reset=0.1)), ROWS, COLUMNS, w)
    made.decay_weights(1.0)
    check("lifetime in (0, 1]: straight to the reset value", made.get_weights(), 0.1)
    made = pulse_tile(ideal(D.ConstantStepDevice()), ROWS, COLUMNS, w)
    made.decay_weights(1.0)
    check("lifetime 0 means no decay", made.get_weights(), w, 0.0)

    for name, device in (("decay", {"lifetime": 1e9}), ("diffusion", {"diffusion": 1e-12})):
        made = pulse_tile(ideal(D.SoftBoundsReferenceDevice(reference_mean=-0.3, **device)), ROWS, COLUMNS, w)
        for _ in range(2000):
            pulse(made, True)
        check(f"SoftBoundsReference before {name}: pulses reach b + 0.3", (made.get_weights() < 0.8).sum(), 0, 0.0)
        if name == "decay":
            made.decay_weights(1.0)
        else:
            made.diffuse_weights()
        check(f"SoftBoundsReference: {name} clips w itself", made.get_weights(), 0.6)

    made = pulse_tile(ideal(D.ConstantStepDevice(diffusion=0.01)), ROWS, COLUMNS, w)
    made.diffuse_weights()
    check("diffusion: std", (made.get_weights() - w).std() / 0.01, 1.0, 5 / math.sqrt(2 * ROWS * COLUMNS) + 0.03)

    made = pulse_tile(ideal(D.ConstantStepDevice(reset=0.1, reset_std=0.0)), ROWS, COLUMNS, w)
    made.reset_columns(3, 2, 1.0)
    expected = w.clone()
    expected[:, 3:5] = 0.1
    check("reset of columns", made.get_weights(), expected)
    made = pulse_tile(ideal(D.ConstantStepDevice(reset=0.9, reset_std=0.0)), ROWS, COLUMNS, w)
    made.reset_columns(0, -1, 1.0)
    check("reset is clipped to the bounds", made.get_weights(), 0.6)

    drift = DriftParameter(nu=0.1, t_0=2.0)
    made = pulse_tile(ideal(D.ConstantStepDevice(drift=drift)), ROWS, COLUMNS, w)
    made.drift_weights(10.0)
    check("drift, first call", made.get_weights(), w * (10 / 2) ** -0.1)
    made.drift_weights(30.0)
    check("drift, second call: from the start, not from the last call", made.get_weights(), w * (40 / 2) ** -0.1)
    pulse(made, True)
    changed = made.get_weights().clone()
    made.drift_weights(10.0)
    check("drift: a written weight only restarts its clock", made.get_weights(), changed, 0.0)
    made.drift_weights(10.0)
    check("drift: and drifts from the call after", made.get_weights(), changed * (10 / 2) ** -0.1)
    made = pulse_tile(ideal(D.ConstantStepDevice(drift=drift)), ROWS, COLUMNS, w)
    made.drift_weights(1.0)
    check("drift: none before t_0", made.get_weights(), w)


def trains():
    """Pulse probabilities and train length: the means of golden/aihwkit/update_statistics.json in standard errors.

    The 64 samples of a cell within one update share bit lines, 7 others each, which widens the standard error.
    """
    document = json.loads((GOLDEN / "update_statistics.json").read_text())
    grid = torch.tensor([-1.0, -0.7, -0.3, -0.05, 0.05, 0.3, 0.7, 1.0], dtype=torch.float64)
    worst = 0.0
    for case in document["cases"]:
        if case["update"]["pulse_type"] != "StochasticCompressed":
            continue
        step, rate, d_max, most = case["dw_min"], case["lr"], case["d_scale"], case["update"]["desired_bl"]
        manage_length = case["update"].get("update_bl_management", True)
        manage = manage_length or case["update"].get("update_management", True)
        wanted = rate * d_max / step
        length = min(math.ceil(wanted - 1e-6), most) if manage_length else most
        root = math.sqrt(rate / (step * length))
        balance = math.sqrt(d_max * min(1.0, most / wanted)) if manage else 1.0
        p = (root / balance * d_max * grid.abs()).clamp(max=1.0)[:, None]
        q = (root * balance * grid.abs()).clamp(max=1.0)
        mean = -step * length * p * q * torch.sign(grid[:, None] * grid)
        noise_variance = case["dw_min_std"] ** 2
        variance = step ** 2 * length * (p * q * (1 - p * q) + p * q * noise_variance)
        shared = step ** 2 * length * (p * (1 - p) * q ** 2 + q * (1 - q) * p ** 2)
        error = ((variance + 7 * shared) / case["samples_per_cell"]).sqrt()
        bias = (1e-4 + 2 * 0.0055 * case["dw_min_std"]) * mean.abs()  # rounding, and the table of normals
        worst = max(worst, float(((torch.tensor(case["mean_dw"]) - mean).abs() / (error + bias)).max()))
    check("pulse trains: worst of 2560 mean updates, in standard errors", worst, 0.0, 4.9)


def main():
    for group in (steps, construction, spreads, noise, granularity, processes, trains):
        group()
    print(f"{sum(results)} of {len(results)} hold")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
