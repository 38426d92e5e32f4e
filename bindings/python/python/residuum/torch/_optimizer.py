"""One optimiser for tiles and for everything digital."""

from __future__ import annotations

from typing import Any, Callable, Iterable

import torch
from torch import nn
from torch.optim.optimizer import _global_optimizer_post_hooks as _after_all
from torch.optim.optimizer import _global_optimizer_pre_hooks as _before_all

from .._residuum import write as write_tiles
from ._tile import TileParameter

#: What a group of tiles may say.
TILE_OPTIONS = ("params", "lr", "transfer_follows_lr")


class Optimizer(torch.optim.Optimizer):
    """Steps tiles by pulses and everything else by an optimiser of torch.

    ``params`` are those of a model, or groups of them; tiles are found among them. ``lr`` is the learning rate α of the tiles' rules,
    and of the digital parameters unless ``digital_lr`` is given. ``digital`` is a class of ``torch.optim``, a function that makes an
    optimiser of groups (``functools.partial(torch.optim.AdamW, weight_decay=0.01)``), or an optimiser that was made for the digital
    parameters already.

    A given group becomes two where it holds both kinds, so that each has its own ``lr`` for torch's schedulers. A transfer rate that is
    a number follows the schedule of its group: it is multiplied by ``lr`` over the ``lr`` the group began with, as ``residuum run``
    does it; ``"transfer_follows_lr": False`` in a group keeps it as it is.

    Momentum, weight decay and other options of torch act on digital parameters. For tiles they are part of the rule (``source``).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        *,
        digital: Callable[..., torch.optim.Optimizer] | torch.optim.Optimizer = torch.optim.SGD,
        digital_lr: float | None = None,
        **options: Any,
    ) -> None:
        if options:
            name = next(iter(options))
            raise TypeError(
                f"{name} must be given to the digital optimiser, for it has no effect on tiles: "
                f"digital=functools.partial(torch.optim.SGD, {name}=…); what a rule makes of gradients is its source"
            )
        self._digital: torch.optim.Optimizer | None = None
        self._made = False
        made = isinstance(digital, torch.optim.Optimizer)
        groups = _groups(params)
        if not groups:
            raise ValueError("params must not be empty")
        split: list[dict[str, Any]] = []
        for group in groups:
            split += _split(group, lr, lr if digital_lr is None else digital_lr)
        if made:
            split = self._beside(digital, split, digital_lr)
        if not any(_is_tiles(group) for group in split):
            raise ValueError("params must contain the tiles of analog layers, got digital parameters only: use torch.optim")
        super().__init__(split, {"lr": lr})
        own = [group for group in self.param_groups if not _is_tiles(group)]
        if made:
            self._digital = digital
        elif own:
            self._digital = digital(own, lr=lr if digital_lr is None else digital_lr)
            if isinstance(self._digital, torch.optim.LBFGS):
                raise ValueError("digital must take one gradient per step, got LBFGS, which would step the tiles several times")
        elif digital is not torch.optim.SGD or digital_lr is not None:
            raise ValueError("digital must not be given without digital parameters: all of params are tiles")
        self._made = True
        self._link()

    @staticmethod
    def _beside(digital: torch.optim.Optimizer, split: list[dict[str, Any]], digital_lr: float | None) -> list[dict[str, Any]]:
        """The groups of an optimiser that exists already, and those of tiles."""
        if digital_lr is not None:
            raise ValueError("digital_lr must not be given beside an optimiser that was made already: it has its own lr")
        known = {id(p) for group in digital.param_groups for p in group["params"]}
        if any(isinstance(p, TileParameter) for group in digital.param_groups for p in group["params"]):
            raise ValueError("digital must not hold tiles: it cannot step them")
        for group in split:
            if not _is_tiles(group) and any(id(p) not in known for p in group["params"]):
                raise ValueError("digital must hold every digital parameter of params, got one that it does not step")
        return [*digital.param_groups, *(group for group in split if _is_tiles(group))]

    def _link(self) -> None:
        """Both optimisers share their groups and states, so that a change of one is a change of the other."""
        if self._digital is not None:
            self._digital.param_groups = [group for group in self.param_groups if not _is_tiles(group)]
            self._digital.state = self.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, split as those of the constructor."""
        if not self._made:
            super().add_param_group(param_group)
            return
        own = self.defaults["lr"]
        for group in _split(dict(param_group), own, own if self._digital is None else self._digital.defaults["lr"]):
            if not _is_tiles(group):
                if self._digital is None:
                    raise ValueError("digital parameters must be among those the optimiser is made with: it has nothing to step them")
                self._digital.add_param_group(group)
            super().add_param_group(group)
        self._link()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Empties gradients, and the pairs of inputs and errors that tiles have kept."""
        if not set_to_none:
            super().zero_grad(set_to_none)
        for group in self.param_groups:
            if set_to_none:
                for p in group["params"]:
                    p.grad = None
            if _is_tiles(group):
                for tile in group["params"]:
                    tile.pairs.clear()

    # Makes a GradScaler hand over its scale instead of dividing gradients that are not there.
    _step_supports_amp_scaling = True

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of everything that has a gradient."""
        return _hooked_step(self, closure) if _is_watched(self) else self._step(closure)

    # Torch wraps a step to call hooks and to tell its profiler, for 20 µs where there are none: this one does so itself.
    step.hooked = True  # type: ignore[attr-defined]

    def _step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        own = self.__dict__
        if own.get("grad_scale") is not None or own.get("found_inf") is not None:
            raise RuntimeError("GradScaler must not be used with tiles: the errors they kept are scaled. Train in float32 without it")
        tiles = []
        for group in self.param_groups:
            if _is_tiles(group):
                lr, start = float(group["lr"]), group["begun_at_lr"]
                tiles.append((group["params"], lr, lr / start if group["transfer_follows_lr"] and start > 0.0 else 1.0))
        digital = self._digital
        plain = None if digital is None else _descent(digital)
        # One call for all. Nothing has been stepped if anything was refused.
        moved = write_tiles(tiles, plain or [])
        if plain is not None and moved is not None:
            # What torch's own steps in place leave behind: a graph that still needs the old values is told.
            _increment_version(moved)
        elif digital is not None:
            digital.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from a saved state; that of tiles is in the state of their model."""
        super().load_state_dict(state_dict)
        self._link()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_digital": self._digital, "_made": True}

    def __repr__(self) -> str:
        return f"{super().__repr__()}\ndigital: {self._digital!r}"


def _hooked_step(optimizer: Optimizer, closure: Callable[[], Any] | None) -> Any:
    """The step with torch's hooks and marks of its profiler around it."""
    wrapped = torch.optim.Optimizer.profile_hook_step(Optimizer._step)
    return wrapped(optimizer, closure)


