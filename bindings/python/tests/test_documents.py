"""The documents cannot rot: their Python runs."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "docs/python").glob("*.md")) + [
    ROOT / "README.md", ROOT / "bindings/python/README.md", ROOT / "docs/how-to/from-aihwkit.md"
]


def blocks(page: Path) -> list[str]:
    """The blocks of Python, each at its own line so that a traceback points to the page."""
    text = page.read_text()
    found = []
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found.append("\n" * text[: match.start(1)].count("\n") + match[1])
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page):
    text = "".join(blocks(page))
    for package in ("torch", "ray", "polars"):
        if f"import {package}" in text or f"residuum.{package}" in text:
            pytest.importorskip(package)
    namespace = {"__name__": "__main__"}
    if "rpu_config" in text:
        # The reader's own configuration: here one with AIHWKIT's names and defaults.
        import test_torch_aihwkit as recorded

        namespace["rpu_config"] = recorded.config(recorded.device())
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


def test_pages_were_found():
    assert len([page for page in PAGES if blocks(page)]) >= 3
    # Broken twin: a block that fails is noticed.
    with pytest.raises(ZeroDivisionError):
        exec(compile("1/0", "page", "exec"), {})


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", sorted((ROOT / "bindings/python/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    # This interpreter, whatever kernels are installed.
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(
        f'{{"argv": ["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"], "display_name": "Python", "language": "python"}}'
    )
    manager = pytest.importorskip("jupyter_client.kernelspec").KernelSpecManager(kernel_dirs=[str(tmp_path / "kernels")])
    kernel = pytest.importorskip("jupyter_client").AsyncKernelManager(kernel_name="python3", kernel_spec_manager=manager)
    client = nbclient.NotebookClient(notebook, timeout=240, km=kernel, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/svg+xml" in kinds and "text/html" in kinds
    # Progress was shown, and what is left of it is empty.
    assert not any(output.output_type == "error" for output in outputs)


def test_the_stubs_are_those_of_the_package():
    """Every signature in the stubs is one that the package has now."""
    import subprocess

    made = subprocess.run([sys.executable, ROOT / "tools/python/stubs.py"], capture_output=True, text=True, check=True).stdout
    kept = (ROOT / "bindings/python/python/residuum/_residuum.pyi").read_text()
    assert len(kept.splitlines()) > 150
    stale = set(kept.splitlines()) - set(made.splitlines())
    assert not stale, "UPDATE_STUBS=1 tools/python/check renews them:\n" + "\n".join(sorted(stale))


TYPED = """
import numpy as np
import numpy.typing as npt
import residuum
from residuum import theory

Numbers = npt.NDArray[np.float64]
cell = residuum.Response("power", shape=1.0, radius=1.0)
numbers: Numbers = cell.q_plus(np.zeros(3))
number: float = cell.q_plus(0.5) + cell.realized(0.1, 0.2)
bounds: dict[str, object] = dict(cell.bounds(-0.5, 0.5))
low, high = cell.range
text: str = cell.report()
assert isinstance(numbers, np.ndarray) and isinstance(number, float) and isinstance(low + high, float) and isinstance(text, str)

problem = residuum.Problem({"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5}, {"kind": "gaussian", "deviation": 1.0})
at: Numbers = problem.gradient([0.1])
zeros: list[tuple[float, bool]] = theory.drift_zeros(problem, cell, (-0.9, 0.9))
drift: dict[str, Numbers] = theory.predict_drift(problem, cell)
assert isinstance(problem.value([0.1]), float) and isinstance(zeros[0][0], float) and zeros[0][1] is True
assert all(isinstance(value, np.ndarray) for value in (at, *drift.values(), theory.mean_drift(problem, cell, [0.1])))
law: dict[str, float] = theory.stationary_law(
    cell, curvature=1.0, deviation=1.0, minimizer=0.5, learning_rate=0.01, transfer_rate=0.01, mixing=0.5
)
assert all(isinstance(value, float) for value in law.values())

array = residuum.Array(cell, np.zeros((2, 3)), dtype="float32")
points: list[float | None] = array.symmetric_points
span: tuple[float, float] | None = array.range
aged: bool = array.age()
assert isinstance(points, list) and isinstance(span, tuple) and isinstance(aged, bool) and array.read(np.ones((1, 3), np.float32)).shape == (1, 2)
rule = residuum.Rule({"kind": "analog"}, np.zeros((2, 3)), cell)
rule.step(np.zeros((2, 3)), learning_rate=0.1, key=residuum.Key(1).named("x"))
taken: int = residuum.minimize(residuum.Problem.of(lambda w: w, 6), [rule], 10, learning_rate=0.1, observe=lambda k, rules: k < 5)
assert isinstance(taken, int) and rule.effective_weights().shape == (2, 3)

spec = {
    "name": "typed", "steps": 20, "problem": {"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5},
    "device": {"response": "power", "shape": 1.0, "radius": 1.0}, "rule": {"kind": "analog", "learning_rate": 0.02}, "record": {"every": 10},
}
run = residuum.run(spec, out="typed", quiet=True)
failed: list[dict[str, object]] = [dict(failure) for failure in run.failed]
findings: list[str] = run.findings
trials: list[str] = run.store.ids
assert failed == [] and isinstance(findings, list) and len(trials) == 1 and len(run.table.upper()) > 0 and len(run.records) > 0
files: dict[str, bytes] = run.store.files(trials[0])
assert all(isinstance(file, bytes) for file in files.values()) and run.store.path.name == "typed" and run.store.failures == []
report = residuum.report("typed")
assert all(isinstance(table, str) for table in report.tables.values()) and all(len(figure.to_svg()) > 0 for figure in report.figures.values())
checked: dict[str, object] = dict(residuum.check(spec))
explained: dict[str, object] = dict(residuum.explain(spec).data)
stream: object = run.records.__arrow_c_stream__()

tiles = residuum.TileMatrix({"device": {"preset": "ecram"}, "rule": {"kind": "analog"}}, np.zeros((2, 3), np.float32), 0, "a")
reads: int = tiles.read(np.zeros((1, 3), np.float32), np.zeros((1, 2), np.float32)) + 1
print(tiles.weights().mean(), reads, tiles.name.upper(), checked.keys(), explained.keys())
"""


@pytest.mark.timeout(300)
def test_types_are_right(tmp_path):
    """The stubs are what the package has, and a type checker takes the package and a program, and refuses a wrong one."""
    mypy = pytest.importorskip("mypy.api")
    import residuum

    package = Path(residuum.__file__).parent
    assert (package / "py.typed").exists() and (package / "_residuum.pyi").exists()
    right = tmp_path / "right.py"
    right.write_text(TYPED)
    # Frames are not ours to check, and take longer than all the rest.
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-polars.*,pandas.*]\nfollow_imports = skip\n")
    options = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    # The types that the program states are those that it gets.
    exec(compile(TYPED, str(right), "exec"), {"__name__": "__main__"})
    assert "-> Any" not in (package / "_residuum.pyi").read_text()
    out, err, code = mypy.run([*options, str(right)])
    assert code == 0, out + err
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import residuum\nresiduum.run('digits', seed='zero')\nresiduum.Key(1).nmaed('x')\nresiduum.threads() + 'a'\n")
    out, _, code = mypy.run([*options, str(wrong)])
    assert code == 1 and out.count("error:") == 3, out
