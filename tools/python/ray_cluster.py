"""Two Ray nodes on one machine, one of them killed in the middle of a sweep: all trials finish, with the command's own bytes.

    python tools/python/ray_cluster.py [TRIALS]

Needs the package with its extra `ray`. Not part of ./test: Ray is 70 MB and takes a minute to start on two cores.
"""

import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import ray
import residuum
import residuum.ray
from ray.cluster_utils import Cluster

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 100

SPEC = {
    "name": "cluster",
    "steps": 600_000,
    "problem": {"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5},
    "noise": {"kind": "gaussian", "deviation": 0.5},
    "device": {"response": "power", "shape": 1.0, "radius": 1.0},
    "rule": {"kind": "analog", "learning_rate": 0.02},
    "record": {"metrics": ["gap", "effective"], "every": 60_000},
}


def records(store: str) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in pathlib.Path(store).glob("trials/*/records.csv")}


def toml(spec: dict) -> str:
    """The spec as a file for the command."""
    inline = lambda value: (
        "{ " + ", ".join(f"{k} = {inline(v)}" for k, v in value.items()) + " }"
        if isinstance(value, dict)
        else "[" + ", ".join(map(inline, value)) + "]"
        if isinstance(value, list)
        else f'"{value}"'
        if isinstance(value, str)
        else repr(value)
    )
    return "".join(f"{name} = {inline(value)}\n" for name, value in spec.items())


def main() -> None:
    spec = SPEC | {"seeds": list(range(TRIALS))}
    with tempfile.TemporaryDirectory() as folder:
        far, near = f"{folder}/far", f"{folder}/near"
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        second = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        killed_at: list[int] = []

        def kill() -> None:
            while len(records(far)) < TRIALS // 3:
                time.sleep(0.05)
            killed_at.append(len(records(far)))
            cluster.remove_node(second, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        start = time.monotonic()
        run = residuum.ray.run(spec, far, checkpoint_every=0.5, quiet=True)
        killer.join()
        seconds = time.monotonic() - start
        assert run.failed == [] and run.summary["total"] == TRIALS, run.summary
        path = pathlib.Path(folder) / "cluster.toml"
        path.write_text(toml(spec))
        command = pathlib.Path(sys.executable).parent / "residuum"
        subprocess.run([command, "run", path, "--out", near, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        assert records(far) == records(near) and len(records(far)) == TRIALS
        print(f"{TRIALS} trials in {seconds:.0f} s, a node killed after {killed_at[0]}: the same bytes as the command's")
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
