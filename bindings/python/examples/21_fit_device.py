"""From measured pulses to a device: the response as a table, without a model."""

import pathlib
import tempfile

import numpy as np
import residuum.torch as rt
import torch
from _common import regress, small


def measured(pulses, seed=0):
    """A staircase of weights, up and down: what a laboratory would bring. Here from soft bounds with noise."""
    noise, w, steps = np.random.default_rng(seed), -0.5, []
    for sign in (1, -1):
        for _ in range(pulses):
            before = w
            w += sign * 0.01 * (1 - sign * w / 0.6) * (1 + 0.2 * noise.standard_normal())
            steps.append((before, sign, w - before))
    return np.array(steps)


def table(steps, at):
    """q₊ and q₋ at some states: the mean step of pulses nearby, relative to that at 0."""
    q = np.empty((2, len(at)))
    for side, sign in enumerate((1, -1)):
        own = steps[steps[:, 1] == sign]
        # A straight line fits a step that falls with the weight; keep it positive.
        q[side] = np.maximum(np.polyval(np.polyfit(own[:, 0], sign * own[:, 2], 1), at), 1e-5)
    step = np.array([np.interp(0, at, side) for side in q]).mean()
    return q / step, step


def main():
    steps = measured(100 if small() else 1000)
    at = np.linspace(-0.55, 0.55, 23)
    (up, down), step = table(steps, at)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "device.csv"
        rows = "\n".join(f"{w:.6f},{p:.6f},{m:.6f}" for w, p, m in zip(at, up, down))
        path.write_text(f"w,q_plus,q_minus\n{rows}\n")
        torch.manual_seed(0)
        layer = rt.AnalogLinear(4, 2, device={"response": "table", "csv": str(path), "pulse_step": float(step)}, rule="analog")
    print(f"a pulse at 0 moves a cell by {step:.5f}; it was made with 0.01")
    assert abs(step - 0.01) < 0.002
    first, last = regress(layer, rt.Optimizer(layer.parameters(), lr=0.1), 50 if small() else 200)
    print(f"loss {first:.3f} → {last:.4f}")
    assert last < 0.5 * first
    return last


if __name__ == "__main__":
    main()
