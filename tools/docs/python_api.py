"""Writes the API of the Python package as a page of the book: python3 tools/docs/python_api.py bindings/python/python/residuum FILE.md.

Read from the sources and the type stubs, so that nothing needs to be built: public classes, methods and functions with their
signatures and comments.
"""

import ast
import sys
from pathlib import Path

MODULES = [
    ("residuum", ["__init__.py", "_residuum.pyi", "_runs.py", "_seed.py"]),
    ("residuum.torch", ["torch/__init__.py", "torch"]),
    ("residuum.aihwkit", ["aihwkit.py"]),
    ("residuum.ray", ["ray.py"]),
    ("residuum.theory", ["theory.py"]),
]


def signature(node):
    arguments = ast.unparse(node.args)
    for receiver in ("self, ", "self", "cls, ", "cls"):
        if arguments.startswith(receiver):
            arguments = arguments[len(receiver):].removeprefix("/, ").removeprefix("/")
            break
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returns}"


def text(node):
    return (ast.get_docstring(node) or "").replace("<", "&lt;")


def is_public(node):
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")


def describe(node, out):
    if isinstance(node, ast.FunctionDef):
        out.append(f"### `{node.name}`\n\n```python\n{signature(node)}\n```\n\n{text(node)}\n")
        return
    out.append(f"### `{node.name}`\n\n{text(node)}\n")
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and (not inner.name.startswith("_") or inner.name == "__init__"):
            decorators = {ast.unparse(d) for d in inner.decorator_list}
            shown = inner.name if "property" in decorators else signature(inner).replace("__init__", node.name)
            first = " ".join(text(inner).split("\n\n")[0].split())
            out.append(f"- `{shown}`" + (f": {first}" if first else ""))
    out.append("")


def main():
    package, target = Path(sys.argv[1]), Path(sys.argv[2])
    out = ["# Python API\n", "Made from the sources of the package; the pages before this one show how it is used.\n"]
    count = 0
    for name, files in MODULES:
        out.append(f"## `{name}`\n")
        paths = []
        for file in files:
            path = package / file
            paths += sorted(p for p in path.glob("*.py") if p.name != "__init__.py") if path.is_dir() else [path]
        for path in paths:
            tree = ast.parse(path.read_text())
            if path.name in ("__init__.py", f"{name.split('.')[-1]}.py") and text(tree):
                out.append(text(tree) + "\n")
            for node in filter(is_public, tree.body):
                describe(node, out)
                count += 1
    if count < 40:
        sys.exit(f"only {count} public names were found in {package}")
    target.write_text("\n".join(out) + "\n")
    print(f"{target}: {count} names")


if __name__ == "__main__":
    main()
