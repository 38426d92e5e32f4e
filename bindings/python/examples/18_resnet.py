"""A small residual network: all convolutions on tiles, the stem digital."""

import residuum.torch as rt
import torch
from _common import fit, images, small
from torch import nn


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
        self.conv2, self.norm2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        same = inside == outside and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


def main():
    torch.manual_seed(0)
    width = 8 if small() else 16
    model = nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10),
    )
    model = rt.convert(model, device={"preset": "idealized"}, rule="analog", readout="aihwkit", exclude="0")
    optimizer = rt.Optimizer(model.parameters(), lr=0.05, digital=torch.optim.Adam, digital_lr=0.003)
    accuracy = fit(model, optimizer, images(samples=300 if small() else None), 5 if small() else 10)
    print(f"accuracy {accuracy:.1%}")
    assert accuracy > 0.2
    return accuracy


if __name__ == "__main__":
    main()
