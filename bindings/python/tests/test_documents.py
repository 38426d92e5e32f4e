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


@pytest.mark.timeout(300)
def test_types_are_right(tmp_path):
    """The stubs are what the package has, and a type checker takes the package and a program, and refuses a wrong one."""
    mypy = pytest.importorskip("mypy.api")
    import residuum

    package = Path(residuum.__file__).parent
    assert (package / "py.typed").exists() and (package / "_residuum.pyi").exists()
    right = tmp_path / "right.py"
    right.write_text(
        "import numpy as np\nimport residuum\n"
        "run = residuum.run('digits', seed=0, quiet=True)\nprint(run.table.upper(), len(run.records))\n"
        "rule = residuum.Rule({'kind': 'analog'}, np.zeros((2, 3)), residuum.Response('power', shape=1.0))\n"
        "rule.step(np.zeros((2, 3)), learning_rate=0.1, key=residuum.Key(1).named('x'))\n"
        "residuum.minimize(residuum.Problem.of(lambda w: w, 3), [rule], 10)\n"
        "for images, labels in residuum.Trial('digits', variant='digital', seed=0).batches(0):\n    print(images.shape, labels.sum())\n"
        "tiles = residuum.TileMatrix({'device': {'preset': 'ecram'}, 'rule': {'kind': 'analog'}}, np.zeros((2, 3)), 0, 'a')\n"
        "print(tiles.weights().mean(), tiles.read(np.zeros((1, 3)), np.zeros((1, 2))) + 1, tiles.name.upper())\n"
    )
    out, err, code = mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(right)])
    assert code == 0, out + err
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import residuum\nresiduum.run('digits', seed='zero')\nresiduum.Key(1).nmaed('x')\nresiduum.threads() + 'a'\n")
    out, _, code = mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(wrong)])
    assert code == 1 and out.count("error:") == 3, out
