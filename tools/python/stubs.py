"""Writes the type stubs of the part in Rust, from the signatures and comments that the built package carries.

    python tools/python/stubs.py [FILE]

Types come from the table below, by the name of an argument or of what a method gives; what is not in it is Any.
"""

from __future__ import annotations

import inspect
import pathlib
import sys

from residuum import _residuum

ARGUMENTS = {
    "seed": "int", "threads": "int", "count": "int", "index": "int", "word": "int", "steps": "int", "every": "int", "dim": "int",
    "jobs": "int", "points": "int", "pairs": "int", "averaged": "int", "first": "int", "last": "int",
    "name": "str", "id": "str", "band": "str", "title": "str", "by": "str", "metric": "str", "profile": "str", "dtype": "str",
    "trial_a": "str", "trial_b": "str", "response": "str",
    "path": "str | os.PathLike[str]", "out": "str | os.PathLike[str]", "data": "str | os.PathLike[str]", "store": "str | os.PathLike[str]",
    "quiet": "bool", "quick": "bool", "up": "bool", "key": "Key",
    "scale": "float", "curvature": "float", "deviation": "float", "mixing": "float", "learning_rate": "float", "smoothness": "float",
    "strong_convexity": "float", "pulse_step": "float", "cycle_noise": "float", "distance": "float", "gain": "float",
    "initial_lyapunov": "float", "tolerance": "float", "lo": "float", "hi": "float", "desired": "float",
    "variant": "list[str]", "metrics": "list[str]", "only": "list[str]",
    "errors": "npt.ArrayLike", "inputs": "npt.ArrayLike", "gradient": "npt.ArrayLike", "bias": "npt.ArrayLike", "initial": "npt.ArrayLike",
    "labels": "npt.ArrayLike", "scores": "npt.ArrayLike", "w": "npt.ArrayLike", "weights": "npt.ArrayLike", "direction": "npt.ArrayLike",
    "outputs": "npt.NDArray[Any]", "input_errors": "npt.NDArray[Any]", "unscaled": "npt.NDArray[Any]",
    "training": "bool", "n": "int", "samples": "int", "epoch": "int", "smoothing": "float", "tensors": "dict[str, Any]", "tables": "dict[str, Any]",
    "rules": "Sequence[Rule]", "problem": "Any", "range": "tuple[float, float]", "shard": "tuple[int, int]",
}
EXCEPT = {
    ("effective_weights", "out"): "Any", ("of", "gradient"): "Callable[..., Any]",
    # Tensors, for residuum.torch alone: the stubs do not import torch.
    **{(name, argument): "Any" for name in ("forward", "backward", "chain_forward", "chain_backward") for argument in ("inputs", "errors", "bias", "scales")},
    ("forward", "to"): "TileMatrix", ("backward", "to"): "TileMatrix", ("backward", "pass"): "_Pass", ("backward", "wanted"): "tuple[bool, ...]",
    ("chain_forward", "plan"): "list[str]", ("chain_forward", "matrices"): "list[tuple[TileMatrix, bool]]",
    ("chain_forward", "parameters"): "tuple[Any, ...]", ("chain_backward", "matrices"): "list[TileMatrix]",
    ("chain_backward", "pass"): "_ChainPass", ("chain_backward", "want_inputs"): "bool", ("chain_backward", "wanted"): "Sequence[bool]",
    ("write", "all"): "list[tuple[TileMatrix, Any, Any, Any, float, float]]", ("_panic", "message"): "str", ("_panic", "watch"): "bool",
}
#: What a member of one class gives, where its name alone does not say.
OF_CLASS = {
    ("TileMatrix", "read"): "int", ("TileMatrix", "read_back"): "None", ("TileMatrix", "weights"): "npt.NDArray[Any]",
    ("TileMatrix", "set_weights"): "None", ("TileMatrix", "set_scales"): "None", ("TileMatrix", "load"): "None",
    ("TileMatrix", "tensors"): "dict[str, Any]", ("TileMatrix", "tiles"): "list[dict[str, Any]]", ("TileMatrix", "parameters"): "dict[str, str]",
    ("TileMatrix", "duplicate"): "TileMatrix", ("TileMatrix", "k"): "int", ("TileMatrix", "seed"): "int", ("TileMatrix", "name"): "str",
    ("TileMatrix", "rule"): "str", ("TileMatrix", "scales"): "int", ("TileMatrix", "pulses"): "int",
    ("TileMatrix", "pulse_energy"): "float | None", ("TileMatrix", "range"): "list[float] | None",
    ("Epoch", "__iter__"): "Epoch", ("Epoch", "__next__"): "tuple[npt.NDArray[Any], npt.NDArray[Any]]",
    ("Trial", "batches"): "Epoch", ("Trial", "test"): "Epoch", ("Trial", "train"): "float", ("Trial", "evaluate"): "tuple[float, float]",
    ("Trial", "tensors"): "dict[str, Any]", ("Key", "normal"): "npt.NDArray[Any]", ("Key", "uniform"): "npt.NDArray[Any]",
    ("Key", "permutation"): "npt.NDArray[Any]",
}
RESULTS = {
    "threads": "int", "minimize": "int", "command": "int", "run": "Run", "check": "dict[str, Any]", "explain": "Explanation", "report": "Report",
    "compare": "Report", "verify": "Verification", "reproduce": "Reproduction", "trials": "list[tuple[str, str, int]]", "set_threads": "None",
    "named": "Key", "fold": "Key", "from_word": "Key", "word": "int", "to_svg": "str", "to_png": "bytes", "save": "None", "_repr_svg_": "str",
    "_repr_html_": "str", "_repr_markdown_": "str", "to_html": "str", "to_markdown": "str", "to_latex": "str", "__repr__": "str", "__str__": "str",
    "__len__": "int", "__hash__": "int", "__eq__": "bool", "__ne__": "bool", "step": "None", "step_outer": "None", "increment": "None",
    "update": "None", "program": "None", "pulse_all": "None", "reset": "None", "load_state_dict": "None", "remove": "None", "age": "Any",
    "state_dict": "dict[str, Any]", "bounds": "dict[str, Any]", "zero_shift": "dict[str, Any]", "states": "dict[str, Any]",
    "shape": "tuple[int, int]", "dtype": "str", "label": "str", "steps": "int", "pulses_sent": "int", "granularity": "float", "columns": "list[str]",
    "table": "str", "findings": "Any", "title": "str", "experiment": "str", "summary": "dict[str, int]", "records": "Records", "path": "Any",
    "ids": "list[str]", "state": "str", "passed": "bool", "dim": "int", "adopt": "str", "files": "Any", "create": "Store", "of": "Problem",
    "formula": "Response", "tabulate": "Response", "preset": "Response", "from_dict": "Response",
}


