"""A matrix on tiles as a parameter of torch."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np
import torch
from torch import Tensor

from .. import _seed
from .._residuum import TileMatrix, _Pair
from .._seed import manual_seed
from ._memory import plain

__all__ = ["TileParameter", "manual_seed"]

Tables = Mapping[str, Any]

def _refuse(must: str) -> ValueError:
    return ValueError(must)


class TileParameter(torch.nn.Parameter):
    """The handle of one matrix on tiles.

    It is a scalar of no meaning to torch: optimisers find the tiles by it, ``requires_grad_(False)`` freezes them, and its gradient
    counts the ``pairs`` of inputs and errors that the next step will write. ``matrix`` is the matrix itself.
    """

    matrix: TileMatrix
    tables: Tables
    outputs: int
    inputs: int
    scales: int
    pairs: list[_Pair]

    @staticmethod
    def __new__(cls, matrix: TileMatrix, tables: Tables, requires_grad: bool = True) -> TileParameter:
        self = torch.Tensor._make_subclass(cls, torch.zeros(()), requires_grad)
        self.matrix = matrix
        self.tables = tables
        self.outputs, self.inputs = matrix.shape
        self.scales = matrix.scales
        self.pairs = []
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        # All is done by __new__, whose arguments torch's own class would not understand.
        pass

    @classmethod
    def build(cls, weight: Tensor, tables: Tables, seed: int | None, name: str | None) -> TileParameter:
        """Puts `weight` (outputs × inputs) on tiles."""
        weight = plain(weight.detach(), "weight")
        seed = _seed.current() if seed is None else seed
        name = _seed.next_name() if name is None else name
        if not isinstance(name, str) or not name:
            raise _refuse(f"name must be text, got {name!r}")
        return cls(TileMatrix(dict(tables), weight.contiguous().numpy(), seed, name), tables)

    def accept(self) -> None:
        """Takes the value as it is, after torch itself has loaded or copied it. It is 0 unless something has stepped it, which is
        refused: that trains nothing."""
        with torch.no_grad():
            self.zero_()

    def state(self) -> dict[str, Any]:
        """Everything that a later step depends on, as tensors and plain values."""
        return {
            "seed": self.matrix.seed,
            "name": self.matrix.name,
            "shape": tuple(self.matrix.shape),
            "parameters": dict(self.matrix.parameters()),
            "tensors": {name: _signed(values) for name, values in self.matrix.tensors().items()},
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continues from a state, with the tiles it was taken from."""
        shape = tuple(state["shape"])
        if shape != (self.outputs, self.inputs):
            raise _refuse(f"the state of a tile must be of a matrix of {(self.outputs, self.inputs)}, got {shape}")
        own, given = self.matrix.parameters(), state["parameters"]
        for path in sorted({*own, *given}):
            if own.get(path) != given.get(path):
                raise _refuse(
                    f"the state of a tile must be of the same device, rule and readout: {path} is {own.get(path)} here "
                    f"and {given.get(path)} in the state"
                )
        # Cells are drawn again from the seed and the name, so that the tiles are those of the state.
        zeros = np.zeros(shape, np.float32)
        matrix = TileMatrix(dict(self.tables), zeros, state["seed"], state["name"])
        own = matrix.tensors()
        matrix.load({name: _unsigned(values, own.get(name)) for name, values in state["tensors"].items()})
        self.matrix = matrix
        self.pairs = []

    def __deepcopy__(self, memo: dict[int, Any]) -> TileParameter:
        if id(self) in memo:
            return memo[id(self)]
        copy = TileParameter(self.matrix.duplicate(), self.tables, self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, _: Any) -> Any:
        return _rebuild, (dict(self.tables), self.state(), self.requires_grad)

    def __repr__(self) -> str:
        return f"TileParameter({self.outputs} × {self.inputs}, rule={self.matrix.rule!r}, name={self.matrix.name!r}, seed={self.matrix.seed})"


def _rebuild(tables: Tables, state: Mapping[str, Any], requires_grad: bool) -> TileParameter:
    zeros = np.zeros(state["shape"], np.float32)
    matrix = TileMatrix(dict(tables), zeros, state["seed"], state["name"])
    own = matrix.tensors()
    matrix.load({name: _unsigned(values, own.get(name)) for name, values in state["tensors"].items()})
    return TileParameter(matrix, tables, requires_grad)


def _signed(values: np.ndarray) -> Tensor:
    """Counters as signed integers of the same bits, which every torch and every file of weights knows."""
    if values.dtype == np.uint64:
        values = values.view(np.int64)
    elif values.dtype == np.uint32:
        values = values.view(np.int32)
    return torch.from_numpy(values)


def _unsigned(values: Tensor, like: np.ndarray | None) -> np.ndarray:
    values = values.detach().cpu().numpy()
    if like is not None and like.dtype.kind == "u" and values.dtype.itemsize == like.dtype.itemsize:
        values = values.view(like.dtype)
    return values
