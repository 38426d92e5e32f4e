"""A fully connected network on images: the embedded digits, or MNIST with --mnist."""

import sys

import residuum.torch as rt
import torch
from _common import fit, images, small
from torch import nn

DEVICE = {"response": "power", "shape": 1.0, "radius": 0.3, "states": 1200, "step_spread": 0.3, "cycle_noise": 0.3}
RULE = {"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.4, "symmetric_point": "zero"}


def main():
    torch.manual_seed(0)
    data = images("mnist" if "--mnist" in sys.argv else "digits")
    pixels = data[0][0][0].numel()
    hidden = 256 if "--mnist" in sys.argv else 32
    model = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.Sigmoid(), nn.Linear(hidden, 10))
    model = rt.convert(model, device=DEVICE, rule=RULE, readout="aihwkit", mapping={"output_scaling": "tile"})
    optimizer = rt.Optimizer(model.parameters(), lr=0.1, digital_lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    accuracy = fit(model, optimizer, data, 5 if small() else 30, schedulers=[scheduler])
    print(f"accuracy {accuracy:.1%}")
    assert accuracy > 0.7
    return accuracy


if __name__ == "__main__":
    main()
