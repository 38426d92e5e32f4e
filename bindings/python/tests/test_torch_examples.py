"""Every example runs at small size."""

import importlib.util
import pathlib
import sys

import pytest

pytest.importorskip("torch")

FOLDER = pathlib.Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("[0-9]*.py"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--small"])
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"example_{name[:2]}", FOLDER / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Each asserts what it shows.
    assert module.main() is not None
    assert capsys.readouterr().out.strip()


def test_all_of_them_are_there():
    numbers = {int(name[:2]) for name in EXAMPLES}
    assert numbers >= {1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 15, 18, 19, 21, 23, 26, 29}
