"""Sweeps on a Ray cluster: each trial is a task, and the store is a folder of the machine that asks.

No file system is shared. A task sends its checkpoints to an actor beside the driver, which keeps them in memory and in the
store; a trial whose node is lost continues from its last one on another node. Ids, records and the store are those of
``residuum run``. Nodes need the package, and the data sets or files that a spec names; a device can be given by ``points``
instead of a file.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import _residuum
from ._residuum import ResiduumError, Run, Store, set_threads

__all__ = ["run"]


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("ray must be installed: pip install 'residuum-analog[ray]'") from error
    return ray


class _Keeper:
    """Checkpoints of running trials."""

    def __init__(self) -> None:
        self.newest: dict[str, dict[str, bytes]] = {}
        self.fresh: set[str] = set()

    def put(self, trial: str, files: dict[str, bytes]) -> None:
        self.newest[trial] = files
        self.fresh.add(trial)

    def get(self, trial: str) -> dict[str, bytes] | None:
        return self.newest.get(trial)

    def drop(self, trial: str) -> None:
        self.newest.pop(trial, None)
        self.fresh.discard(trial)

    def drain(self) -> dict[str, dict[str, bytes]]:
        """What is new since the last call."""
        fresh = {trial: self.newest[trial] for trial in self.fresh}
        self.fresh.clear()
        return fresh


def _settled(store: Store, trial: str) -> dict[str, bytes] | None:
    """The files of an unfinished trial, if nothing was written while they were read."""
    files = store.files(trial)
    if any(name.startswith(("checkpoints/", "run/")) for name in files) and store.files(trial) == files:
        return files
    return None


def _trial(spec: dict[str, Any], reading: dict[str, Any], trial: str, keeper: Any, threads: int, interval: float) -> tuple[dict[str, bytes], str | None]:
    """Runs one trial on this node, from its checkpoint if there is one: its files, and why it has no result."""
    ray = _import_ray()
    set_threads(threads)
    with tempfile.TemporaryDirectory(prefix="residuum-") as folder:
        store = Store.create(folder)
        kept = ray.get(keeper.get.remote(trial))
        if kept is not None:
            store.adopt(trial, kept)
        over = threading.Event()

        def send() -> None:
            last = kept
            while not over.wait(interval):
                files = _settled(store, trial)
                if files is not None and files != last and not over.is_set():
                    ray.get(keeper.put.remote(trial, files))
                    last = files

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            done = _residuum.run(spec, out=folder, only=[trial], jobs=1, quiet=True, **reading)
        finally:
            over.set()
            sender.join()
        failed = done.failed
        return store.files(trial), failed[0]["sentence"] if failed else None


def run(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    store: str | os.PathLike[str],
    *,
    address: str | None = None,
    seed: int | None = None,
    profile: str | None = None,
    variant: str | Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    cpus: int = 1,
    retries: int = 3,
    checkpoint_every: float = 5.0,
    quiet: bool = False,
) -> Run:
    """Runs the trials of a spec that are not in the store yet as tasks of a Ray cluster, and prints the table.

    ``address`` is that of the cluster, as ``ray.init`` takes it; a Ray that runs already in this process is used as it is. Each
    task asks for ``cpus`` and uses as many threads. A trial whose node is lost is started again up to ``retries`` times, from
    its last checkpoint; these are sent every ``checkpoint_every`` seconds. ``data`` is the folder of data sets on the nodes.
    """
    ray = _import_ray()
    variant = [variant] if isinstance(variant, str) else list(variant)
    values = _residuum.spec_values(dict(spec) if isinstance(spec, Mapping) else spec)
    reading = {"seed": seed, "profile": profile, "variant": variant, "data": None if data is None else os.fspath(data)}
    trials = dict.fromkeys(id for id, _, _ in _residuum.trials(values, **reading))
    here = Store.create(os.fspath(store))
    waiting = [id for id in trials if here.state(id) not in ("done", "failed")]
    ours = not ray.is_initialized()
    if ours and waiting:
        ray.init(address=address, log_to_driver=False)
    tasks: dict[Any, str] = {}
    lost: dict[str, str] = {}
    try:
        if waiting:
            beside = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            keeper = ray.remote(_Keeper).options(num_cpus=0, scheduling_strategy=beside).remote()
            for id in waiting:
                if here.state(id) == "begun":
                    ray.get(keeper.put.remote(id, here.files(id)))
            ray.get(keeper.drain.remote())
            task = ray.remote(_trial).options(num_cpus=cpus, max_retries=retries)
            tasks = {task.remote(values, reading, id, keeper, cpus, checkpoint_every): id for id in waiting}
        while tasks:
            ready, _ = ray.wait(list(tasks), num_returns=1, timeout=checkpoint_every)
            for reference in ready:
                id = tasks.pop(reference)
                files, sentence = ray.get(reference)
                state = here.adopt(id, files)
                ray.get(keeper.drop.remote(id))
                if state not in ("done", "failed"):
                    lost[id] = sentence or "it has no result"
                if not quiet:
                    print(f"{len(trials) - len(tasks)}/{len(trials)} trials", flush=True)
            for id, files in ray.get(keeper.drain.remote()).items():
                here.adopt(id, files)
    finally:
        for reference in tasks:
            ray.cancel(reference, force=True)
        if ours and ray.is_initialized():
            ray.shutdown()
    if lost:
        id, sentence = next(iter(lost.items()))
        raise ResiduumError(f"{len(lost)} trials have no result, and the same call tries again; trial {id}: {sentence}")
    done = _residuum.run(values, out=os.fspath(store), quiet=True, **reading)
    if not quiet:
        print(done, end="")
    return done
