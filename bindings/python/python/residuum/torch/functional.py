"""The functions between the layers of ``residuum run``, in the same bits.

Torch's own sigmoid, tanh and log-softmax differ from these in the last digit. With these, a network in torch whose layers are on tiles
does to the bit what a trial of the same seed and names does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._residuum import apply, apply_back, loss
from ._memory import plain

__all__ = ["cross_entropy", "log_softmax", "nll_loss", "relu", "sigmoid", "tanh"]


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, name: str) -> Tensor:
        flat = plain(inputs.detach(), "inputs").reshape(-1, inputs.shape[-1]).contiguous()
        outputs = torch.empty_like(flat)
        apply(name, flat.numpy(), outputs.numpy())
        outputs = outputs.view(inputs.shape)
        ctx.name = name
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor, None]:
        (outputs,) = ctx.saved_tensors
        outputs = outputs.detach().reshape(-1, outputs.shape[-1])
        errors_in = torch.empty_like(outputs)
        apply_back(ctx.name, outputs.numpy(), errors.reshape(outputs.shape).contiguous().numpy(), errors_in.numpy())
        return errors_in.view(errors.shape), None


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, labels: Tensor, name: str, smoothing: float) -> Tensor:
        scores = plain(scores.detach(), "scores").contiguous()
        errors = torch.empty_like(scores)
        value = loss(name, scores.numpy(), labels.to(torch.int64).contiguous().numpy(), errors.numpy(), smoothing)
        ctx.save_for_backward(errors)
        return torch.tensor(value, dtype=torch.float32)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        (errors,) = ctx.saved_tensors
        return errors * outer, None, None, None


def relu(inputs: Tensor) -> Tensor:
    """max(0, x)."""
    return _Function.apply(inputs, "relu")


def sigmoid(inputs: Tensor) -> Tensor:
    """1/(1 + e^−x)."""
    return _Function.apply(inputs, "sigmoid")


def tanh(inputs: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return _Function.apply(inputs, "tanh")


def log_softmax(inputs: Tensor) -> Tensor:
    """Logarithm of the softmax over the last dimension."""
    return _Function.apply(inputs, "log_softmax")


def nll_loss(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of the labels."""
    return _Loss.apply(log_probabilities, labels, "nll", 0.0)


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy of logits against labels."""
    return _Loss.apply(logits, labels, "cross_entropy", smoothing)
