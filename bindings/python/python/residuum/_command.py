"""The command ``residuum``."""

import sys

from ._residuum import command


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    return command(["residuum", *sys.argv[1:]])
