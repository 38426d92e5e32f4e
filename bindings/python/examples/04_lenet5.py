"""Convolutions on tiles: a LeNet for the digits."""

import residuum.torch as rt
import torch
from _common import fit, images, small
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 4, 32), nn.Tanh(), nn.Linear(32, 10),
    )
    model = rt.convert(model, device={"preset": "idealized"}, rule="analog", readout="aihwkit")
    optimizer = rt.Optimizer(model.parameters(), lr=0.1)
    accuracy = fit(model, optimizer, images(samples=800 if small() else None), 6 if small() else 20)
    print(f"accuracy {accuracy:.1%}")
    assert accuracy > 0.3
    return accuracy


if __name__ == "__main__":
    main()
