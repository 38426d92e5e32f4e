import ctypes
import gc
import sys

import pytest


class _Mallinfo(ctypes.Structure):
    """What glibc's mallinfo2 gives."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


@pytest.fixture
def in_use():
    """A function that gives the bytes in use: what malloc has handed out, and 64 bytes for each of Python's own objects. What the
    process keeps in reserve, which depends on all that ran before, does not count."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        pytest.skip("needs glibc 2.33 or newer")
    mallinfo.restype = _Mallinfo

    def count():
        gc.collect()
        now = mallinfo()
        return now.uordblks + now.hblkhd + 64 * sys.getallocatedblocks()

    return count



@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path, monkeypatch):
    """Stores and figures go where nobody keeps them."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def problem():
    """A small problem under Analog SGD, as a spec."""
    return {
        "name": "small",
        "steps": 400,
        "seeds": [1, 2],
        "problem": {"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5},
        "noise": {"kind": "gaussian", "deviation": 0.5},
        "device": {"response": "power", "shape": 1.0, "radius": 1.0},
        "rule": {"kind": "analog", "learning_rate": 0.02},
        "record": {"metrics": ["gap"], "every": 100},
    }
