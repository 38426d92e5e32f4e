"""A whole training step of a fused sequence in one call."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor, nn

from .._residuum import chain_loss
from ._fuse import Fused
from ._optimizer import Optimizer

#: Losses that a step can take, as functions and as modules.
LOSSES: dict[Any, str] = {
    nn.functional.nll_loss: "nll",
    nn.functional.cross_entropy: "cross_entropy",
    nn.functional.mse_loss: "mean_square",
    nn.NLLLoss: "nll",
    nn.CrossEntropyLoss: "cross_entropy",
    nn.MSELoss: "mean_square",
}


class TrainingStep:
    """Trains a fused sequence on one mini-batch: called with inputs and targets, it does what

    >>> optimizer.zero_grad()
    >>> loss(model(inputs), targets).backward()
    >>> optimizer.step()

    does, and returns the loss as a number. The way there, the loss and the way back are one call, without a graph of torch: for small
    layers torch's graph takes longer than the tiles. Draws, pulses and gradients are those of that loop; losses are computed as
    ``residuum run`` does (``residuum.torch.functional``), which differs from torch's in the last digit.

    ``model`` is a sequence that ``fuse`` has made, every layer of it: ``AnalogLinear``, ``Sigmoid``, ``Tanh``, ``ReLU`` and
    ``LogSoftmax``, after a ``Flatten``. ``loss`` is ``nll_loss``, ``cross_entropy`` or ``mse_loss`` of ``torch.nn.functional``, or
    their module with a mean over all samples. Whatever wants torch's graph (other layers, hooks, other losses) is refused: write the
    loop.
    """

    def __init__(self, model: nn.Module, loss: nn.Module | Callable[..., Tensor], optimizer: Optimizer) -> None:
        if not isinstance(model, Fused):
            raise TypeError(f"model must be a sequence that residuum.torch.fuse has made, got {type(model).__name__}")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer must be a residuum.torch.Optimizer, got {type(optimizer).__name__}")
        self.model, self.optimizer = model, optimizer
        self._loss, self._smoothing = _loss(loss)
        self._chain()

    def _chain(self) -> Any:
        parts = self.model.parts()
        if len(parts) != 1 or parts[0][0] is None:
            other = next((part[0] for chain, part in parts if chain is None), None)
            found = "two sequences" if other is None else type(other).__name__
            raise ValueError(
                "model must be one sequence of AnalogLinear layers with Sigmoid, Tanh, ReLU or LogSoftmax behind them, and a Flatten "
                f"before them, got {found}: write the loop"
            )
        return parts[0][0]

    def __call__(self, inputs: Tensor, targets: Tensor) -> float:
        chain = self._chain()
        arguments = chain.arguments(inputs) if isinstance(inputs, Tensor) else None
        if arguments is None:
            raise ValueError(
                "inputs must be float32 on the CPU, one row for each sample, and layers must be without hooks: write the loop"
            )
        wanted = [isinstance(given, Tensor) and given.requires_grad for given in arguments]
        parameters = [(n, given) for n, given in enumerate(arguments) if wanted[n]]
        for _, parameter in parameters:
            if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:  # type: ignore[attr-defined]
                raise ValueError("parameters must be without hooks, for no graph would call them: write the loop")
        self.optimizer.zero_grad()
        loss, gradients = chain_loss(chain, inputs, arguments[2:], self._loss, self._smoothing, targets, wanted)
        for n, parameter in parameters:
            # A layer that stands twice in the sequence has two gradients.
            known = parameter.grad
            parameter.grad = gradients[n] if known is None else known + gradients[n]
        self.optimizer.step()
        return loss


def _loss(loss: Any) -> tuple[str, float]:
    """The name of a loss, and its smoothing."""
    name = LOSSES.get(type(loss) if isinstance(loss, nn.Module) else loss)
    if name is None:
        raise ValueError(f"loss must be nll_loss, cross_entropy or mse_loss, or the module of one, got {loss!r}: write the loop")
    if isinstance(loss, nn.Module):
        asked = {"reduction": "mean", "weight": None, "ignore_index": -100}
        for option, must in asked.items():
            given = getattr(loss, option, must)
            if given is not must and given != must:
                raise ValueError(f"{option} of the loss must be {must}, got {given!r}: write the loop")
    return name, getattr(loss, "label_smoothing", 0.0)
