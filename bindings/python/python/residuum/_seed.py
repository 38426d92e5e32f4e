"""The seed of layers that are not given one."""

from __future__ import annotations

_seed = 0
_layers = 0


def manual_seed(seed: int) -> None:
    """Sets the seed of layers made from now on, and counts their names from the beginning.

    Device-to-device variation, pulses and noise of a layer depend on its seed and its name alone. The seed is 0 at first. Initial
    weights of torch's layers come from torch's own generator: see ``torch.manual_seed``.
    """
    global _seed, _layers
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be an integer from 0 to 2^64 - 1, got {seed!r}")
    _seed, _layers = seed, 0


def current() -> int:
    """The seed now."""
    return _seed


def next_name() -> str:
    """A name for a layer that was not given one: `layer0`, `layer1`, …"""
    global _layers
    _layers += 1
    return f"layer{_layers - 1}"
