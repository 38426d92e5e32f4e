"""Mixed precision: gradients are summed in digital memory, and whole pulses are sent when the sum is worth one."""

import residuum.torch as rt
import torch
from _common import regress, small

DEVICE = {"response": "soft_bounds", "radius": 1.0, "pulse_step": 0.001, "step_spread": 0.3, "cycle_noise": 0.3}


def main():
    torch.manual_seed(0)
    layer = rt.AnalogLinear(4, 2, device=DEVICE, rule={"kind": "mixed_precision"}, readout="aihwkit")
    first, last = regress(layer, rt.Optimizer(layer.parameters(), lr=0.1), 50 if small() else 200)
    print(f"loss {first:.3f} → {last:.4f} after {layer.pulses} pulses")
    assert last < 0.3 * first
    return last


if __name__ == "__main__":
    main()
