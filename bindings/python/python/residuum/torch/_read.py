"""Reads of tiles as functions that torch can differentiate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._tile import TileParameter, plain



class Read(torch.autograd.Function):
    """`x Wᵀ + b` for samples x in the rows of a matrix, through the converters of the tiles."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, tile: TileParameter, bias: Tensor | None, training: bool) -> Tensor:
        matrix = tile.matrix
        rows = inputs.detach()
        outputs = torch.empty((rows.shape[0], matrix.shape[0]))
        ctx.n = matrix.read(
            rows.numpy(), outputs.numpy(), None if bias is None else bias.detach().numpy(), training
        )
        ctx.tile = tile
        ctx.save_for_backward(inputs)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, errors: Tensor) -> tuple[Tensor | None, ...]:
        (inputs,) = ctx.saved_tensors
        tile = ctx.tile
        want_inputs, want_tile, want_bias, _ = ctx.needs_input_grad
        errors = plain(errors, "errors").contiguous()
        input_errors = torch.empty_like(inputs) if want_inputs else None
        bias = torch.empty(errors.shape[1]) if want_bias else None
        tile.matrix.read_back(
            ctx.n,
            errors.numpy(),
            None if input_errors is None else input_errors.numpy(),
            None if bias is None else bias.numpy(),
        )
        pair = tile.keep(ctx.n, inputs.detach(), errors) if want_tile else None
        return input_errors, pair, bias, None


@torch.compiler.disable
def read(inputs: Tensor, tile: TileParameter, bias: Tensor | None, training: bool) -> Tensor:
    """`x Wᵀ + b` for the last dimension of `inputs`. torch.compile leaves it as it is: tiles are not torch's to trace."""
    plain(inputs, "inputs")
    tile.check()
    outputs, width = tile.matrix.shape
    if inputs.dim() == 0 or inputs.shape[-1] != width:
        raise ValueError(f"inputs must have {width} values in their last dimension, got the shape {tuple(inputs.shape)}")
    if inputs.dim() == 2 and inputs.is_contiguous():
        return Read.apply(inputs, tile, bias, training)
    shape = inputs.shape
    flat = inputs.reshape(-1, width).contiguous()
    return Read.apply(flat, tile, bias, training).view(*shape[:-1], outputs)
