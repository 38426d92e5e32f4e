#!/usr/bin/env python3
"""Licences, duplicates and origins of all dependencies against deny.toml, from what cargo knows: no download, nothing to install.
`cargo deny check` does the same and asks for advisories; building it takes longer than all of ./test may."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def allowed(expression, allow):
    """Whether one choice of an SPDX expression is on the list: OR binds weaker than AND, `/` is an old OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        value = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = both() or value
        return value

    def both():
        value = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = one() and value
        return value

    def one():
        name = tokens.pop(0)
        if name == "(":
            value = either()
            tokens.pop(0)
            return value
        if tokens and tokens[0] == "WITH":
            name = " ".join([name, tokens.pop(0), tokens.pop(0)])
        return name in allow

    return either()


def faults(packages, rules):
    skip = [entry.split("@") for entry in rules["bans"]["skip"]]
    versions = {}
    for package in packages:
        name, version = package["name"], package["version"]
        if package["source"] is None:
            continue
        if not package["source"].startswith("registry+"):
            yield f"{name} {version} must come from the registry, got {package['source']}"
        if not allowed(package["license"] or "none", rules["licenses"]["allow"]):
            yield f"{name} {version} must have a licence of deny.toml, got {package['license']}"
        if not any(name == n and (version + ".").startswith(v + ".") for n, v in skip):
            versions.setdefault(name, []).append(version)
    for name, own in versions.items():
        if len(own) > 1:
            yield f"{name} must be there once, got {', '.join(own)}; deny.toml can skip one"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allow = rules["licenses"]["allow"]
    # A check that cannot fail is none.
    assert allowed("MIT/Apache-2.0", allow) and allowed("(MIT OR GPL-3.0) AND ISC", allow)
    assert not allowed("GPL-3.0", allow) and not allowed("MIT AND GPL-3.0", allow)
    metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, capture_output=True, check=True)
    packages = json.loads(metadata.stdout)["packages"]
    found = list(faults(packages, rules))
    print("\n".join(found) or f"{sum(p['source'] is not None for p in packages)} dependencies: licences, origins and versions as deny.toml says")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
