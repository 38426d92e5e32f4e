"""Progress in notebooks, where a kernel has no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this process; IPython in a terminal has a terminal's display."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def progress() -> Callable[[str], None] | None:
    """A function that shows a line in place of the last one, in a notebook; elsewhere None."""
    if not in_notebook():
        return None
    from IPython.display import display

    handle = None

    def show(line: str) -> None:
        nonlocal handle
        data = {"text/plain": line}
        if handle is None:
            if line:
                handle = display(data, raw=True, display_id=True)
        else:
            handle.update(data, raw=True)

    return show