def annotation(name: str, argument: inspect.Parameter) -> str:
    kind = EXCEPT.get((name, argument.name)) or ARGUMENTS.get(argument.name, "Any")
    return f"{kind} | None" if argument.default is None and kind != "Any" else kind


def signature(name: str, thing: object, result: str, bound: bool) -> str:
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return f"def {name}(self, *arguments: Any, **options: Any) -> {result}: ..." if bound else f"def {name}(*arguments: Any, **options: Any) -> {result}: ..."
    words, starred = [], False
    for p in parameters:
        if p.name in ("self", "cls", "slf"):
            words.append("self" if p.name != "cls" else "cls")
        elif p.kind is p.VAR_POSITIONAL:
            words.append(f"*{p.name}: Any")
            starred = True
        elif p.kind is p.VAR_KEYWORD:
            words.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                words.append("*")
                starred = True
            default = "" if p.default is p.empty else " = ..."
            words.append(f"{p.name}: {annotation(name, p)}{default}")
    return f"def {name}({', '.join(words)}) -> {result}: ..."


def class_lines(name: str, kind: type) -> list[str]:
    lines = [f"class {name}:"]
    if name != "Key" and kind.__doc__ and kind.__text_signature__:
        lines.append("    " + signature("__init__", kind, "None", True).replace("__init__(", "__init__(self, ").replace("(self, )", "(self)"))
    elif name == "Key":
        lines.append("    def __init__(self, seed: int) -> None: ...")
    for member, value in sorted(vars(kind).items()):
        if member.startswith("__") and member not in ("__len__", "__hash__", "__eq__", "__iter__", "__next__"):
            continue
        result = "Figure | None" if member == "figure" and name in ("Run", "Reproduction") else RESULTS.get(member, "Any")
        result = OF_CLASS.get((name, member), result)
        if name in ("Store",) and member == "trials":
            result = "list[dict[str, Any]]"
        if name == "Response" and member == "figure":
            result = "Figure"
        if member == "table" and name == "Response":
            result = "Response"
        if member == "__eq__":
            lines.append("    def __eq__(self, other: object) -> bool: ...")
        elif member == "__hash__":
            if value is not None:
                lines.append("    def __hash__(self) -> int: ...")
        elif inspect.isgetsetdescriptor(value):
            lines += ["    @property", f"    def {member}(self) -> {result}: ..."]
        elif isinstance(value, classmethod) or type(value).__name__ == "classmethod_descriptor":
            text = signature(member, getattr(kind, member), result, False)
            text = text if "(cls" in text else text.replace("(", "(cls, ", 1).replace("(cls, )", "(cls)")
            lines += ["    @classmethod", "    " + text]
        elif isinstance(value, staticmethod):
            lines += ["    @staticmethod", "    " + signature(member, getattr(kind, member), result, False)]
        elif callable(value):
            text = signature(member, value, result, True)
            lines.append("    " + text)
    if name == "Trial":
        # One trial has one variant, a run has several.
        lines = [line.replace("variant: list[str]", "variant: str") for line in lines]
    return lines if len(lines) > 1 else [f"class {name}: ..."]


def main() -> None:
    lines = ['"""Made by tools/python/stubs.py from the package."""', "", "import os", "from collections.abc import Callable, Sequence", "from typing import Any", "", "import numpy.typing as npt", "", "__version__: str", "", "class ResiduumError(ValueError): ..."]
    public = {name: getattr(_residuum, name) for name in dir(_residuum) if not name.startswith("__") and name != "ResiduumError"}
    for name, thing in sorted(public.items()):
        if inspect.isclass(thing):
            lines += ["", *class_lines(name, thing)]
    lines.append("")
    for name, thing in sorted(public.items()):
        if callable(thing) and not inspect.isclass(thing):
            lines.append(signature(name, thing, RESULTS.get(name, "Any"), False))
    # Names that a later build adds are Any until the stubs are renewed.
    lines += ["", "def __getattr__(name: str) -> Any: ..."]
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
