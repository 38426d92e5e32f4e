"""Which of many streams of events are correlated? Cells that meet in time with the total activity find out.

Every stream is a line of a tile with a single output. At each step the error is minus the momentary excess of events over its mean, so
that lines which fire when many others do are pulsed upwards (Sebastian et al., Nature Communications 8, 1115, 2017).
"""

import numpy as np
from _common import small
from residuum import TileMatrix


def streams(count, correlated, steps, rate=0.05, strength=0.7, seed=0):
    """Events of `count` streams; the first `correlated` follow a common one now and then."""
    draw = np.random.default_rng(seed)
    common = draw.random((steps, 1)) < rate
    own = draw.random((steps, count)) < rate
    follow = (draw.random((steps, count)) < strength) & (np.arange(count) < correlated)
    return np.where(follow, common, own).astype(np.float32)


def main():
    count, correlated, steps = (60, 10, 1500) if small() else (500, 50, 4000)
    events = streams(count, correlated, steps)
    tables = {"device": {"response": "soft_bounds", "radius": 1.0, "pulse_step": 0.002, "step_spread": 0.3, "cycle_noise": 0.3}, "rule": {"kind": "analog"}}
    matrix = TileMatrix(tables, np.zeros((1, count), np.float32), seed=0, name="detector")
    mean = events.sum(1).mean()
    for x in events:
        excess = np.array([[-(x.sum() - mean) / mean]], np.float32)
        matrix.step(excess, x[None], learning_rate=0.004)
    weights = matrix.weights()[0]
    found = set(np.argsort(weights)[-correlated:]) & set(range(correlated))
    print(f"{len(found)} of {correlated} correlated streams are the largest weights, after {matrix.pulses()} pulses")
    assert len(found) > 0.7 * correlated
    return len(found) / correlated


if __name__ == "__main__":
    main()
