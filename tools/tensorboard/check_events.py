"""Reads the event file of a run with TensorBoard itself and holds it against metrics.jsonl.

    python3 -m venv venv && venv/bin/pip install tensorboard
    venv/bin/python tools/tensorboard/check_events.py RUN_DIRECTORY

Exits with 1 and a message when a scalar or a histogram is missing or differs.
"""

import json
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
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


def main(directory):
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
    check(len(sys.argv) == 2, "usage: check_events.py RUN_DIRECTORY")
    main(Path(sys.argv[1]))
