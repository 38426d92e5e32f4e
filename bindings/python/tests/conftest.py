import pytest


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
