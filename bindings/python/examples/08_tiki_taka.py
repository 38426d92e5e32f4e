"""Two arrays for each weight: Tiki-Taka, its successors, and Residual Learning."""

import residuum.torch as rt
import torch
from _common import regress, small

DEVICE = {"response": "soft_bounds", "radius": 1.0, "pulse_step": 0.001, "step_spread": 0.3, "cycle_noise": 0.3}
RULES = [
    {"kind": "tiki_taka", "transfer_rate": 0.1, "mixing": 0.5},
    {"kind": "tiki_taka_2", "transfer_rate": 1.0},
    {"kind": "chopped_tiki_taka", "transfer_rate": 1.0},
    {"kind": "agad", "transfer_rate": 1.0},
    {"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.5, "symmetric_point": "known"},
]


def main():
    ends = {}
    for rule in RULES:
        torch.manual_seed(0)
        layer = rt.AnalogLinear(4, 2, device=DEVICE, rule=rule, readout="aihwkit")
        first, last = regress(layer, rt.Optimizer(layer.parameters(), lr=0.1), 100 if small() else 400)
        print(f"{rule['kind']}: loss {first:.3f} → {last:.4f}")
        assert last < first
        ends[rule["kind"]] = last
    return ends


if __name__ == "__main__":
    main()
