"""Tensors as the tiles take them, float32 numbers on the CPU that lie one after the other, and what to say of others."""

from __future__ import annotations

import torch
from torch import Tensor

_float32, _strided = torch.float32, torch.strided


def plain(values: Tensor, name: str) -> Tensor:
    """The tensor, if tiles can take it: float32 on the CPU."""
    if not isinstance(values, Tensor):
        raise TypeError(f"{name} must be a torch tensor, got {type(values).__name__}")
    if values.dtype is not _float32:
        hint = ""
        if values.dtype in (torch.bfloat16, torch.float16):
            hint = "; tiles do not take part in mixed precision: call .float() before the layer, or disable autocast around it"
        raise TypeError(f"{name} must be float32, got {values.dtype}{hint}")
    if values.device.type != "cpu":
        raise ValueError(f"{name} must be on the CPU, where tiles are simulated, got {values.device}")
    if values.layout is not _strided:
        raise TypeError(f"{name} must be a dense tensor, got {values.layout}")
    return values


def packed(values: Tensor, name: str) -> Tensor:
    """The tensor with its numbers one after the other; itself, if they are already."""
    if not isinstance(values, Tensor) or values.dtype is not _float32 or not values.is_cpu or values.layout is not _strided:
        plain(values, name)
    if values.is_neg():
        values = values.resolve_neg()
    return values if values.is_contiguous() else values.contiguous()


def parameter(values: Tensor | None, count: int, name: str) -> None:
    """Refuses a parameter that someone has bent."""
    if values is None:
        return
    plain(values, name)
    if values.numel() != count:
        raise ValueError(f"{name} must have {count} values, got the shape {tuple(values.shape)}")
    if not values.is_contiguous() or values.is_neg():
        raise ValueError(f"{name} must be contiguous, as torch makes it, got strides {values.stride()}")
