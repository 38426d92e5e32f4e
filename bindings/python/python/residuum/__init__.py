"""Optimisation and training on analog in-memory hardware."""

from ._residuum import Epoch, Key, ResiduumError, TileMatrix, Trial, __version__, set_threads, threads
from ._seed import manual_seed

__all__ = ["Key", "ResiduumError", "__version__", "manual_seed"]
