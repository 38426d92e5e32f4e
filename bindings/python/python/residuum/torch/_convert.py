"""Models onto tiles and back."""

from __future__ import annotations

import fnmatch
import warnings
from typing import Any, Callable, Iterable, Union

from torch import nn

from ._layers import AnalogConv1d, AnalogConv2d, AnalogLayer, AnalogLinear, Table, tables

#: What becomes of a torch layer. Types are compared exactly: a subclass may do more than its parent.
KINDS: dict[type, Any] = {nn.Linear: AnalogLinear, nn.Conv1d: AnalogConv1d, nn.Conv2d: AnalogConv2d}

Choice = Union[str, type, Iterable[Union[str, type]], None]


def convert(
    model: nn.Module,
    *,
    device: Table,
    rule: Table,
    readout: Table = None,
    mapping: Table = None,
    ledger: bool = False,
    include: Choice = None,
    exclude: Choice = None,
    seed: int | None = None,
) -> nn.Module:
    """Puts the linear and convolutional layers of a model on tiles, in place, and returns the model.

    ``include`` and ``exclude`` choose layers by name (patterns such as ``"encoder.*"``) or type; all are included unless said. A choice
    that matches nothing is an error. A layer's draws depend on ``seed`` and on its name in the model, as in a trial of ``residuum run``.
    ``ledger`` counts the pulses of every cell, for ``tiles()``. Biases stay the same parameters. The layers that were replaced cannot be
    used any more, and an optimiser that was made before knows nothing of the tiles: make it afterwards.
    """
    given = tables(device, rule, readout, mapping, ledger)
    chosen = _chosen(model, include, exclude)
    # Everything is built before anything is replaced.
    built: dict[int, AnalogLayer] = {}
    for name, layer in chosen:
        if id(layer) not in built:
            try:
                built[id(layer)] = KINDS[type(layer)].from_digital(layer, given, seed, name or "layer")
            except ValueError as error:
                raise type(error)(f"{name or 'the layer'}: {error}") from None
            built[id(layer)].train(layer.training)
            if not layer.weight.requires_grad:
                for tile, _ in built[id(layer)]._matrices():
                    tile.requires_grad_(False)
    result = _replace(model, lambda layer: built.get(id(layer)))
    for _, layer in chosen:
        _retire(layer, "this layer was converted: its weights are on the tiles of the layer that replaced it")
    return result


def to_digital(model: nn.Module, *, include: Choice = None, exclude: Choice = None) -> nn.Module:
    """Puts layers on tiles back into digital memory with the effective weights they have, in place, and returns the model."""
    names = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, AnalogLayer)]
    chosen = _select(names, include, exclude)
    if not chosen:
        raise ValueError("the model must have layers on tiles, got one without")
    built = {id(layer): layer.to_digital().train(layer.training) for _, layer in chosen}
    result = _replace(model, lambda layer: built.get(id(layer)))
    for _, layer in chosen:
        layer._retired = "this layer was converted back: its weights are in the digital layer that replaced it"
    return result


def _chosen(model: nn.Module, include: Choice, exclude: Choice) -> list[tuple[str, nn.Module]]:
    every = list(model.named_modules(remove_duplicate=False))
    for name, layer in every:
        if isinstance(layer, nn.MultiheadAttention) and _matches(name, layer, _list(exclude)) is None:
            warnings.warn(
                f"{name or 'the model'}: torch.nn.MultiheadAttention multiplies with its weights directly and stays digital; "
                "compose attention of Linear layers to put it on tiles",
                stacklevel=3,
            )
    chosen = _select([(name, layer) for name, layer in every if type(layer) in KINDS], include, exclude)
    if not chosen:
        raise ValueError("the model must have a layer of type Linear, Conv1d or Conv2d to put on tiles, got none")
    return chosen


def _list(choice: Choice) -> list[Any]:
    if choice is None:
        return []
    return [choice] if isinstance(choice, (str, type)) else list(choice)


def _matches(name: str, layer: nn.Module, choices: list[Any]) -> Any:
    """The first choice that this layer matches."""
    for choice in choices:
        if isinstance(choice, str):
            if fnmatch.fnmatchcase(name, choice):
                return choice
        elif isinstance(choice, type):
            if isinstance(layer, choice):
                return choice
        else:
            raise TypeError(f"include and exclude must be patterns of names or types of layers, got {choice!r}")
    return None


def _select(named: list[tuple[str, Any]], include: Choice, exclude: Choice) -> list[tuple[str, Any]]:
    wanted, unwanted = _list(include), _list(exclude)
    for what, choices in (("include", wanted), ("exclude", unwanted)):
        for choice in choices:
            if not any(_matches(name, layer, [choice]) is not None for name, layer in named):
                names = ", ".join(name for name, _ in named) or "none"
                shown = choice if isinstance(choice, str) else getattr(choice, "__name__", choice)
                raise ValueError(f"{what} must match a layer, but {shown!r} matches none of: {names}")
    kept = named if include is None else [(n, layer) for n, layer in named if _matches(n, layer, wanted) is not None]
    return [(name, layer) for name, layer in kept if _matches(name, layer, unwanted) is None]


def _replace(model: nn.Module, by: Callable[[nn.Module], nn.Module | None]) -> nn.Module:
    own = by(model)
    if own is not None:
        return own
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            new = None if child is None else by(child)
            if new is not None:
                parent._modules[name] = new
    return model


def _retire(layer: nn.Module, sentence: str) -> None:
    def forward(*_: Any, **__: Any) -> Any:
        raise RuntimeError(sentence)

    layer.forward = forward  # type: ignore[method-assign]
