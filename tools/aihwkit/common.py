"""What the scripts of this folder share: one thread, device variants, tiles, JSON.

Import this module before `torch`: the thread counts of the numerical libraries are read when they load.
"""

import dataclasses
import json
import os
import pathlib
from enum import Enum

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import torch  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)

import aihwkit  # noqa: E402
from aihwkit.simulator.configs import SingleRPUConfig, devices  # noqa: E402
from aihwkit.simulator.parameters.io import IOParameters  # noqa: E402
from aihwkit.simulator.parameters.training import UpdateParameters  # noqa: E402
from aihwkit.simulator.presets import devices as presets  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "aihwkit"
VERSIONS = {"aihwkit": aihwkit.__version__, "torch": torch.__version__}

# The pulsed devices by the name of their class, then the presets.
DEVICES = {
    name: getattr(devices, name)
    for name in (
        "ConstantStepDevice", "LinearStepDevice", "SoftBoundsDevice", "SoftBoundsPmaxDevice",
        "SoftBoundsReferenceDevice", "ExpStepDevice", "PowStepDevice", "PowStepReferenceDevice",
        "PiecewiseStepDevice",
    )
}
PRESETS = {name: getattr(presets, name) for name in sorted(dir(presets)) if name.endswith("PresetDevice")}


def configuration(thing):
    """Every field of a dataclass as plain JSON, nested parameter groups and unit cells included."""
    if dataclasses.is_dataclass(thing):
        return {field.name: configuration(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
    if isinstance(thing, Enum):
        return thing.value
    if isinstance(thing, (list, tuple)):
        return [configuration(item) for item in thing]
    return thing


def without_variation(device):
    """The same device with no device-to-device variation; noise stays."""
    for field in dataclasses.fields(device):
        if field.name.endswith("_dtod") and not isinstance(getattr(device, field.name), bool):
            setattr(device, field.name, 0.0)
    if hasattr(device, "reference_std"):
        device.reference_std = 0.0
    device.corrupt_devices_prob = 0.0
    return device


def ideal(device):
    """The same device with neither variation nor any noise: its response alone."""
    without_variation(device)
    for name in ("dw_min_std", "write_noise_std", "dw_min_std_add", "dw_min_std_slope"):
        if hasattr(device, name):
            setattr(device, name, 0.0)
    return device


def tile(config, rows, columns, weights=None, learning_rate=1.0):
    """The compiled tile itself, without autograd or optimiser around it."""
    made = config.tile_class(rows, columns, config, bias=False).tile
    made.set_weights(torch.zeros(rows, columns) if weights is None else weights)
    made.set_learning_rate(learning_rate)
    return made


def pulse_tile(device, rows, columns, weights=None):
    """A tile on which `pulse` gives every cross-point exactly one pulse.

    Train length 1, no management, and a learning rate that saturates both pulse probabilities at 1.
    """
    perfect = IOParameters(is_perfect=True)
    config = SingleRPUConfig(
        device=device, forward=perfect, backward=perfect,
        update=UpdateParameters(
            desired_bl=1, fixed_bl=True, update_bl_management=False, update_management=False
        ),
    )
    return tile(config, rows, columns, weights, learning_rate=1e3)


def pulse(made, up):
    """One pulse per cross-point. The tile descends, so an up-pulse needs a negative d."""
    rows, columns = made.get_d_size(), made.get_x_size()
    made.update(torch.ones(1, columns), torch.full((1, rows), -1.0 if up else 1.0), False)


def hidden(made):
    """The per-device parameters of a tile by name."""
    return dict(zip(made.get_hidden_parameter_names(), made.get_hidden_parameters()))


def significant(values, digits=5):
    """Nested lists of floats, rounded to significant digits."""
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    if isinstance(values, list):
        return [significant(value, digits) for value in values]
    return float(f"{values:.{digits}g}")


def write(folder, name, document):
    """Compact JSON, one line at the end, reported on the terminal."""
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")
    print(path, path.stat().st_size, "bytes", flush=True)
