"""Optimisation and training on analog in-memory hardware.

NumPy level: ``Response``, ``Array``, ``Rule``, ``Problem``, ``minimize``, ``theory``.
Specs and results: ``run``, ``check``, ``explain``, ``report``, ``compare``, ``verify``, ``reproduce``, ``Store``.
PyTorch: ``residuum.torch``; configurations of AIHWKIT: ``residuum.aihwkit``.
Everything that is random takes a ``Key`` or a seed; the same seed gives the same bits on any number of threads.
"""

from . import theory
from ._residuum import (
    Array,
    Epoch,
    Explanation,
    Figure,
    Key,
    Problem,
    Records,
    Report,
    Reproduction,
    ResiduumError,
    Response,
    Rule,
    Run,
    Store,
    TileMatrix,
    Trial,
    Verification,
    __version__,
    check,
    explain,
    minimize,
    report,
    set_threads,
    threads,
)
from ._runs import compare, reproduce, run, verify
from ._seed import manual_seed

__all__ = [
    "Array",
    "Epoch",
    "Explanation",
    "Figure",
    "Key",
    "Problem",
    "Records",
    "Report",
    "Reproduction",
    "ResiduumError",
    "Response",
    "Rule",
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
    "minimize",
    "report",
    "reproduce",
    "run",
    "set_threads",
    "theory",
    "threads",
    "verify",
]
