"""Reads of tiles as functions that torch can differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._tile import TileParameter, plain


class Read(torch.autograd.Function):
    """`x Wᵀ + b` for samples x in the rows of a matrix, through the converters of the tiles."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool
    ) -> Tensor:
        values = inputs.detach().numpy() if inputs.requires_grad else inputs.numpy()
        # NumPy allocates faster than torch; both see the same memory.
        outputs = np.empty((values.shape[0], tile.outputs), np.float32)
        ctx.n, ctx.unscaled = tile.matrix.read(
            values,
            outputs,
            None if bias is None else bias.detach().numpy(),
            training,
            None if scale is None else scale.detach().numpy(),
        )
        ctx.tile = tile
        ctx.save_for_backward(inputs)
        return torch.from_numpy(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        (inputs,) = ctx.saved_tensors
        tile = ctx.tile
        want_inputs, want_tile, want_bias, want_scale, _ = ctx.needs_input_grad
        errors = plain(errors, "errors").contiguous()
        values = errors.numpy()
        input_errors = np.empty((values.shape[0], tile.inputs), np.float32) if want_inputs else None
        bias = np.empty(tile.outputs, np.float32) if want_bias else None
        tile.matrix.read_back(ctx.n, values, input_errors, bias)
        scale = torch.from_numpy(tile.matrix.scale_gradients(values, ctx.unscaled)) if want_scale else None
        pair = tile.keep(ctx.n, inputs.detach(), errors) if want_tile else None
        return (
            torch.from_numpy(input_errors) if want_inputs else None,
            pair,
            torch.from_numpy(bias) if want_bias else None,
            scale,
            None,
        )


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
    """`x Wᵀ + b` for the last dimension of `inputs`. torch.compile leaves it as it is: tiles are not torch's to trace."""
    if torch.compiler.is_compiling():
        return _untraced(inputs, tile, bias, scale, training)
    return _read(inputs, tile, bias, scale, training)


def _read(inputs: Tensor, tile: TileParameter, bias: Tensor | None, scale: Tensor | None, training: bool) -> Tensor:
    if inputs.dtype is not torch.float32 or not inputs.is_cpu:
        plain(inputs, "inputs")
    if tile._version != tile.untouched:
        tile.check()
    width = tile.inputs
    shape = inputs.shape
    if not shape or shape[-1] != width:
        raise ValueError(f"inputs must have {width} values in their last dimension, got the shape {tuple(shape)}")
    if len(shape) == 2 and inputs.is_contiguous():
        return Read.apply(inputs, tile, bias, scale, training)
    flat = inputs.reshape(-1, width).contiguous()
    return Read.apply(flat, tile, bias, scale, training).view(*shape[:-1], tile.outputs)


# Only where torch compiles: the wrapper costs more than a read.
_untraced = torch.compiler.disable(_read)
