"""An independent fit of the measured devices, to compare ours with.

Own code on NumPy and SciPy: a Kalman filter for a step that is a straight line in the state, maximised by Nelder-Mead from
least squares; standard errors from the curvature of the likelihood by central differences. Writes golden/device/reference.json.

    python3 -m venv venv && venv/bin/pip install numpy scipy
    venv/bin/python tools/device/reference_fits.py experiments/devices golden/device/reference.json
"""

import csv
import json
import sys

import numpy as np
import scipy
from scipy.optimize import minimize


def columns(path, skip):
    with open(path) as file:
        rows = list(csv.reader(file))[skip:]
    return [np.array([float(x) for x in column if x != ""]) for column in zip(*rows)]


def negative(theta, ramps):
    """−ln L of lines a + b·g for up and down steps, read variance e^{theta[4]}, write variance e^{theta[5]}."""
    read, write = np.exp(theta[4]), np.exp(theta[5])
    total = 0.0
    for sign, a, b, own in ((1, theta[0], theta[1], ramps[0]), (-1, theta[2], theta[3], ramps[1])):
        slope = 1 + sign * b
        for y in own:
            mean, var = y[0], read
            for value in y[1:]:
                mean, var = mean + sign * (a + b * mean), slope * slope * var + write
                s = var + read
                off = value - mean
                total += 0.5 * (np.log(2 * np.pi * s) + off * off / s)
                gain = var / s
                mean, var = mean + gain * off, (1 - gain) * var
    return total


def fit(ramps):
    start = []
    for sign, own in ((1, ramps[0]), (-1, ramps[1])):
        x = np.concatenate([np.convolve(y, np.ones(25) / 25, "same")[:-1] for y in own])
        d = np.concatenate([sign * np.diff(y) for y in own])
        b, a = np.polyfit(x, d, 1)
        start += [a, b]
    noise = np.var(np.concatenate([np.diff(y) for own in ramps for y in own]))
    theta = np.array(start + [np.log(0.4 * noise), np.log(0.1 * noise)])
    scale = np.array([abs(start[0]), 0.3 * abs(start[0]), abs(start[2]), 0.3 * abs(start[2]), 1, 1])
    f = lambda u: negative(theta + scale * u, ramps)
    u = np.zeros(6)
    for _ in range(3):
        u = minimize(f, u, method="Nelder-Mead", options=dict(maxfev=1500, xatol=1e-5, fatol=1e-5)).x
    h = 2e-2 * np.ones(6)
    curvature = np.zeros((6, 6))
    eye = np.eye(6)
    for i in range(6):
        for j in range(i, 6):
            e, g = h[i] * eye[i], h[j] * eye[j]
            curvature[i, j] = curvature[j, i] = (f(u + e + g) - f(u + e - g) - f(u - e + g) + f(u - e - g)) / (4 * h[i] * h[j])
    error = np.sqrt(np.diag(np.linalg.inv(curvature))) * scale
    best = theta + scale * u
    names = ["up_at_0", "up_slope", "down_at_0", "down_slope", "ln_read_variance", "ln_write_variance"]
    return {n: {"value": v, "low": v - 1.96 * e, "high": v + 1.96 * e} for n, v, e in zip(names, best, error)}, -f(u)


def main(folder, target):
    up, down = columns(f"{folder}/gong-reram.csv", 0)
    estimates, likelihood = fit(([up], [down]))
    found = {"gong-reram": {"model": "lines with additive write noise, in the unit of the file", "log_likelihood": likelihood,
                            "estimates": estimates}}
    bins = []
    sides = [columns(f"{folder}/crosssim-{side}.csv", 1) for side in ("set", "reset")]
    for lo in (1.6, 1.8, 2.1, 2.4):
        row = {"low_mS": lo, "high_mS": lo + 0.1}
        for name, sign, ramps in (("up", 1, sides[0]), ("down", -1, sides[1])):
            d = np.concatenate([sign * np.diff(y)[(y[:-1] * 1e4 >= lo) & (y[:-1] * 1e4 < lo + 0.1)] for y in ramps]) * 1e7
            row[name] = {"mean_uS": d.mean(), "deviation_uS": d.std(), "pulses": len(d)}
        bins.append(row)
    found["crosssim-bins"] = bins
    found["versions"] = {"numpy": np.__version__, "scipy": scipy.__version__, "python": sys.version.split()[0]}
    with open(target, "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


main(*sys.argv[1:])
