"""Configurations of IBM's AIHWKIT as tables of a spec.

>>> tables = residuum.aihwkit.from_rpu_config(rpu_config, lr=0.1)          # doctest: +SKIP
>>> model = residuum.torch.convert(model, **tables)                         # doctest: +SKIP
>>> optimizer = residuum.torch.Optimizer(model.parameters(), lr=0.1)        # doctest: +SKIP

Objects are read by their attributes, so AIHWKIT need not be installed. Pulses of the devices are reproduced exactly (docs/aihwkit.md has
the formulas); what has no counterpart is refused by name, never left out.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

__all__ = ["NotModelled", "from_rpu_config"]


class NotModelled(ValueError):
    """Settings of AIHWKIT without a counterpart here, all of them by name."""


#: Pulsed devices; presets derive from them.
DEVICES = (
    "ConstantStepDevice",
    "LinearStepDevice",
    "SoftBoundsPmaxDevice",
    "SoftBoundsDevice",
    "SoftBoundsReferenceDevice",
    "PowStepReferenceDevice",
    "PowStepDevice",
    "ExpStepDevice",
    "PiecewiseStepDevice",
)

#: Parameters that change no pulse: a tile has its key and its ledger.
NO_EFFECT = ("construction_seed", "count_pulses")


def from_rpu_config(config: Any, lr: float, batch_size: int | None = None) -> dict[str, Any]:
    """The tables ``device``, ``rule``, ``readout`` and ``mapping`` of a training configuration.

    ``lr`` is the learning rate that AnalogSGD would get: compounds multiply their transfer rate by it. ``batch_size`` is needed where
    AIHWKIT counts mini-batches and Residuum samples. Takes SingleRPUConfig, UnitCellRPUConfig and DigitalRankUpdateRPUConfig with
    pulsed devices, VectorUnitCell, ReferenceUnitCell, OneSidedUnitCell, TransferCompound, BufferedTransferCompound,
    ChoppedTransferCompound, DynamicTransferCompound and MixedPrecisionCompound.

    Raises NotModelled with everything that has no counterpart.
    """
    if not (isinstance(lr, (int, float)) and lr >= 0 and math.isfinite(lr)):
        raise ValueError(f"lr must be zero or positive, and finite, got {lr!r}")
    reader = _Reader(float(lr), batch_size)
    tables = reader.config(config)
    if reader.faults:
        raise NotModelled(f"{type(config).__name__} has no counterpart in Residuum: " + "; ".join(reader.faults))
    return tables


def _word(value: Any) -> str:
    """A member of an enumeration, or its name or value, in one spelling."""
    text = str(getattr(value, "name", value))
    return "".join(c for c in text.lower() if c.isalnum())


class _Reader:
    def __init__(self, lr: float, batch_size: int | None) -> None:
        self.lr = lr
        self.batch_size = batch_size
        self.faults: list[str] = []

    def fault(self, text: str) -> None:
        if text not in self.faults:
            self.faults.append(text)

    def need(self, of: Any, path: str, *allowed: Any) -> None:
        """A setting that only these values of ours stand for; one that is not there has its default."""
        name = path.rsplit(".", 1)[-1]
        value = getattr(of, name, allowed[0])
        value = list(value) if isinstance(value, (list, tuple)) else value
        if value not in allowed:
            self.fault(f"{path} must be {' or '.join(map(repr, allowed))}, got {value!r}")

    def config(self, config: Any) -> dict[str, Any]:
        for name in ("device", "forward", "backward", "update"):
            if not hasattr(config, name):
                self.fault(f"{type(config).__name__}.{name} is missing: a configuration for training is needed")
                return {}
        pre_post = getattr(config, "pre_post", None)
        if getattr(getattr(pre_post, "input_range", None), "enable", False):
            self.fault("pre_post.input_range.enable must be False")
        device, rule, transfer = self.device_and_rule(config)
        readout = {
            **self.io(config.forward, "forward"),
            "backward": self.io(config.backward, "backward"),
            **({"transfer": transfer} if transfer is not None else {}),
        }
        return {"device": device, "rule": rule, "readout": readout, "mapping": self.mapping(getattr(config, "mapping", None))}

    # Devices and rules

    def device_and_rule(self, config: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
        device, pulses = config.device, self.update(config.update, "update")
        kinds = [c.__name__ for c in type(device).__mro__]
        if "MixedPrecisionCompound" in kinds:
            return (*self.mixed_precision(device, pulses), None)
        for name, rule in (
            ("DynamicTransferCompound", "agad"),
            ("ChoppedTransferCompound", "chopped_tiki_taka"),
            ("BufferedTransferCompound", "tiki_taka_2"),
            ("TransferCompound", "tiki_taka"),
        ):
            if name in kinds:
                return self.transfer(device, rule, pulses, config)
        return self.cell(device, "device"), {"kind": "analog", "pulses": pulses}, None

    def cell(self, device: Any, path: str) -> dict[str, Any]:
        """A single device, or several tiles that act as one array."""
        kinds = [c.__name__ for c in type(device).__mro__]
        if "ReferenceUnitCell" in kinds:
            self.need(device, f"{path}.gamma_vec", [1.0, -1.0], [])
            self.need(device, f"{path}.first_update_idx", 0)
            return {**self.alike(device.unit_cell_devices, path), "cell": {"kind": "reference"}}
        if "VectorUnitCell" in kinds:
            return self.vector(device)
        if "OneSidedUnitCell" in kinds:
            return self.one_sided(device)
        return self.device(device, path)

    def device(self, device: Any, path: str) -> dict[str, Any]:
        kinds = [c.__name__ for c in type(device).__mro__]
        name = next((kind for kind in kinds if kind in DEVICES), None)
        if name is None:
            self.fault(f"{path} of class {kinds[0]} is not a pulsed device that Residuum models")
            return {}
        parameters: dict[str, Any] = {"class": name}
        names = [f.name for f in dataclasses.fields(device)] if dataclasses.is_dataclass(device) else list(vars(device))
        for field in names:
            value = getattr(device, field)
            if field in NO_EFFECT or field.startswith("_") or value is None:
                continue
            if field == "drift":
                nu = getattr(value, "nu", 0.0)
                if nu:
                    self.fault(f"{path}.drift.nu must be 0: give drift in seconds with device.drift instead, got {nu}")
                continue
            if isinstance(value, (bool, int, float)):
                parameters[field] = value
            elif isinstance(value, (list, tuple)):
                parameters[field] = [float(x) for x in value]
            else:
                self.fault(f"{path}.{field} must be a number, a truth value or a list, got {value!r}")
        return {"aihwkit": parameters}

    def alike(self, devices: Any, path: str) -> dict[str, Any]:
        """The one device of all tiles of a unit cell."""
        tables = [self.device(device, f"{path}.unit_cell_devices[{n}]") for n, device in enumerate(devices)]
        if not tables:
            self.fault(f"{path}.unit_cell_devices must not be empty")
            return {}
        if any(table != tables[0] for table in tables):
            self.fault(f"{path}.unit_cell_devices must be alike: the tiles of a cell have one device")
        return tables[0]

    def vector(self, cell: Any) -> dict[str, Any]:
        table, count = self.alike(cell.unit_cell_devices, "device"), len(cell.unit_cell_devices)
        policies = {
            "all": "all",
            "singlefixed": {"fixed": int(getattr(cell, "first_update_idx", 0))},
            "singlesequential": "sequential",
            "singlerandom": "random",
        }
        policy = policies.get(_word(cell.update_policy))
        if policy is None:
            self.fault(f"device.update_policy must be one of {', '.join(policies)}, got {cell.update_policy!r}")
        own = {"kind": "vector", "tiles": count, "policy": policy}
        if len(cell.gamma_vec):
            own["gains"] = [float(gain) for gain in cell.gamma_vec]
        return {**table, "cell": own}

    def one_sided(self, cell: Any) -> dict[str, Any]:
        self.need(cell, "device.copy_inverted", False)
        table, own = self.alike(cell.unit_cell_devices, "device"), {"kind": "one_sided"}
        every = int(getattr(cell, "refresh_every", 0))
        if every > 0:
            if getattr(cell, "units_in_mbatch", True):
                if self.batch_size is None:
                    self.fault("device.refresh_every counts mini-batches: give batch_size")
                every *= self.batch_size or 1
            own["refresh"] = {
                "every": every,
                "upper": float(cell.refresh_upper_thres),
                "lower": float(cell.refresh_lower_thres),
            }
        return {**table, "cell": own}

    def mixed_precision(self, cell: Any, pulses: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        for name, allowed in (("n_rows_per_transfer", -1), ("random_row", False), ("transfer_lr", 1.0)):
            self.need(cell, f"device.{name}", allowed)
        table = self.cell(cell.device, "device.device")
        rule: dict[str, Any] = {"kind": "mixed_precision", "every": {"samples": int(cell.transfer_every)}, "pulses": pulses}
        if cell.granularity > 0:
            rule["granularity"] = float(cell.granularity)
        for name, bins, rounding in (("errors", "n_d_bins", "stoc_round_d"), ("inputs", "n_x_bins", "stoc_round_x")):
            if getattr(cell, bins, 0) > 0:
                rule[f"quantize_{name}"] = {"levels": int(getattr(cell, bins)), "stochastic": bool(getattr(cell, rounding))}
        return table, rule

    def transfer(
        self, cell: Any, kind: str, pulses: dict[str, Any], config: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        devices = list(cell.unit_cell_devices)
        if len(devices) != 2:
            self.fault(f"device.unit_cell_devices must be two, the fast and the slow one, got {len(devices)}")
            devices = (devices * 2)[:2]
        table = {
            "residual": self.device(devices[0], "device.unit_cell_devices[0]"),
            "main": self.device(devices[1], "device.unit_cell_devices[1]"),
        }
        for name, allowed in (
            ("gamma_vec", []),
            ("transfer_every_vec", []),
            ("transfer_lr_vec", []),
            ("with_reset_prob", 0.0),
            ("transfer_columns", True),
            ("no_self_transfer", True),
        ):
            self.need(cell, f"device.{name}", allowed)
        rule: dict[str, Any] = {"kind": kind, "pulses": pulses, "columns": int(cell.n_reads_per_transfer)}
        rule["order"] = "random" if getattr(cell, "random_selection", False) else "cyclic"
        every = float(cell.transfer_every)
        if every < 1 or every != int(every):
            self.fault(f"device.transfer_every must be a whole number of at least 1, got {cell.transfer_every}")
        rule["every"] = int(every) if getattr(cell, "units_in_mbatch", False) else {"samples": max(int(every), 1)}
        # AIHWKIT's fast array has a rate of its own, which no schedule reaches.
        if cell.fast_lr > 0:
            rule["learning_rate"] = {"constant": float(cell.fast_lr)}
        rate = float(cell.transfer_lr)
        rule["transfer_rate"] = rate * self.lr if getattr(cell, "scale_transfer_lr", True) else {"constant": rate}
        if kind in ("tiki_taka", "tiki_taka_2"):
            rule["mixing"] = float(cell.gamma)
        else:
            self.need(cell, "device.gamma", 0.0)
        longest = int(cell.transfer_update.desired_bl)
        if kind == "tiki_taka":
            rule["transfer_pulses"] = self.update(cell.transfer_update, "device.transfer_update")
        else:
            self.update(cell.transfer_update, "device.transfer_update")
            self.need(cell, "device.step", 1.0)
            rule["buffer"] = {
                "momentum": float(cell.momentum),
                "forget": bool(cell.forget_buffer),
                "max_pulses": longest,
            }
        if kind == "tiki_taka_2":
            self.need(cell, "device.thres_scale", 1.0)
        if kind in ("chopped_tiki_taka", "agad"):
            for name, allowed in (
                ("buffer_granularity", 1.0),
                ("auto_granularity", 0.0),
                ("no_buffer", False),
                ("correct_gradient_magnitudes", False),
                ("experimental_correct_accumulation", False),
                ("buffer_cap", 0.0),
            ):
                self.need(cell, f"device.{name}", allowed)
            rule["chop"] = {
                "columns": float(cell.in_chop_prob),
                "rows": float(cell.out_chop_prob),
                "regular": not cell.in_chop_random,
            }
            if cell.auto_scale:
                rule["auto_scale"] = {"momentum": float(cell.auto_momentum), "length": int(config.update.desired_bl)}
        if kind == "agad":
            rule["tail_weight"] = float(cell.tail_weightening)
        return table, rule, self.io(cell.transfer_forward, "device.transfer_forward")

    # Pulses

    def update(self, update: Any, path: str) -> dict[str, Any]:
        schemes = {
            "stochasticcompressed": "stochastic",
            "stochastic": "stochastic",
            "deterministicimplicit": "deterministic",
            "meancount": "mean_count",
        }
        scheme = schemes.get(_word(update.pulse_type))
        if scheme is None:
            self.fault(f"{path}.pulse_type must be one of StochasticCompressed, Stochastic, DeterministicImplicit, MeanCount, got {update.pulse_type!r}")
        for name, allowed in (
            ("res", (0, 0.0, -1)),
            ("x_res_implicit", (0, 0.0)),
            ("d_res_implicit", (0, 0.0)),
            ("sto_round", (False,)),
            ("d_sparsity", (False,)),
            ("um_grad_scale", (1.0,)),
        ):
            self.need(update, f"{path}.{name}", *allowed)
        lengths = bool(update.update_bl_management)
        if not lengths:
            self.need(update, f"{path}.fixed_bl", True)
        length = int(update.desired_bl)
        if not 1 <= length <= 31:
            self.fault(f"{path}.desired_bl must be from 1 to 31, got {length}")
        management = "length" if lengths else "scale" if update.update_management else "fixed"
        return {"scheme": scheme, "length": length, "management": management}

    # Converters

    def io(self, io: Any, path: str) -> dict[str, Any]:
        ideal: dict[str, Any] = {"preset": "ideal"}
        if getattr(io, "is_perfect", False):
            return ideal
        passes = {"onepass": "one", "posnegseparate": "signs_analog", "posnegseparatedigitalsum": "signs_digital"}
        mode = passes.get(_word(getattr(io, "mv_type", "OnePass")))
        if mode is None:
            self.fault(f"{path}.mv_type must be OnePass, PosNegSeparate or PosNegSeparateDigitalSum, got {io.mv_type!r}")
        self.need(io, f"{path}.out_scale", 1.0)
        table = {
            **ideal,
            "input": self.converter(io, "inp", path),
            "output": self.converter(io, "out", path),
            "passes": mode,
            "noise_management": self.noise_management(io, path),
            "bound_management": self.bound_management(io, path),
        }
        noise = float(getattr(io, "w_noise", 0.0))
        kinds = {"none": None, "additiveconstant": "constant", "pcmread": "phase_change"}
        kind = _word(getattr(io, "w_noise_type", "None"))
        if kind not in kinds:
            self.fault(f"{path}.w_noise_type must be None, AdditiveConstant or PCMRead, got {io.w_noise_type!r}")
        elif noise > 0 and kinds[kind] is not None:
            table.update(weight_noise=noise, weight_noise_kind=kinds[kind])
        if getattr(io, "ir_drop", 0.0) > 0:
            table["ir_drop"] = {"strength": float(io.ir_drop), "conductance_ratio": float(io.ir_drop_g_ratio)}
        if getattr(io, "out_nonlinearity", 0.0) or getattr(io, "out_nonlinearity_std", 0.0):
            table["nonlinearity"] = {"strength": float(io.out_nonlinearity), "spread": float(io.out_nonlinearity_std)}
        if getattr(io, "v_offset_std", 0.0) or getattr(io, "r_series", 0.0):
            table["output_line"] = {
                "offset_spread": float(io.v_offset_std),
                "reference_weight": float(io.v_offset_w_min),
                "series_resistance": float(io.r_series),
            }
        for theirs, ours in (
            ("slope_calibration", "slope_calibration"),
            ("w_read_asymmetry_dtod", "read_asymmetry"),
            ("out_noise_std", "output_noise_spread"),
        ):
            if getattr(io, theirs, 0.0):
                table[ours] = float(getattr(io, theirs))
        return table

    def converter(self, io: Any, side: str, path: str) -> dict[str, Any]:
        own: dict[str, Any] = {}
        bound, steps = float(getattr(io, f"{side}_bound")), float(getattr(io, f"{side}_res"))
        if 0 < bound < math.inf:
            own["bound"] = bound
        if steps > 0:
            count = steps if steps > 1 else 1 / steps
            if "bound" not in own or abs(count - round(count)) > 1e-6 * count:
                self.fault(f"{path}.{side}_res must be the inverse of a whole number of steps within {side}_bound, got {steps}")
            own["steps"] = round(count)
            if getattr(io, f"{side}_sto_round", False):
                own["stochastic"] = True
        for theirs, ours in (("noise", "noise"), ("asymmetry", "negative_loss")):
            value = float(getattr(io, f"{side}_{theirs}", 0.0))
            if value:
                own[ours] = value
        return own

    def noise_management(self, io: Any, path: str) -> Any:
        kind = _word(getattr(io, "noise_management", "None"))
        limit = float(getattr(io, "nm_thres", 0.0))
        if kind == "none":
            return "none"
        if kind in ("absmax", "max"):
            own = {"absmax": "abs_max", "max": "max"}[kind]
            return {"kind": own, "ceiling": limit} if limit > 0 else own
        if kind == "constant":
            return {"kind": "constant", "scale": limit} if limit > 0 else "none"
        if kind == "averageabsmax":
            # AIHWKIT's decay is fixed.
            return {"kind": "average_abs_max", "decay": 0.001}
        self.fault(f"{path}.noise_management must be None, AbsMax, Max, Constant or AverageAbsMax, got {io.noise_management!r}")
        return "none"

    def bound_management(self, io: Any, path: str) -> Any:
        kind = _word(getattr(io, "bound_management", "None"))
        if kind == "none":
            return "none"
        if kind != "iterative":
            self.fault(f"{path}.bound_management must be None or Iterative, got {io.bound_management!r}")
            return "none"
        self.need(io, f"{path}.bm_test_negative_bound", True)
        most = float(getattr(io, "max_bm_factor", 1000))
        resolution = float(io.inp_res)
        resolution = 1 / resolution if resolution > 1 else resolution
        if resolution > 0:
            most = min(most, float(getattr(io, "max_bm_res", 0.25)) / resolution)
        if most < 1:
            return "none"
        # Inputs are halved again and again.
        return {"kind": "iterative", "max_factor": 1 << int(math.log2(most))}

    def mapping(self, mapping: Any) -> dict[str, Any]:
        if mapping is None:
            return {}
        self.need(mapping, "mapping.digital_bias", True)
        if getattr(mapping, "weight_scaling_omega", 0.0) > 0:
            self.fault(
                "mapping.weight_scaling_omega must be 0: give mapping={'omega': …} to convert, under which lr is that of the network's weights"
            )
        own: dict[str, Any] = {}
        for theirs, ours in (("max_input_size", "max_cols"), ("max_output_size", "max_rows")):
            size = int(getattr(mapping, theirs, 512))
            # 0 means tiles of any size.
            own[ours] = size if size > 0 else 1 << 20
        if getattr(mapping, "learn_out_scaling", False):
            own["output_scaling"] = "output" if getattr(mapping, "out_scaling_columnwise", False) else "tile"
        return own
