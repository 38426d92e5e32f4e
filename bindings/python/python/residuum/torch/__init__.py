"""Layers on tiles for PyTorch.

>>> import torch, residuum.torch as rt
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
>>> model = rt.convert(model, device={"preset": "ecram"}, rule={"kind": "tiki_taka", "transfer_rate": 0.1})
>>> optimizer = rt.Optimizer(model.parameters(), lr=0.1)

A layer's weights live on tiles: a forward pass reads them through converters, a backward pass reads the transpose and keeps the pairs
of inputs and errors, and the optimiser's step writes by pulses. Everything else (biases, norms, embeddings) stays in torch.
"""

from . import functional
from ._convert import convert, to_digital
from ._fuse import fuse
from ._layers import AnalogConv1d, AnalogConv2d, AnalogLayer, AnalogLinear, analog_layers
from ._optimizer import Optimizer
from ._tile import TileParameter, manual_seed
from ._train import TrainingStep

__all__ = [
    "AnalogConv1d",
    "AnalogConv2d",
    "AnalogLayer",
    "AnalogLinear",
    "Optimizer",
    "TileParameter",
    "TrainingStep",
    "analog_layers",
    "convert",
    "functional",
    "fuse",
    "manual_seed",
    "to_digital",
]
