"""Reads of tiles as functions that torch can differentiate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._residuum import backward as read_back
from .._residuum import forward as read_forward
from .._residuum import use_tensors
from ._memory import packed, parameter
from ._tile import TileParameter

use_tensors(torch.Tensor.__dlpack_c_exchange_api__)  # type: ignore[attr-defined]

_is_grad_enabled = torch.is_grad_enabled


class Read(torch.autograd.Function):
    """`x Wᵀ + b` for samples x in the last dimension of a tensor, through the converters of the tiles."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool
    ) -> Tensor:
        done = read_forward(tile, inputs, bias, scale, training)
        if done is None:
            inputs, done = _repacked(inputs, tile, bias, scale, training)
        outputs, ctx.passed = done
        ctx.save_for_backward(inputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        # Torch has switched gradients off unless a second derivative is wanted, which there is none of.
        if _is_grad_enabled():
            return _once(ctx, errors)
        (inputs,) = ctx.saved_tensors
        back = read_back(ctx.passed, inputs, errors, ctx.needs_input_grad)
        if back is None:
            back = read_back(ctx.passed, inputs, packed(errors, "errors"), ctx.needs_input_grad)
            if back is None:
                raise ValueError("errors must have memory of their own, got a tensor without")
        return back


def _repacked(inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool) -> Any:
    """The read once more, of inputs whose numbers lie one after the other, or what is wrong with a tensor."""
    inputs = packed(inputs, "inputs")
    parameter(bias, tile.outputs, "bias")
    parameter(scale, tile.scales, "output_scale")
    done = read_forward(tile, inputs, bias, scale, training)
    if done is None:
        raise ValueError("inputs must have memory of their own, got a tensor without")
    return inputs, done


_once = once_differentiable(Read.backward)

#: What torch's `Function.apply` calls in the end; before it come 6 µs of questions about functorch and default arguments.
_apply = super(torch.autograd.Function, Read).apply
# On the way back torch asks every time whether a function has `backward` or `vjp`.
Read._backward_cls.apply = Read.backward  # type: ignore[attr-defined]
_transformed = torch._C._are_functorch_transforms_active


class Unfold(torch.autograd.Function):
    """Images (samples, height, width, channels) to one row for each window: (samples, rows, columns, window · channels)."""

    @staticmethod
    def forward(
        ctx: Any, images: Tensor, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]
    ) -> Tensor:
        samples, height, width, channels = images.shape
        rows, cols = ((size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip((height, width), kernel, stride, dilation))
        steps = images.stride()
        windows = images.as_strided(
            (samples, rows, cols, *kernel, channels),
            (steps[0], steps[1] * stride[0], steps[2] * stride[1], steps[1] * dilation[0], steps[2] * dilation[1], 1),
        )
        ctx.sizes = height, width, kernel, stride, dilation
        return windows.reshape(samples, rows, cols, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        height, width, kernel, stride, dilation = ctx.sizes
        samples, rows, cols, _ = errors.shape
        # Torch folds with the channels outermost.
        errors = errors.view(samples, rows * cols, kernel[0] * kernel[1], -1).permute(0, 3, 2, 1)
        errors = errors.reshape(samples, -1, rows * cols)
        images = torch.nn.functional.fold(errors, (height, width), kernel, dilation, 0, stride)
        return images.permute(0, 2, 3, 1).contiguous(), None, None, None


def read(inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool) -> Tensor:
    """`x Wᵀ + b` for the last dimension of `inputs`. One function, for every call that Python makes on the way costs part of what the
    read of a small layer takes."""
    if _is_compiling():
        # torch.compile leaves it as it is: tiles are not torch's to trace.
        return _untraced(inputs, tile, bias, scale, training)
    if not _is_grad_enabled():
        done = read_forward(tile, inputs, bias, scale, training)
        return (_repacked(inputs, tile, bias, scale, training)[1] if done is None else done)[0]
    if _transformed():
        return Read.apply(inputs, tile, bias, scale, training)
    return _apply(inputs, tile, bias, scale, training)


_is_compiling = torch.compiler.is_compiling
# Only where torch compiles: the wrapper costs more than a read.
_untraced = torch.compiler.disable(read)
