"""Linear and convolutional layers whose weights live on tiles."""

from __future__ import annotations

import math
from typing import Any, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ._read import Unfold, read
from ._tile import Tables, TileParameter, plain

Table = Any  # a dict as in a spec, or a word


def tables(device: Table, rule: Table, readout: Table, mapping: Table) -> Tables:
    """The tables of a layer, as a spec has them."""
    given = {"device": device, "rule": rule, "readout": readout, "mapping": mapping}
    # A preset or a rule without options may be named by a word.
    if isinstance(device, str):
        given["device"] = {"preset": device}
    if isinstance(rule, str):
        given["rule"] = {"kind": rule}
    return {name: _plain(table) for name, table in given.items() if table is not None}


def _plain(value: Any) -> Any:
    """A copy of plain values, which later changes of the caller's dicts do not reach."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


class AnalogLayer(nn.Module):
    """What layers on tiles have in common: their tile, its weights, and how they are saved."""

    tile: TileParameter
    bias: nn.Parameter | None
    output_scale: nn.Parameter | None

    def _set_up(self, weight: Tensor, bias: Tensor | None, given: Tables, seed: int | None, name: str | None) -> None:
        """`weight` is the matrix: one row for each output."""
        self.tile = TileParameter.build(weight, given, seed, name)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = bias if isinstance(bias, nn.Parameter) else nn.Parameter(bias)
        # Scales of the outputs of tiles that the mapping asks for: digital, so torch learns them.
        count = self.tile.matrix.scales
        self.register_parameter("output_scale", nn.Parameter(torch.ones(count)) if count else None)
        self._retired: str | None = None

    def _check(self) -> None:
        if self._retired is not None:
            raise RuntimeError(self._retired)

    def get_weights(self) -> Tensor:
        """A copy of the effective weights: what a noiseless read sees."""
        self._check()
        if self.output_scale is not None:
            self.tile.matrix.set_scales(self.output_scale.detach().numpy())
        return self._from_matrix(torch.from_numpy(self.tile.matrix.weights()))

    def set_weights(self, weights: Tensor) -> None:
        """Programs the weights as closely as the cells allow."""
        self._check()
        weights = plain(weights.detach(), "weights")
        expected = self._weight_shape()
        if tuple(weights.shape) != expected:
            raise ValueError(f"weights must have the shape {expected}, got {tuple(weights.shape)}")
        self.tile.matrix.set_weights(self._to_matrix(weights).contiguous().numpy())
        if self.output_scale is not None:
            self.output_scale.data.fill_(1.0)

    def tiles(self) -> list[dict[str, Any]]:
        """One dict for each tile: `rows` and `cols` of the matrix that it holds, and its `arrays` by name with their `weights`, `pulses`,
        and what is hidden from a rule: the `symmetric_point` and the drawn `parameters` of every cell."""
        self._check()
        return self.tile.matrix.tiles()

    @property
    def pulses(self) -> int:
        """Pulses that the cells of this layer have received so far."""
        return self.tile.matrix.pulses()

    @property
    def energy(self) -> float:
        """Joules spent on these pulses; the device must say what one costs (`pulse_energy`)."""
        joules = self.tile.matrix.pulse_energy
        if joules is None:
            raise ValueError("device.pulse_energy must be given to tell an energy")
        return self.pulses * joules

    @property
    def range(self) -> tuple[float, float] | None:
        """The weights that the cells can hold, where their device gives them bounds."""
        bounds = self.tile.matrix.range
        return None if bounds is None else (bounds[0], bounds[1])

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            raise AttributeError(
                "the weights of an analog layer are on tiles: read them with get_weights(), program them with set_weights()"
            )
        return super().__getattr__(name)

    def get_extra_state(self) -> dict[str, Any]:
        return self.tile.state()

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.tile.load(state)

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        tile = self.tile
        super()._load_from_state_dict(*args, **options)
        # The handle itself says nothing; with assign=True torch would put a plain tensor in its place.
        self._parameters["tile"] = tile
        tile.accept()

    def _apply(self, fn: Any, recurse: bool = True) -> AnalogLayer:
        # What `.to(…)`, `.cuda()`, `.double()` do to every tensor of a model.
        probe = fn(torch.zeros(1))
        if probe.dtype is not torch.float32 or probe.device.type != "cpu":
            raise ValueError(
                f"a layer on tiles must stay float32 on the CPU, where tiles are simulated, got {probe.dtype} on {probe.device}"
            )
        return self

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.tile.outputs, self.tile.inputs)

    def _to_matrix(self, weights: Tensor) -> Tensor:
        return weights

    def _from_matrix(self, matrix: Tensor) -> Tensor:
        return matrix


def analog_layers(model: nn.Module) -> Iterator[tuple[str, AnalogLayer]]:
    """The layers of a model that are on tiles, with their names."""
    for name, module in model.named_modules():
        if isinstance(module, AnalogLayer):
            yield name, module


def _uniform(shape: Sequence[int], fan_in: int) -> Tensor:
    """Torch's own initial values, from torch's generator."""
    bound = 1.0 / math.sqrt(fan_in)
    return torch.empty(*shape).uniform_(-bound, bound)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    return value


class AnalogLinear(AnalogLayer):
    """``torch.nn.Linear`` whose matrix lives on tiles; the bias is digital.

    ``device``, ``rule``, ``readout`` and ``mapping`` are tables of a spec as dicts; a word names a preset or a rule. Initial weights
    are torch's. ``seed`` is that of ``residuum.manual_seed`` unless given, ``name`` a running number.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: Table,
        rule: Table,
        readout: Table = None,
        mapping: Table = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _count("in_features", in_features)
        self.out_features = _count("out_features", out_features)
        weight = _uniform((out_features, in_features), in_features)
        start = _uniform((out_features,), in_features) if bias else None
        self._set_up(weight, start, tables(device, rule, readout, mapping), seed, name)

    @classmethod
    def from_digital(cls, layer: nn.Linear, given: Tables, seed: int | None, name: str | None) -> AnalogLinear:
        """The layer with its weights on tiles. The bias is the same parameter."""
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._set_up(layer.weight, layer.bias, given, seed, name)
        return self

    def to_digital(self) -> nn.Linear:
        """A torch layer with the effective weights."""
        layer = nn.utils.skip_init(nn.Linear, self.in_features, self.out_features, bias=self.bias is not None)
        layer.weight = nn.Parameter(self.get_weights(), self.tile.requires_grad)
        layer.bias = self.bias
        return layer

    def forward(self, inputs: Tensor) -> Tensor:
        if self._retired is not None:
            raise RuntimeError(self._retired)
        return read(inputs, self.tile, self.bias, self.output_scale, self.training)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}, rule={self.tile.matrix.rule!r}"


