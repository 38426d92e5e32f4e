"""One linear layer on a tile, trained by pulses."""

import residuum
import residuum.torch as rt
import torch
from _common import regress, small


def main():
    torch.manual_seed(0)
    residuum.manual_seed(0)
    layer = rt.AnalogLinear(4, 2, device={"response": "constant", "radius": 0.6, "pulse_step": 0.001}, rule="analog", readout="aihwkit")
    optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
    first, last = regress(layer, optimizer, 50 if small() else 200)
    print(f"loss {first:.3f} → {last:.4f} after {layer.pulses} pulses")
    assert last < 0.3 * first
    return last


if __name__ == "__main__":
    main()
