"""What a few hundred up and down pulses do to the cells of each preset."""

import residuum.torch as rt
import torch
from _common import small

PRESETS = ("reram_es", "reram_sb", "reram_array_om", "reram_array_hfo2", "capacitor", "ecram", "ecram_mo", "idealized", "gokmen_vlasov", "pcm")


def response(preset, pulses):
    """Mean weight of 100 cells after every pulse: up first, then down."""
    layer = rt.AnalogLinear(100, 1, bias=False, device={"preset": preset}, rule={"kind": "manhattan"})
    layer.set_weights(torch.zeros(1, 100))
    optimizer = rt.Optimizer(layer.parameters(), lr=1.0)
    curve = []
    for sign in (-1.0, 1.0):
        for _ in range(pulses):
            # The Manhattan rule sends one pulse against the sign of the gradient.
            optimizer.zero_grad()
            (sign * layer(torch.ones(1, 100))).sum().backward()
            optimizer.step()
            curve.append(layer.get_weights().mean().item())
    return curve


def main():
    pulses = 20 if small() else 400
    curves = {preset: response(preset, pulses) for preset in PRESETS}
    for preset, curve in curves.items():
        print(f"{preset:18} up to {max(curve):+.3f}, back to {curve[-1]:+.3f}")
        assert max(curve) > 0
    return curves


if __name__ == "__main__":
    main()
