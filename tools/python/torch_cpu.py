"""Installs the index's torch for a machine without a GPU: one wheel of half a gigabyte instead of three in twenty.

    python tools/python/torch_cpu.py [VERSION]

On Linux the index has torch for CUDA only, and importing it needs libraries of 4 GB that nothing on a CPU calls. This puts
stand-ins in their place: libraries that define the names the linker asks for and nothing else. `torch.cuda.is_available()` is
False, as on any machine without a GPU. For tests; people install torch as its project says.
"""

from __future__ import annotations

import collections
import importlib.util
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

OURS = ("libtorch", "libc10", "libcaffe2", "libshm")
STANDS_IN = re.compile(r"lib(cu(?!da)|cupti|nccl|nvrtc|nvshmem|nvJitLink)")
NAMES = re.compile(r"(?!cuda[A-Z])(cu[A-Za-z]|nccl|nvrtc|nvshmem)\w*")
WITH_TORCH = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools<82", "numpy"]


def out(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-compile", *words], check=True)


def stand_ins(folder: pathlib.Path) -> int:
    """Builds what the libraries of torch need and do not find; gives the number."""
    needed, defined, files = set(), set(), {}
    undefined = collections.defaultdict(set)
    for library in folder.glob("lib*.so*"):
        if not library.name.startswith(OURS):
            continue
        needed |= set(re.findall(r"NEEDED.*\[(.*?)\]", out("readelf", "-d", str(library))))
        for line in out("nm", "-D", str(library)).splitlines():
            kind, name = line.split()[-2:]
            name, _, version = name.partition("@")
            if kind == "U":
                undefined[version.lstrip("@")].add(name)
            elif kind not in "wv":
                defined.add(name)
        file = None
        for line in out("readelf", "-V", str(library)).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif found := re.search(r"Name: (\S+)", line):
                files.setdefault(found[1], file)
    missing = sorted(name for name in needed if STANDS_IN.match(name))
    # Names without a version may be in any library; the first has them.
    loose = {name for name in undefined[""] - defined if NAMES.fullmatch(name)}
    for soname in missing:
        versions = {v: undefined[v] - defined for v, file in files.items() if file == soname}
        names = set().union(*versions.values(), loose if soname == missing[0] else set())
        with tempfile.TemporaryDirectory() as scratch:
            source, script = pathlib.Path(scratch) / "names.c", pathlib.Path(scratch) / "versions"
            source.write_text("".join(f"char {name}[64];\n" for name in sorted(names)) or "int stand_in;\n")
            script.write_text(
                "".join(f"{v} {{ global: {' '.join(n + ';' for n in sorted(own))} }};\n" for v, own in sorted(versions.items()))
            )
            options = [f"-Wl,--version-script={script}"] if versions else []
            command = ["cc", "-w", "-shared", "-fPIC", *options, f"-Wl,-soname,{soname}", "-o", str(folder / soname), str(source)]
            subprocess.run(command, check=True)
    return len(missing)


def main() -> None:
    version = f"=={sys.argv[1]}" if len(sys.argv) > 1 else ""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        # Elsewhere the index's torch is small.
        pip(f"torch{version}", "numpy")
        return
    pip("--no-deps", f"torch{version}")
    pip(*WITH_TORCH)
    spec = importlib.util.find_spec("torch")
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "lib"
    runtime = re.findall(r"libcudart\.so\.(\d+)", out("readelf", "-d", str(folder / "libtorch_cpu.so")))
    if not runtime:
        return
    # The one library that is called when torch is loaded, and a small one.
    package = f"nvidia-cuda-runtime-cu{runtime[0]}" if int(runtime[0]) < 13 else f"nvidia-cuda-runtime=={runtime[0]}.*"
    pip("--no-deps", package)
    nvidia = folder.parent.parent / "nvidia"
    (library,) = list(nvidia.rglob(f"libcudart.so.{runtime[0]}"))[:1]
    (folder / library.name).write_bytes(library.read_bytes())
    print(f"torch without a GPU: {stand_ins(folder)} stand-ins")
    subprocess.run([sys.executable, "-c", "import torch; assert torch.ones(3) @ torch.ones(3) == 3"], check=True)


if __name__ == "__main__":
    main()
