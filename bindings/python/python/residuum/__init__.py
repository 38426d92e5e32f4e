"""Optimisation and training on analog in-memory hardware."""

from ._residuum import Key, ResiduumError, __version__

__all__ = ["Key", "ResiduumError", "__version__"]
