"""Linear and convolutional layers whose weights live on tiles."""

from __future__ import annotations

import math
from typing import Any, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _seed
from ._memory import parameter, plain
from ._read import Unfold, read
from ._tile import Tables, TileParameter

Table = Any  # a dict as in a spec, or a word


def tables(device: Table, rule: Table, readout: Table, mapping: Table, ledger: bool) -> Tables:
    """The tables of a layer, as a spec has them."""
    given = {"device": device, "rule": rule, "readout": readout, "mapping": mapping, "ledger": ledger or None}
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

    def _set_up(self, weights: Sequence[Tensor], bias: Tensor | None, given: Tables, seed: int | None, name: str | None) -> None:
        """`weights` are the matrices, one for each group of channels, with a row for each output."""
        name = _seed.next_name() if name is None else name
        names = [name] if len(weights) == 1 else [f"{name}#{group}" for group in range(len(weights))]
        # What each group is called among the parameters: the first has the plain names.
        self._suffixes = [f"_{group}" if group else "" for group in range(len(weights))]
        built = [TileParameter.build(weight, given, seed, own) for weight, own in zip(weights, names)]
        for suffix, tile in zip(self._suffixes, built):
            self.register_parameter(f"tile{suffix}", tile)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = bias if isinstance(bias, nn.Parameter) else nn.Parameter(bias)
            parameter(self.bias, sum(tile.outputs for tile in built), "bias")
        # Scales of the outputs of tiles that the mapping asks for: digital, so torch learns them.
        for suffix, tile in zip(self._suffixes, built):
            scale = nn.Parameter(torch.ones(tile.scales)) if tile.scales else None
            self.register_parameter(f"output_scale{suffix}", scale)
        self._retired: str | None = None

    def _matrices(self) -> list[tuple[TileParameter, Tensor | None]]:
        """The tiles and output scales of each group."""
        return [(getattr(self, f"tile{suffix}"), getattr(self, f"output_scale{suffix}")) for suffix in self._suffixes]

    def _check(self) -> None:
        if self._retired is not None:
            raise RuntimeError(self._retired)

    def get_weights(self) -> Tensor:
        """A copy of the effective weights: what a noiseless read sees."""
        self._check()
        groups = []
        for tile, scale in self._matrices():
            if scale is not None:
                tile.matrix.set_scales(scale.detach().numpy())
            groups.append(self._from_matrix(torch.from_numpy(tile.matrix.weights())))
        return groups[0] if len(groups) == 1 else torch.cat(groups)

    def set_weights(self, weights: Tensor) -> None:
        """Programs the weights as closely as the cells allow."""
        self._check()
        weights = plain(weights.detach(), "weights")
        expected = self._weight_shape()
        if tuple(weights.shape) != expected:
            raise ValueError(f"weights must have the shape {expected}, got {tuple(weights.shape)}")
        if not torch.isfinite(weights).all():
            raise ValueError("weights must be finite, got one that is not")
        for (tile, scale), own in zip(self._matrices(), weights.chunk(len(self._suffixes))):
            tile.matrix.set_weights(self._to_matrix(own).contiguous().numpy())
            if scale is not None:
                scale.data.fill_(1.0)

    def tiles(self) -> list[dict[str, Any]]:
        """One dict for each tile: `rows` and `cols` of the matrix that it holds, and its `arrays` by name with their `weights`, `pulses`,
        and what is hidden from a rule: the `symmetric_point` and the drawn `parameters` of every cell. With `ledger=True` an array also
        has its `ledger`, the pulses that every cell has received."""
        self._check()
        groups = [tile.matrix.tiles() for tile, _ in self._matrices()]
        if len(groups) > 1:
            groups = [[{"group": group, **tile} for tile in own] for group, own in enumerate(groups)]
        return [tile for own in groups for tile in own]

    @property
    def pulses(self) -> int:
        """Pulses that the cells of this layer have received so far."""
        return sum(tile.matrix.pulses() for tile, _ in self._matrices())

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
        bounds = [tile.matrix.range for tile, _ in self._matrices()]
        known = [own for own in bounds if own is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if known else None

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            raise AttributeError(
                "the weights of an analog layer are on tiles: read them with get_weights(), program them with set_weights()"
            )
        return super().__getattr__(name)

    def get_extra_state(self) -> dict[str, Any]:
        states = [tile.state() for tile, _ in self._matrices()]
        return states[0] if len(states) == 1 else {"groups": states}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        tiles = [tile for tile, _ in self._matrices()]
        states = state.get("groups", [state])
        if len(states) != len(tiles):
            raise ValueError(f"the state of a layer must be of {len(tiles)} groups of channels, got {len(states)}")
        for tile, own in zip(tiles, states):
            tile.load(own)

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        tiles = {name: value for name, value in self._parameters.items() if isinstance(value, TileParameter)}
        super()._load_from_state_dict(*args, **options)
        # The handle itself says nothing; with assign=True torch would put a plain tensor in its place.
        self._parameters.update(tiles)
        for tile in tiles.values():
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
    are torch's. ``ledger`` counts the pulses of every cell. ``seed`` is that of ``residuum.manual_seed`` unless given, ``name`` a
    running number.
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
        ledger: bool = False,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _count("in_features", in_features)
        self.out_features = _count("out_features", out_features)
        weight = _uniform((out_features, in_features), in_features)
        start = _uniform((out_features,), in_features) if bias else None
        self._set_up([weight], start, tables(device, rule, readout, mapping, ledger), seed, name)

    @classmethod
    def from_digital(cls, layer: nn.Linear, given: Tables, seed: int | None, name: str | None) -> AnalogLinear:
        """The layer with its weights on tiles. The bias is the same parameter."""
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._set_up([layer.weight], layer.bias, given, seed, name)
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
        own = self._parameters
        try:
            # Straight from where torch keeps them: its way over __getattr__ takes a microsecond for each.
            tile, bias, scale = own["tile"], own["bias"], own["output_scale"]
        except KeyError:
            # Parametrised: torch has put a property in the place of one.
            tile, bias, scale = self.tile, self.bias, self.output_scale
        return read(inputs, tile, bias, scale, self.training)  # type: ignore[arg-type]

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
        ledger: bool = False,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        kind = nn.Conv1d if self.dims == 1 else nn.Conv2d
        # Torch checks the sizes and draws the weights.
        like = kind(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        self._like(like)
        self._set_up(self._by_group(like.weight), like.bias, tables(device, rule, readout, mapping, ledger), seed, name)

    @classmethod
    def from_digital(cls, layer: Any, given: Tables, seed: int | None, name: str | None) -> _AnalogConv:
        """The layer with its weights on tiles. The bias is the same parameter."""
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self._like(layer)
        self._set_up(self._by_group(layer.weight), layer.bias, given, seed, name)
        return self

    def _like(self, layer: Any) -> None:
        self.in_channels, self.out_channels, self.groups = layer.in_channels, layer.out_channels, layer.groups
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
            self.groups,
            bias=self.bias is not None,
            padding_mode=self.padding_mode,
        )
        layer.weight = nn.Parameter(self.get_weights(), self.tile.requires_grad)
        layer.bias = self.bias
        return layer

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _by_group(self, weights: Tensor) -> list[Tensor]:
        """A matrix for each group of channels, which does not see the others: each has tiles of its own."""
        return [self._to_matrix(own) for own in weights.detach().chunk(self.groups)]

    def _to_matrix(self, weights: Tensor) -> Tensor:
        # (outputs, channels, positions) → (outputs, positions, channels)
        return weights.movedim(1, -1).reshape(weights.shape[0], -1)

    def _from_matrix(self, matrix: Tensor) -> Tensor:
        sizes = self.out_channels // self.groups, *self.kernel_size, self.in_channels // self.groups
        return matrix.reshape(sizes).movedim(-1, 1).contiguous()

    def forward(self, images: Tensor) -> Tensor:
        if self._retired is not None:
            raise RuntimeError(self._retired)
        dims = self.dims
        plain(images, "inputs")
        if images.dim() not in (dims + 1, dims + 2) or images.shape[-1 - dims] != self.in_channels:
            raise ValueError(
                f"inputs must be images of {self.in_channels} channels, (samples, channels, {'height, width' if dims == 2 else 'length'}), "
                f"got the shape {tuple(images.shape)}"
            )
        alone = images.dim() == dims + 1
        if alone:
            images = images.unsqueeze(0)
        if self.groups == 1:
            outputs = read(self._unfold(images), self.tile, self.bias, self.output_scale, self.training)
        else:
            biases = [None] * self.groups if self.bias is None else self.bias.chunk(self.groups)
            parts = zip(self._matrices(), images.chunk(self.groups, 1), biases)
            outputs = torch.cat([read(self._unfold(own), tile, bias, scale, self.training) for (tile, scale), own, bias in parts], -1)
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
        if self.groups != 1:
            text += f", groups={self.groups}"
        return f"{text}, bias={self.bias is not None}, rule={self.tile.matrix.rule!r}"


class AnalogConv1d(_AnalogConv):
    """``torch.nn.Conv1d`` whose kernel lives on tiles; the bias is digital. Options as those of ``AnalogLinear``."""

    dims = 1


class AnalogConv2d(_AnalogConv):
    """``torch.nn.Conv2d`` whose kernel lives on tiles, those of each group its own; the bias is digital. Options as those of
    ``AnalogLinear``."""

    dims = 2
