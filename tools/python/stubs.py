"""Writes the type stubs of the part in Rust, from the signatures and comments that the built package carries.

    python tools/python/stubs.py [FILE]

Types come from the tables below, by the name of an argument or of what a method gives; a name that is in none of them is an error.
What is left as Any are values of specs and manifests, which may be any of JSON's, and tensors of torch, which the stubs do not import.
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
    "rules": "Sequence[Rule]", "problem": "Problem", "range": "tuple[float, float]", "shard": "tuple[int, int]",
    "device": "Device", "residual": "Device", "rule": "Table", "readout": "Table", "pulses": "Table", "spec": "Spec", "a": "Spec", "b": "Spec",
    "transfer_rate": "float | Sequence[float]", "observe": "Callable[[int, list[Rule]], object]", "show": "Callable[..., object]",
    "state": "dict[str, Any]", "words": "dict[str, Any]", "shape": "tuple[int, int]", "minimizer": "float", "noise": "float",
    "bounds": "dict[str, Any]", "scales": "npt.ArrayLike", "files": "dict[str, bytes]", "q_plus": "npt.ArrayLike", "q_minus": "npt.ArrayLike",
    "handle": "Any", "requested_schema": "object", "table": "object", "value": "Callable[[npt.NDArray[np.float64]], float]",
}
EXCEPT = {
    ("effective_weights", "out"): "npt.NDArray[Any]", ("of", "gradient"): "Callable[[npt.NDArray[np.float64]], npt.ArrayLike]",
    ("of", "noise"): "Table", ("Problem", "problem"): "Table", ("Problem", "noise"): "Table", ("of", "minimizer"): "npt.ArrayLike", ("command", "words"): "Sequence[str]",
    ("formula", "q_plus"): "str", ("formula", "q_minus"): "str", ("realized", "w"): "float",
    **{("tabulate", name): "Callable[[npt.NDArray[np.float64]], npt.ArrayLike]" for name in ("q_plus", "q_minus")},
    # Tensors, for residuum.torch alone: the stubs do not import torch.
    **{(name, argument): "Any" for name in ("forward", "backward", "chain_forward", "chain_backward", "chain_loss") for argument in ("inputs", "errors", "bias", "scales")},
    ("backward", "passed"): "_Pass", ("backward", "wanted"): "tuple[bool, ...]",
    ("__init__", "plan"): "list[str]", ("__init__", "layers"): "Sequence[object]", ("arguments", "inputs"): "Any",
    ("chain_forward", "chain"): "_Chain", ("chain_forward", "parameters"): "tuple[Any, ...]",
    ("chain_loss", "chain"): "_Chain", ("chain_loss", "parameters"): "tuple[Any, ...]", ("chain_loss", "targets"): "Any",
    ("chain_loss", "wanted"): "Sequence[bool]", ("chain_backward", "passed"): "_ChainPass", ("chain_backward", "wanted"): "tuple[bool, ...]",
    ("write", "tiles"): "Sequence[tuple[Any, float, float]]", ("write", "digital"): "Sequence[tuple[Any, float]]", ("_panic", "message"): "str", ("_panic", "watch"): "bool",
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
    ("Trial", "tensors"): "dict[str, Any]", ("Key", "normal"): "npt.NDArray[np.float64]", ("Key", "uniform"): "npt.NDArray[np.float64]",
    ("Key", "permutation"): "npt.NDArray[np.int64]",
    ("Array", "age"): "bool", ("Array", "_restore"): "Array", ("Rule", "_restore"): "Rule", ("Rule", "age"): "None",
    ("Array", "read"): "npt.NDArray[Any]", ("Array", "read_transposed"): "npt.NDArray[Any]", ("Array", "weights"): "npt.NDArray[Any]",
    ("Array", "symmetric_points"): "list[float | None]", ("Array", "range"): "tuple[float, float] | None",
    ("Rule", "range"): "tuple[float, float] | None", ("Rule", "effective_weights"): "npt.NDArray[Any]",
    ("Problem", "gradient"): "npt.NDArray[np.float64]", ("Problem", "value"): "float", ("Problem", "minimizer"): "npt.NDArray[np.float64] | None",
    ("Response", "range"): "tuple[float, float]", ("Response", "symmetric_point"): "float | None", ("Response", "to_dict"): "dict[str, Any]",
    ("Response", "realized"): "float", ("Response", "report"): "str", ("Response", "figure"): "Figure", ("Response", "table"): "Response",
    ("Run", "figure"): "Figure | None", ("Reproduction", "figure"): "Figure | None", ("Store", "trials"): "list[dict[str, Any]]",
    ("Report", "figures"): "dict[str, Figure]", ("Report", "tables"): "dict[str, str]",
    ("Reproduction", "files"): "list[pathlib.Path]", ("Reproduction", "findings"): "list[dict[str, Any]]",
    ("Run", "findings"): "list[str]", ("Run", "failed"): "list[dict[str, Any]]", ("Run", "store"): "Store",
    ("Store", "files"): "dict[str, bytes]", ("Store", "path"): "pathlib.Path", ("Store", "failures"): "list[dict[str, Any]]",
}
RESULTS = {
    "threads": "int", "minimize": "int", "command": "int", "run": "Run", "check": "dict[str, Any]", "explain": "Explanation", "report": "Report",
    "compare": "Report", "verify": "Verification", "reproduce": "Reproduction", "trials": "list[tuple[str, str, int]]", "set_threads": "None",
    "named": "Key", "fold": "Key", "from_word": "Key", "word": "int", "to_svg": "str", "to_png": "bytes", "save": "None", "_repr_svg_": "str",
    "_repr_html_": "str", "_repr_markdown_": "str", "to_html": "str", "to_markdown": "str", "to_latex": "str", "__repr__": "str", "__str__": "str",
    "__len__": "int", "__hash__": "int", "__eq__": "bool", "__ne__": "bool", "step": "None", "step_outer": "None", "increment": "None",
    "update": "None", "program": "None", "pulse_all": "None", "reset": "None", "load_state_dict": "None", "remove": "None",
    "state_dict": "dict[str, Any]", "bounds": "dict[str, Any]", "zero_shift": "dict[str, Any]", "states": "dict[str, Any]",
    "shape": "tuple[int, int]", "dtype": "str", "label": "str", "steps": "int", "pulses_sent": "int", "granularity": "float", "columns": "list[str]",
    "table": "str", "title": "str", "experiment": "str", "summary": "dict[str, int]", "records": "Records",
    "ids": "list[str]", "state": "str", "passed": "bool", "dim": "int", "adopt": "str", "create": "Store", "of": "Problem",
    "formula": "Response", "tabulate": "Response", "preset": "Response", "from_dict": "Response", "data": "dict[str, Any]",
    "to_pandas": "pandas.DataFrame", "to_polars": "polars.DataFrame", "use_tensors": "None", "_panic": "None", "apply": "None", "apply_back": "None",
    "loss": "float", "write": "list[Any] | None", "arguments": "tuple[Any, ...] | None", "spec_values": "dict[str, Any]", "coefficients": "dict[str, Any]", "practical_rates": "dict[str, float]",
    "drift_zeros": "list[tuple[float, bool]]", "mean_drift": "npt.NDArray[np.float64]", "gradient_magnitude": "npt.NDArray[np.float64]",
    "implicit_penalty": "dict[str, Any]", "predict_drift": "dict[str, npt.NDArray[np.float64]]", "stationary_law": "dict[str, float]",
    "zero_shift_cycle": "dict[str, float]", "__arrow_c_schema__": "object", "__arrow_c_stream__": "object",
    "__arrow_c_array__": "tuple[object, object]",
    "forward": "tuple[Any, _Pass] | None", "backward": "tuple[Any, ...] | None", "chain_forward": "tuple[Any, _ChainPass]",
    "chain_backward": "tuple[Any, ...] | None", "chain_loss": "tuple[float, tuple[Any, ...]]",
}
DUNDERS = ("__len__", "__hash__", "__eq__", "__iter__", "__next__", "__arrow_c_schema__", "__arrow_c_array__", "__arrow_c_stream__")
#: Functions of a number or of an array, which give what they are given.
EACH = ("asymmetry", "asymmetry_potential", "asymmetry_ratio", "gain", "q_minus", "q_plus")


STARRED = {"stores": "str | os.PathLike[str]", "claims": "str"}
HEAD = '''"""Made by tools/python/stubs.py from the package."""

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pandas
import polars

__version__: str

Table: TypeAlias = str | Mapping[str, Any]
Spec: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
Device: TypeAlias = "Response | Table"

class ResiduumError(ValueError): ...'''


def known(what: str, *tables: str | None) -> str:
    """The first table that has it."""
    found = next((kind for kind in tables if kind is not None), None)
    if found is None:
        raise SystemExit(f"{what} must have a type in the tables of tools/python/stubs.py")
    return found


def annotation(name: str, argument: inspect.Parameter) -> str:
    kind = known(f"{name}({argument.name})", EXCEPT.get((name, argument.name)), ARGUMENTS.get(argument.name))
    return f"{kind} | None" if argument.default is None and kind != "Any" else kind


def signature(own: str, thing: object, result: str) -> str:
    name = own
    words, starred = [], False
    parameters = inspect.signature(thing).parameters.values()
    name = "Problem" if thing is _residuum.Problem else name
    for p in parameters:
        if p.name in ("self", "cls", "slf"):
            words.append("self" if p.name != "cls" else "cls")
        elif p.kind is p.VAR_POSITIONAL:
            words.append(f"*{p.name}: {STARRED[p.name]}")
            starred = True
        elif p.kind is p.VAR_KEYWORD:
            words.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                words.append("*")
                starred = True
            default = "" if p.default is p.empty else " = ..."
            words.append(f"{p.name}: {annotation(name, p)}{default}")
    return f"def {own}({', '.join(words)}) -> {result}: ..."


def class_lines(name: str, kind: type) -> list[str]:
    lines = [f"class {name}:"]
    if name != "Key" and kind.__doc__ and kind.__text_signature__:
        lines.append("    " + signature("__init__", kind, "None").replace("__init__(", "__init__(self, ").replace("(self, )", "(self)"))
    elif name == "Key":
        lines.append("    def __init__(self, seed: int) -> None: ...")
    for member, value in sorted(vars(kind).items()):
        if member.startswith("__") and member not in DUNDERS:
            continue
        if member in EACH and name == "Response":
            lines += ["    @overload", f"    def {member}(self, w: float) -> float: ...", "    @overload"]
            lines.append(f"    def {member}(self, w: npt.ArrayLike) -> npt.NDArray[np.float64]: ...")
            continue
        result = known(f"{name}.{member}", OF_CLASS.get((name, member)), RESULTS.get(member))
        if member == "__eq__":
            lines.append("    def __eq__(self, other: object) -> bool: ...")
        elif member == "__hash__":
            if value is not None:
                lines.append("    def __hash__(self) -> int: ...")
        elif inspect.isgetsetdescriptor(value):
            lines += ["    @property", f"    def {member}(self) -> {result}: ..."]
        elif isinstance(value, classmethod) or type(value).__name__ == "classmethod_descriptor":
            text = signature(member, getattr(kind, member), result)
            text = text if "(cls" in text else text.replace("(", "(cls, ", 1).replace("(cls, )", "(cls)")
            lines += ["    @classmethod", "    " + text]
        elif isinstance(value, staticmethod):
            lines += ["    @staticmethod", "    " + signature(member, getattr(kind, member), result)]
        elif callable(value):
            text = signature(member, value, result)
            lines.append("    " + text)
    if name == "Trial":
        # One trial has one variant, a run has several.
        lines = [line.replace("variant: list[str]", "variant: str") for line in lines]
    return lines if len(lines) > 1 else [f"class {name}: ..."]


def main() -> None:
    lines = [HEAD]
    public = {name: getattr(_residuum, name) for name in dir(_residuum) if not name.startswith("__") and name != "ResiduumError"}
    for name, thing in sorted(public.items()):
        if inspect.isclass(thing):
            lines += ["", *class_lines(name, thing)]
    lines.append("")
    for name, thing in sorted(public.items()):
        if callable(thing) and not inspect.isclass(thing):
            lines.append(signature(name, thing, known(name, RESULTS.get(name))))
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
