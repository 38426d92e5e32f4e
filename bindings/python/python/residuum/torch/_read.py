"""Reads of tiles as functions that torch can differentiate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._residuum import backward as read_back
from .._residuum import forward as read_forward
from ._memory import address, packed
from ._tile import TileParameter

_from_numpy, _is_grad_enabled = torch.from_numpy, torch.is_grad_enabled


class Read(torch.autograd.Function):
    """`x Wᵀ + b` for samples x in the rows of a matrix, through the converters of the tiles."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool
    ) -> Tensor:
        # NumPy allocates faster than torch; both see the same memory.
        outputs, ctx.n, ctx.unscaled = _values(inputs, tile, bias, scale, training)
        ctx.tile = tile
        ctx.save_for_backward(inputs)
        return _from_numpy(outputs)

    @staticmethod
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        # Torch has switched gradients off unless a second derivative is wanted, which there is none of.
        return _once(ctx, errors) if _is_grad_enabled() else _backward(ctx, errors)


def _values(inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool) -> Any:
    matrix = tile.matrix
    return read_forward(
        matrix,
        inputs.data_ptr(),
        inputs.shape[0],
        address(bias, tile.outputs, "bias"),
        address(scale, tile.scales, "output_scale"),
        training,
    )


def _backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
    (inputs,) = ctx.saved_tensors
    tile = ctx.tile
    want_inputs, want_tile, want_bias, want_scale, _ = ctx.needs_input_grad
    errors = packed(errors, "errors")
    # A bias or a scale that is not there wants no gradient.
    back, bias, scale = read_back(
        tile.matrix, ctx.n, errors.data_ptr(), errors.shape[0], want_inputs, want_bias, ctx.unscaled if want_scale else None
    )
    return (
        _from_numpy(back) if want_inputs else None,
        tile.keep(ctx.n, inputs, errors) if want_tile else None,
        _from_numpy(bias) if want_bias else None,
        _from_numpy(scale) if want_scale else None,
        None,
    )


_once = once_differentiable(_backward)

#: What torch's `Function.apply` calls in the end; before it come 6 µs of questions about functorch and default arguments.
_apply = super(torch.autograd.Function, Read).apply
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
    if inputs.dtype is not torch.float32 or not inputs.is_cpu or not inputs.is_contiguous() or inputs.is_neg():
        inputs = packed(inputs, "inputs")
    if tile._version != tile.untouched:
        tile.check()
    shape = inputs.shape
    if not shape or shape[-1] != tile.inputs:
        raise ValueError(f"inputs must have {tile.inputs} values in their last dimension, got the shape {tuple(shape)}")
    if len(shape) != 2:
        return read(inputs.view(-1, tile.inputs), tile, bias, scale, training).view(*shape[:-1], tile.outputs)
    if not _is_grad_enabled():
        return _from_numpy(_values(inputs, tile, bias, scale, training)[0])
    if _transformed():
        return Read.apply(inputs, tile, bias, scale, training)
    return _apply(inputs, tile, bias, scale, training)


_is_compiling = torch.compiler.is_compiling
# Only where torch compiles: the wrapper costs more than a read.
_untraced = torch.compiler.disable(read)
