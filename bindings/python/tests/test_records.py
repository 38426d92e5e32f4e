"""Records as Arrow: without a copy, and alive as long as someone looks."""

import csv
import gc
from pathlib import Path

import pytest
import residuum

polars = pytest.importorskip("polars")


@pytest.fixture
def store(problem):
    problem["sweep"] = {"device.radius": [1.0, 2.0]}
    residuum.run(problem, out="s", quiet=True)
    return residuum.Store("s")


def test_polars_sees_what_the_files_hold(store):
    records = store.records
    frame = polars.DataFrame(records)
    assert frame.columns == records.columns
    assert frame.height == len(records) == 4 * 5
    assert frame["device.radius"].unique().sort().to_list() == ["1.0", "2.0"]
    assert frame["index"].null_count() == frame.height and frame["epoch"].null_count() == frame.height
    for trial in store.trials:
        with (Path("s/trials") / trial["id"] / "records.csv").open() as file:
            rows = list(csv.DictReader(file))
        mine = frame.filter(polars.col("trial") == trial["id"])
        assert mine["value"].to_list() == [float(row["value"]) for row in rows]
        assert mine["step"].to_list() == [int(row["step"]) for row in rows]
        assert mine["metric"].to_list() == [row["metric"] for row in rows]
        assert mine["seed"].unique().to_list() == [trial["seed"]]
    assert store.records.to_polars().equals(frame)


def test_nothing_is_copied_and_nothing_dangles(store):
    pyarrow = pytest.importorskip("pyarrow")
    records = store.records
    first, second = pyarrow.table(records), pyarrow.table(records)
    address = [table["value"].chunk(0).buffers()[1].address for table in (first, second)]
    assert address[0] == address[1]
    values = first["value"].to_pylist()
    del records, second
    gc.collect()
    assert first["value"].to_pylist() == values
    batch = pyarrow.record_batch(store.records)
    assert batch.num_rows == len(values) and batch.schema == first.schema


def test_many_exports_leak_nothing(store):
    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    records = store.records
    for _ in range(1000):
        records.__arrow_c_stream__()
        records.__arrow_c_array__()
        records.__arrow_c_schema__()
    before = resident()
    for _ in range(50_000):
        records.__arrow_c_stream__()
        records.__arrow_c_array__()
    # Broken twin: an array that is not released is several hundred bytes, 30 MB in all.
    assert resident() - before < 8e6


def test_pandas(store):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = store.records.to_pandas()
    assert len(frame) == 20 and frame["value"].dtype == "float64"


def test_no_store():
    with pytest.raises(residuum.ResiduumError, match="must be a run store"):
        residuum.Store("nowhere")
