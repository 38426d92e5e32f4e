"""Long work: the same as in Rust, with progress where the user looks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from . import _residuum
from ._notebook import in_notebook, progress
from ._residuum import Report, Reproduction, Run, Verification

Spec: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
"""A spec: a dict, the path of a TOML file, or the name of a built-in experiment such as ``"digits"``."""


def run(
    spec: Spec,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    profile: str | None = None,
    variant: str | Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    data: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Run:
    """Runs the trials of a spec that are not in the store yet, and prints the table.

    The store is the folder ``out``, by default ``runs/<experiment>``, the same as the command's: a trial that either has
    finished is not run again. ``jobs`` trials run at a time, ``seed`` replaces the seeds of the spec, ``variant`` selects
    points of a grid by name or pattern, ``shard=(i, n)`` takes every n-th trial from the i-th on, ``data`` is the folder of
    data sets. Ctrl-C stops cleanly; the same call continues. A trial that fails does not stop the others: see
    ``Run.failed``. In a notebook nothing is printed: the result shows itself.
    """
    variant = [variant] if isinstance(variant, str) else list(variant)
    spec = dict(spec) if isinstance(spec, Mapping) else spec
    done = _residuum.run(
        spec,
        out=out,
        jobs=jobs,
        seed=seed,
        profile=profile,
        variant=variant,
        shard=shard,
        data=data,
        quiet=quiet,
        show=progress(),
    )
    if not quiet and not in_notebook():
        print(done, end="")
    return done


def compare(
    a: Spec,
    b: Spec,
    *,
    out: str | os.PathLike[str] = os.path.join("runs", "compare"),
    trial_a: str | None = None,
    trial_b: str | None = None,
    metric: str | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    profile: str | None = None,
    data: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Report:
    """The effect of each difference between two specs, on the same seeds; the report's first table has the effects.

    ``trial_a`` and ``trial_b`` choose a point of a spec that has several. Trials are kept in the store ``out``.
    """
    return _residuum.compare(
        a,
        b,
        out=out,
        trial_a=trial_a,
        trial_b=trial_b,
        metric=metric,
        jobs=jobs,
        seed=seed,
        profile=profile,
        data=data,
        quiet=quiet,
        show=progress(),
    )


def verify(*claims: str, quick: bool = False, seed: int = 0, quiet: bool = False) -> Verification:
    """Measures the paper's definitions, lemmas and theorems, all or some by name."""
    return _residuum.verify(*claims, quick=quick, seed=seed, quiet=quiet, show=progress())


def reproduce(
    name: str,
    *,
    profile: str = "full",
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    data: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Reproduction:
    """Makes one figure or table of the paper, such as ``"fig-toy"``, its numbers beside ours.

    With ``out`` its files are written there. Networks are kept in ``store``.
    """
    return _residuum.reproduce(
        name,
        profile=profile,
        seed=seed,
        out=out,
        store=store,
        jobs=jobs,
        data=data,
        quiet=quiet,
        show=progress(),
    )