class _AnalogConv(AnalogLayer):
    """A convolution: every window of an image is an input of the matrix, in the order (position, channel)."""

    dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        device: Table,
        rule: Table,
        readout: Table = None,
        mapping: Table = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        kind = nn.Conv1d if self.dims == 1 else nn.Conv2d
        # Torch checks the sizes and draws the weights.
        like = kind(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        self._like(like)
        self._set_up(self._to_matrix(like.weight.detach()), like.bias, tables(device, rule, readout, mapping), seed, name)

    @classmethod
    def from_digital(cls, layer: Any, given: Tables, seed: int | None, name: str | None) -> _AnalogConv:
        """The layer with its weights on tiles. The bias is the same parameter."""
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self._like(layer)
        self._set_up(self._to_matrix(layer.weight.detach()), layer.bias, given, seed, name)
        return self

    def _like(self, layer: Any) -> None:
        if layer.groups != 1:
            raise ValueError(f"groups must be 1 for a convolution on tiles, got {layer.groups}")
        self.in_channels, self.out_channels = layer.in_channels, layer.out_channels
        self.kernel_size, self.stride, self.dilation = layer.kernel_size, layer.stride, layer.dilation
        self.padding, self.padding_mode = layer.padding, layer.padding_mode
        # Of each side, last dimension first, as F.pad has it.
        self._pads = tuple(layer._reversed_padding_repeated_twice)

    def to_digital(self) -> Any:
        """A torch layer with the effective weights."""
        kind = nn.Conv1d if self.dims == 1 else nn.Conv2d
        layer = kind(
            self.in_channels,
            self.out_channels,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            bias=self.bias is not None,
            padding_mode=self.padding_mode,
        )
        layer.weight = nn.Parameter(self.get_weights(), self.tile.requires_grad)
        layer.bias = self.bias
        return layer

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels, *self.kernel_size)

    def _to_matrix(self, weights: Tensor) -> Tensor:
        # (outputs, channels, positions) → (outputs, positions, channels)
        return weights.movedim(1, -1).reshape(weights.shape[0], -1)

    def _from_matrix(self, matrix: Tensor) -> Tensor:
        return matrix.reshape(self.out_channels, *self.kernel_size, self.in_channels).movedim(-1, 1).contiguous()

    def forward(self, images: Tensor) -> Tensor:
        if self._retired is not None:
            raise RuntimeError(self._retired)
        dims = self.dims
        if images.dim() not in (dims + 1, dims + 2) or images.shape[-1 - dims] != self.in_channels:
            raise ValueError(
                f"inputs must be images of {self.in_channels} channels, (samples, channels, {'height, width' if dims == 2 else 'length'}), "
                f"got the shape {tuple(images.shape)}"
            )
        plain(images, "inputs")
        alone = images.dim() == dims + 1
        if alone:
            images = images.unsqueeze(0)
        windows = self._unfold(images)
        outputs = read(windows, self.tile, self.bias, self.output_scale, self.training)
        outputs = outputs.movedim(-1, 1)
        return outputs.squeeze(0) if alone else outputs

    def _unfold(self, images: Tensor) -> Tensor:
        """One row for each window: (samples, positions…, window · channels)."""
        if any(self._pads):
            mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
            images = F.pad(images, self._pads, mode=mode)
        if self.dims == 1:
            images = images.unsqueeze(2)
        images = images.permute(0, 2, 3, 1).contiguous()
        kernel, stride, dilation = ((1,) * (2 - self.dims) + tuple(v) for v in (self.kernel_size, self.stride, self.dilation))
        reach = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
        if any(size < need for size, need in zip(images.shape[1:3], reach)):
            sizes = tuple(images.shape[3 - self.dims : 3])
            raise ValueError(f"inputs with padding must cover a window of {reach[2 - self.dims :]}, got {sizes}")
        windows = Unfold.apply(images, kernel, stride, dilation)
        return windows.squeeze(1) if self.dims == 1 else windows

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{text}, bias={self.bias is not None}, rule={self.tile.matrix.rule!r}"


class AnalogConv1d(_AnalogConv):
    """``torch.nn.Conv1d`` whose kernel lives on tiles; the bias is digital. Options as those of ``AnalogLinear``."""

    dims = 1


class AnalogConv2d(_AnalogConv):
    """``torch.nn.Conv2d`` whose kernel lives on tiles; the bias is digital. Options as those of ``AnalogLinear``."""

    dims = 2
