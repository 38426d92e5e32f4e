"""Reads event files with TensorBoard itself and holds them against metrics.jsonl: those of one run, or of a whole store, whose runs must
also have names that say what differs between its trials.

    python3 -m venv venv && venv/bin/pip install tensorboard
    venv/bin/python tools/tensorboard/check_events.py RUN_DIRECTORY
    venv/bin/python tools/tensorboard/check_events.py STORE

Exits with 1 and a message when a scalar, a histogram or a run is missing or differs.
"""

import json
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.util import tensor_util
from tensorboard.version import VERSION

SCALARS = {
    "train/loss": "train_loss",
    "train/accuracy": "train_accuracy",
    "test/loss": "test_loss",
    "test/accuracy": "test_accuracy",
    "time/samples_per_second": "samples_per_second",
    "learning_rate": "learning_rate",
}


def single(value):
    """The value as event files hold it, in single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def numbers(accumulator, tag):
    """Step and value of a scalar, whether TensorBoard keeps it as such or as a tensor."""
    if tag in accumulator.Tags()["scalars"]:
        return [(event.step, event.value) for event in accumulator.Scalars(tag)]
    return [(event.step, float(tensor_util.make_ndarray(event.tensor_proto))) for event in accumulator.Tensors(tag)]


def check_store(store):
    """Every trial is a run of TensorBoard, under a name with its labels and its seed."""
    folder = store / "tensorboard"
    shown = EventMultiplexer().AddRunsFromDirectory(str(folder)).Reload().Runs()
    trials = [path.parent for path in store.glob("trials/*/manifest.json") if (path.parent / "records.csv").exists()]
    check(len(shown) == len(trials) > 0, f"{len(trials)} trials must be {len(trials)} runs, got {len(shown)}")
    for trial in trials:
        manifest = json.loads((trial / "manifest.json").read_text())
        own = [name for name in shown if (folder / name).resolve() == (trial / "run").resolve()]
        check(len(own) == 1, f"{trial} must have one name, got {own}")
        wanted = [value for _, value in manifest["labels"]] + [f"seed {manifest['seed']}"]
        check(all(words in own[0] for words in wanted), f"{own[0]} must tell {wanted}")
        check_run(trial / "run")
    print(f"{len(shown)} runs, such as {sorted(shown)[0]!r}")


def check_run(directory):
    records = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    accumulator = EventAccumulator(str(directory), size_guidance={"scalars": 0, "tensors": 0, "histograms": 0})
    accumulator.Reload()
    tags = accumulator.Tags()
    for tag, field in SCALARS.items():
        expected = [(r["epoch"], single(r[field])) for r in records if field in r]
        if expected:
            check(numbers(accumulator, tag) == expected, f"{tag} must be {expected}, got {numbers(accumulator, tag)}")
    for layer in records[-1].get("pulses", {}):
        expected = [(r["epoch"], single(r["pulses"][layer])) for r in records]
        check(numbers(accumulator, f"pulses/{layer}") == expected, f"pulses of {layer}")

    histograms = [tag for tag in tags["histograms"] + tags["tensors"] if tag.startswith("weights/")]
    for tag in histograms:
        if tag in tags["histograms"]:
            shown = [(e.step, sum(e.histogram_value.bucket), e.histogram_value.num) for e in accumulator.Histograms(tag)]
        else:
            arrays = [(e.step, tensor_util.make_ndarray(e.tensor_proto)) for e in accumulator.Tensors(tag)]
            shown = [(step, array[:, 2].sum(), array[:, 2].sum()) for step, array in arrays]
        check([step for step, _, _ in shown] == [r["epoch"] for r in records], f"{tag} must be there for every epoch")
        check(all(total == count > 0 for _, total, count in shown), f"{tag} must count every weight: {shown}")
    print(f"TensorBoard {VERSION}: {len(records)} epochs, {len(tags['scalars'])} scalars, {len(histograms)} histograms agree")


if __name__ == "__main__":
    check(len(sys.argv) == 2, "usage: check_events.py RUN_DIRECTORY or STORE")
    given = Path(sys.argv[1])
    check_store(given) if (given / "trials").is_dir() else check_run(given)
