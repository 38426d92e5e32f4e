"""Sequences of layers on tiles as one function for torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._residuum import chain_backward, chain_forward
from ._convert import _replace
from ._layers import AnalogLinear
from ._memory import packed
from ._read import _is_compiling, _is_grad_enabled, _transformed

#: What may stand between layers on tiles. Types are compared exactly: a subclass may do more than its parent.
FUNCTIONS: dict[type, str] = {nn.Sigmoid: "sigmoid", nn.Tanh: "tanh", nn.ReLU: "relu", nn.LogSoftmax: "log_softmax"}


class ReadChain(torch.autograd.Function):
    """Layers on tiles and the functions between them, on samples in the first dimension of a tensor."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, plan: list[str], matrices: list[Any], *parameters: Any) -> Tensor:
        outputs, ctx.passed = chain_forward(plan, matrices, inputs, parameters)
        ctx.tiles = parameters[::3]
        ctx.save_for_backward(inputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        # As that of a single read.
        return _once(ctx, errors) if _is_grad_enabled() else _backward(ctx, errors)


def _backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
    (inputs,) = ctx.saved_tensors
    tiles, passed, wanted = ctx.tiles, ctx.passed, ctx.needs_input_grad
    matrices = [tile.matrix for tile in tiles]
    back = chain_backward(passed, matrices, errors, wanted[0], wanted[3:])
    if back is None:
        back = chain_backward(passed, matrices, packed(errors, "errors"), wanted[0], wanted[3:])
    to_inputs, gradients, pairs = back
    if to_inputs is not None and inputs.dim() != 2:
        to_inputs = to_inputs.view(inputs.shape)
    for tile, pair in zip(tiles, pairs):
        if pair is not None:
            n, own, own_errors = pair
            tile.keep(n, inputs if own is None else own, own_errors)
    return to_inputs, None, None, *gradients


_once = once_differentiable(_backward)


class Fused(nn.Sequential):
    """``torch.nn.Sequential`` that reads layers on tiles and the functions between them in one call; see ``fuse``."""

    def forward(self, inputs: Tensor) -> Tensor:
        layers = self._modules.values()
        known = self.__dict__.get("_parts")
        if known is None or known[0] != [id(layer) for layer in layers]:
            # Layers were put in or taken out since.
            known = [id(layer) for layer in layers], _parts(list(layers))
            self.__dict__["_parts"] = known
        for plan, part in known[1]:
            inputs = part[0](inputs) if plan is None else _run(plan, part, inputs)
        return inputs

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_parts"}


def _parts(layers: list[nn.Module]) -> list[tuple[list[str] | None, list[nn.Module]]]:
    """The layers in runs that one call reads, each with the names of its stages; others alone, without."""
    parts: list[tuple[list[str] | None, list[nn.Module]]] = []
    for layer in layers:
        name = "tiles" if type(layer) is AnalogLinear else FUNCTIONS.get(type(layer))
        if name == "tiles" and parts and parts[-1][0] is None and _flattens(parts[-1][1][0]):
            # Samples lie one after the other, whatever their shape: to flatten them is to look at them so.
            parts[-1] = ["tiles"], [*parts[-1][1], layer]
            continue
        if isinstance(layer, nn.LogSoftmax) and layer.dim not in (1, -1):
            name = None
        if name is None:
            parts.append((None, [layer]))
        elif parts and parts[-1][0] is not None:
            parts[-1][0].append(name)
            parts[-1][1].append(layer)
        else:
            # A run begins with tiles: what comes before them is torch's own.
            parts.append(([name], [layer]) if name == "tiles" else (None, [layer]))
    return parts


def _flattens(layer: nn.Module) -> bool:
    return type(layer) is nn.Flatten and layer.start_dim == 1 and layer.end_dim == -1


def _run(plan: list[str], part: list[Any], inputs: Tensor) -> Tensor:
    """One run on one batch; layer by layer where something wants to see the layers, or the inputs are not plain samples."""
    parameters: list[Any] = []
    matrices = []
    dims = inputs.dim()
    plain = inputs.dtype is torch.float32 and inputs.is_cpu and inputs.is_contiguous() and not inputs.is_neg()
    plain = plain and (dims == 2 or dims > 2 and type(part[0]) is nn.Flatten)
    for layer in part:
        own = layer.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            plain = False
        if type(layer) is AnalogLinear:
            held = own["_parameters"]
            tile = held.get("tile")
            if tile is None or own["_retired"] is not None:
                plain = False
                break
            parameters += (tile, held["bias"], held["output_scale"])
            matrices.append((tile.matrix, own["training"]))
    if plain and not _is_compiling() and not _transformed():
        if _is_grad_enabled():
            return _apply(inputs, plan, matrices, *parameters)
        return chain_forward(plan, matrices, inputs, tuple(parameters))[0]
    for layer in part:
        inputs = layer(inputs)
    return inputs


_apply = super(torch.autograd.Function, ReadChain).apply
ReadChain._backward_cls.apply = ReadChain.backward  # type: ignore[attr-defined]


def fuse(model: nn.Module) -> nn.Module:
    """Makes one function for torch of the layers in a sequence that are on tiles and the functions between them, in place, and returns
    the model.

    Every ``nn.Sequential`` with ``AnalogLinear`` layers reads them together with ``Sigmoid``, ``Tanh``, ``ReLU`` and ``LogSoftmax``
    behind them, and a ``Flatten`` before them, in one call for each direction, where torch would spend more on a dozen small functions
    than the tiles take. Names, states, draws and pulses stay what they are. The functions are those of ``residuum run``
    (``residuum.torch.functional``), which differ from torch's in the last digit. Where a layer has hooks, or inputs are not one row for
    each sample, layers run one by one.
    """
    made: dict[int, nn.Module] = {}
    for module in model.modules():
        if type(module) is nn.Sequential and any(type(layer) is AnalogLinear for layer in module):
            fused = Fused()
            fused.__dict__.update(module.__dict__)
            made[id(module)] = fused
    if not made:
        raise ValueError("the model must have a torch.nn.Sequential with AnalogLinear layers, got none")
    return _replace(model, lambda module: made.get(id(module)))