def _is_watched(optimizer: torch.optim.Optimizer) -> bool:
    """Whether someone wants to know of a step."""
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _before_all
        or _after_all
        or torch.autograd._profiler_enabled()
    )


def _is_plain(group: dict[str, Any]) -> bool:
    """Whether a step of torch's SGD is w ← w − α g."""
    return (
        type(group["lr"]) is float
        and group["momentum"] == 0
        and group["weight_decay"] == 0
        and not group["maximize"]
        and not group["differentiable"]
        and group["fused"] is None
    )


#: Whether torch adds α g in one rounding, as ours does: its kernels for processors with vectors.
_rounds_once = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
_increment_version = torch._C._increment_version


def _descent(digital: torch.optim.Optimizer) -> list[tuple[list[torch.Tensor], float]] | None:
    """The parameters that a plain SGD would move, and how far; None if it does more than that. The step is then what SGD itself would
    do to the bit, without the 70 µs that it spends on finding out that there is no momentum; for a few biases that is most of the time."""
    if not _rounds_once or type(digital) is not torch.optim.SGD or "step" in digital.__dict__ or _is_watched(digital):
        return None
    groups = digital.param_groups
    return [(group["params"], group["lr"]) for group in groups] if all(map(_is_plain, groups)) else None


def _groups(params: Any) -> list[dict[str, Any]]:
    if isinstance(params, nn.Module):
        raise TypeError("params must be parameters, such as model.parameters(), got a module")
    if isinstance(params, torch.Tensor):
        raise TypeError("params must be several parameters or groups, got a tensor")
    given = list(params)
    if given and isinstance(given[0], dict):
        return [dict(group) for group in given]
    # Named parameters are taken without their names.
    return [{"params": [p[1] if isinstance(p, tuple) else p for p in given]}] if given else []


def _split(group: dict[str, Any], lr: float, digital_lr: float) -> list[dict[str, Any]]:
    """The digital parameters of a group, then its tiles."""
    params = group["params"]
    params = [params] if isinstance(params, torch.Tensor) else [p[1] if isinstance(p, tuple) else p for p in params]
    tiles = [p for p in params if isinstance(p, TileParameter)]
    others = [p for p in params if not isinstance(p, TileParameter)]
    options = {name: value for name, value in group.items() if name != "params"}
    if tiles and not others:
        for name in options:
            if name not in TILE_OPTIONS:
                raise ValueError(
                    f"{name} must not be given for a group of tiles, on which it has no effect: "
                    "decay, momentum and the like are part of the rule (its source, the decay of its device)"
                )
    split = []
    if others:
        own = {name: value for name, value in options.items() if name != "transfer_follows_lr"}
        split.append({"params": others, "lr": digital_lr, **own})
    if tiles:
        own = {name: value for name, value in options.items() if name in TILE_OPTIONS}
        split.append(_begin({"params": tiles, "lr": lr, **own}))
    return split


def _begin(group: dict[str, Any]) -> dict[str, Any]:
    lr = group["lr"]
    if not float(lr) >= 0.0:
        raise ValueError(f"lr must be zero or positive, got {lr}")
    group.setdefault("begun_at_lr", float(lr))
    group.setdefault("transfer_follows_lr", True)
    return group


def _is_tiles(group: dict[str, Any]) -> bool:
    """Groups of tiles know where their schedule began. (To ask a parameter for its type takes torch a microsecond.)"""
    return "begun_at_lr" in group
