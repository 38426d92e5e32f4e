"""Sequences of layers on tiles as one function for torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._residuum import _Chain, chain_backward, chain_forward
from ._convert import _replace
from ._layers import AnalogLinear
from ._memory import packed
from ._read import _is_compiling, _is_grad_enabled, _transformed

#: What may stand between layers on tiles. Types are compared exactly: a subclass may do more than its parent.
FUNCTIONS: dict[type, str] = {nn.Sigmoid: "sigmoid", nn.Tanh: "tanh", nn.ReLU: "relu", nn.LogSoftmax: "log_softmax"}


class ReadChain(torch.autograd.Function):
    """Layers on tiles and the functions between them, on samples in the first dimension of a tensor."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, chain: _Chain, *parameters: Any) -> Tensor:
        outputs, ctx.passed = chain_forward(chain, inputs, parameters)
        ctx.save_for_backward(inputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        # As that of a single read.
        if _is_grad_enabled():
            return _once(ctx, errors)
        (inputs,) = ctx.saved_tensors
        back = chain_backward(ctx.passed, inputs, errors, ctx.needs_input_grad)
        if back is None:
            back = chain_backward(ctx.passed, inputs, packed(errors, "errors"), ctx.needs_input_grad)
            if back is None:
                raise ValueError("errors must have memory of their own, got a tensor without")
        return back


_once = once_differentiable(ReadChain.backward)


class Fused(nn.Sequential):
    """``torch.nn.Sequential`` that reads layers on tiles and the functions between them in one call; see ``fuse``."""

    def parts(self) -> list[tuple[_Chain | None, list[nn.Module]]]:
        """The layers in runs that one call reads; others alone, without a chain."""
        layers = list(self._modules.values())
        known = self.__dict__.get("_parts")
        if known is None or known[0] != layers:
            # Layers were put in or taken out since.
            known = layers, _parts(layers)
            self.__dict__["_parts"] = known
        return known[1]

    def forward(self, inputs: Tensor) -> Tensor:
        for chain, part in self.parts():
            arguments = None
            if chain is not None and not _is_compiling() and not _transformed():
                arguments = chain.arguments(inputs)
            if arguments is None:
                # Something wants to see the layers, or the inputs are not plain samples.
                for layer in part:
                    inputs = layer(inputs)
            elif _is_grad_enabled():
                inputs = _apply(*arguments)
            else:
                inputs = chain_forward(chain, inputs, arguments[2:])[0]
        return inputs

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_parts"}


def _parts(layers: list[nn.Module]) -> list[tuple[_Chain | None, list[nn.Module]]]:
    runs: list[tuple[list[str], list[nn.Module]]] = []
    for layer in layers:
        name = "tiles" if type(layer) is AnalogLinear else FUNCTIONS.get(type(layer), "")
        if isinstance(layer, nn.LogSoftmax) and layer.dim not in (1, -1):
            name = ""
        if name == "" and _flattens(layer):
            # Samples lie one after the other, whatever their shape: to flatten them is to look at them so.
            runs.append((["flatten"], [layer]))
        elif runs and ("tiles" in runs[-1][0] and name or runs[-1][0] == ["flatten"] and name == "tiles"):
            runs[-1][0].append(name)
            runs[-1][1].append(layer)
        else:
            # A run begins with tiles: what comes before them is torch's own.
            runs.append(([name], [layer]))
    return [(_Chain(plan, part) if "tiles" in plan else None, part) for plan, part in runs]


def _flattens(layer: nn.Module) -> bool:
    return type(layer) is nn.Flatten and layer.start_dim == 1 and layer.end_dim == -1


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
