"""Two layers on tiles with digital layers between them."""

import residuum.torch as rt
import torch
from _common import regress, small
from torch import nn

DEVICE = {"response": "soft_bounds", "radius": 0.6, "pulse_step": 0.001, "step_spread": 0.3, "cycle_noise": 0.3}


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Sigmoid(), nn.Linear(8, 2))
    model = rt.convert(model, device=DEVICE, rule="analog", readout="aihwkit")
    optimizer = rt.Optimizer(model.parameters(), lr=0.1, digital=torch.optim.Adam, digital_lr=0.01)
    first, last = regress(model, optimizer, 50 if small() else 200)
    print(f"loss {first:.3f} → {last:.4f}")
    assert last < 0.5 * first
    return last


if __name__ == "__main__":
    main()
