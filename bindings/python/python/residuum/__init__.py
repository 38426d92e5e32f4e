"""Optimisation and training on analog in-memory hardware.

Specs and results: ``run``, ``check``, ``explain``, ``report``, ``compare``, ``verify``, ``reproduce``, ``Store``.
PyTorch: ``residuum.torch``; configurations of AIHWKIT: ``residuum.aihwkit``.
Everything that is random takes a ``Key`` or a seed; the same seed gives the same bits on any number of threads.
"""

from ._residuum import (
    Epoch,
    Explanation,
    Figure,
    Key,
    Records,
    Report,
    Reproduction,
    ResiduumError,
    Run,
    Store,
    TileMatrix,
    Trial,
    Verification,
    __version__,
    check,
    explain,
    report,
    set_threads,
    threads,
)
from ._runs import compare, reproduce, run, verify
from ._seed import manual_seed

__all__ = [
    "Epoch",
    "Explanation",
    "Figure",
    "Key",
    "Records",
    "Report",
    "Reproduction",
    "ResiduumError",
    "Run",
    "Store",
    "TileMatrix",
    "Trial",
    "Verification",
    "__version__",
    "check",
    "compare",
    "explain",
    "manual_seed",
    "report",
    "reproduce",
    "run",
    "set_threads",
    "threads",
    "verify",
]
