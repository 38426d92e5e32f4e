"""How an update becomes pulses: stochastic trains, deterministic ones, rounded counts, or none at all."""

import residuum.torch as rt
import torch
from _common import regress, small

DEVICE = {"response": "constant", "radius": 1.0, "pulse_step": 0.001, "cycle_noise": 0.3}


def main():
    ends = {}
    for scheme in ("stochastic", "deterministic", "mean_count", "expected"):
        torch.manual_seed(0)
        pulses = {"scheme": scheme} if scheme == "expected" else {"scheme": scheme, "length": 31}
        layer = rt.AnalogLinear(4, 2, device=DEVICE, rule={"kind": "analog", "pulses": pulses})
        first, last = regress(layer, rt.Optimizer(layer.parameters(), lr=0.1), 50 if small() else 200)
        print(f"{scheme}: loss {first:.3f} → {last:.4f} after {layer.pulses} pulses")
        assert last < 0.5 * first
        ends[scheme] = last
    return ends


if __name__ == "__main__":
    main()
