"""Which layers are on tiles, on how many, how full their range is, and what their pulses cost."""

import residuum.torch as rt
import torch
from _common import fit, images, small
from torch import nn


def summary(model):
    """One row for each layer on tiles."""
    rows = []
    for name, layer in rt.analog_layers(model):
        tiles, weights = layer.tiles(), layer.get_weights()
        low, high = layer.range
        rows.append(
            {
                "layer": name,
                "tiles": len(tiles),
                "cells": sum(array["weights"].size for tile in tiles for array in tile["arrays"].values()),
                "largest weight / range": (weights.abs().max() / max(-low, high)).item(),
                "pulses": layer.pulses,
                "energy / J": layer.energy,
            }
        )
    return rows


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 36, 10))
    model = rt.convert(
        model,
        device={"preset": "reram_sb", "pulse_energy": 1e-12},
        rule={"kind": "tiki_taka", "transfer_rate": 0.05},
        mapping={"max_cols": 128},
    )
    fit(model, rt.Optimizer(model.parameters(), lr=0.05), images(samples=100 if small() else None), 1)
    rows = summary(model)
    for row in rows:
        print(", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()))
    assert [row["tiles"] for row in rows] == [1, 3] and all(row["energy / J"] > 0 for row in rows)
    return rows


if __name__ == "__main__":
    main()
