"""A VGG-like network with batch norm: convolutions on tiles, norms and dropout digital."""

import residuum.torch as rt
import torch
from _common import fit, images, small
from torch import nn


def block(inside, outside):
    return [
        nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
        nn.Conv2d(outside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(), nn.MaxPool2d(2),
    ]


def main():
    torch.manual_seed(0)
    width = 8 if small() else 32
    model = nn.Sequential(
        *block(1, width), *block(width, 2 * width), nn.Flatten(), nn.Linear(8 * width, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)
    )
    # The last layer stays digital, as in many papers.
    last = str(len(model) - 1)
    model = rt.convert(model, device={"preset": "idealized"}, rule="analog", readout="aihwkit", exclude=last)
    optimizer = rt.Optimizer(model.parameters(), lr=0.05, digital=torch.optim.Adam, digital_lr=0.003)
    accuracy = fit(model, optimizer, images(samples=300 if small() else None), 5 if small() else 10)
    print(f"accuracy {accuracy:.1%}")
    assert accuracy > 0.3
    return accuracy


if __name__ == "__main__":
    main()
