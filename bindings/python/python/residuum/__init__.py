"""Optimisation and training on analog in-memory hardware.

Specs and results: ``run``, ``check``, ``explain``, ``report``, ``compare``, ``verify``, ``reproduce``, ``Store``.
Everything that is random takes a ``Key`` or a seed; the same seed gives the same bits on any number of threads.
"""

from ._residuum import (
    Explanation,
    Figure,
    Key,
    Records,
    Report,
    Reproduction,
    ResiduumError,
    Run,
    Store,
    Verification,
    __version__,
    check,
    explain,
    report,
    set_threads,
    threads,
)
from ._runs import compare, reproduce, run, verify

__all__ = [
    "Explanation",
    "Figure",
    "Key",
    "Records",
    "Report",
    "Reproduction",
    "ResiduumError",
    "Run",
    "Store",
    "Verification",
    "__version__",
    "check",
    "compare",
    "explain",
    "report",
    "reproduce",
    "run",
    "set_threads",
    "threads",
    "verify",
]
