"""What the scripts of this folder share: numbers by formula, safetensors without a library, JSON.

The weights of a network are made by a formula of the tensor's name and the index alone, so that Rust and Python can
both make the same 25 million numbers and a golden file needs to hold only what the network says about them.
"""

import json
import math
import pathlib
import struct

import numpy as np
import torch

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "torch"


def uniform(name, count):
    """`count` numbers in [-1, 1): MurmurHash3's 32-bit finaliser of FNV-1a(name) + index * 0x9E3779B9, upper 24 bits."""
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = (seed ^ byte) * 0x01000193 & 0xFFFFFFFF
    with np.errstate(over="ignore"):
        h = np.uint32(seed) + np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return ((h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)).astype(np.float32)


def tensor(name, *shape):
    return torch.from_numpy(uniform(name, math.prod(shape)).reshape(shape))


def formula_value(name, shape):
    """The value of a named tensor of a network: matrices scaled by their fan-in, normalisations near 1 and 0."""
    u = uniform(name, math.prod(shape))
    if len(shape) > 1:
        scale = np.float32(math.sqrt(3.0 / math.prod(shape[1:])))
        value = u * scale
    elif name.endswith("running_var") or name.endswith("weight"):
        value = np.float32(1.0) + np.float32(0.25) * u
    else:
        value = np.float32(0.125) * u
    return torch.from_numpy(value.astype(np.float32).reshape(shape))


def fill(model):
    """Gives every tensor of a model its formula value."""
    state = model.state_dict()
    for name, value in state.items():
        if value.dtype == torch.float32:
            value.copy_(formula_value(name, tuple(value.shape)))
    return model


def flat(values):
    """Numbers as single precision prints them, shortest form."""
    return [float(str(np.float32(v))) for v in values.detach().contiguous().reshape(-1).numpy()]


def write_json(name, document):
    path = GOLDEN / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")
    print(path, path.stat().st_size, "bytes", flush=True)


TYPES = {torch.float32: "F32", torch.int64: "I64"}


def write_safetensors(path, tensors):
    """Length of the header, header as JSON, then the bytes of all tensors."""
    header, blobs, offset = {}, [], 0
    for name, value in tensors.items():
        if value.dtype not in TYPES:
            value = value.to(torch.float32)
        blob = value.detach().cpu().contiguous().numpy().tobytes()
        span = [offset, offset + len(blob)]
        header[name] = {"dtype": TYPES[value.dtype], "shape": list(value.shape), "data_offsets": span}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
