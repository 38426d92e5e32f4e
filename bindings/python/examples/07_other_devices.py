"""The same layer on other devices: presets, several tiles as one, pairs that are only pulsed upwards."""

import residuum.torch as rt
import torch
from _common import regress, small

DEVICES = {
    "ReRAM (exponential steps)": {"preset": "reram_es"},
    "ReRAM (soft bounds)": {"preset": "reram_sb"},
    "three ECRAM tiles that share a weight": {"preset": "ecram", "cell": {"kind": "vector", "tiles": 3, "gains": [1.0, 0.5, 0.25]}},
    "a pair of PCM tiles with refresh": {"preset": "pcm", "cell": {"kind": "one_sided", "refresh": {"every": 20}}},
    "a formula": {"response": "formula", "q_plus": "(1 - w/0.6)^2", "q_minus": "(1 + w/0.6)^2", "range": [-0.6, 0.6], "pulse_step": 0.002},
}


def main():
    ends = {}
    for name, device in DEVICES.items():
        torch.manual_seed(0)
        layer = rt.AnalogLinear(4, 2, device=device, rule="analog", readout="aihwkit")
        first, last = regress(layer, rt.Optimizer(layer.parameters(), lr=0.1), 50 if small() else 200)
        print(f"{name}: loss {first:.3f} → {last:.4f}")
        assert last < 0.5 * first
        ends[name] = last
    return ends


if __name__ == "__main__":
    main()
