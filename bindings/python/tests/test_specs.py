"""Specs run from Python: the same trials, records and errors as the command's."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
import residuum


def command(*words, **options):
    """The command that the package carries."""
    program = Path(sys.executable).parent / "residuum"
    return subprocess.run([program, *words], capture_output=True, text=True, **options)


TOML = """
name = "small"
steps = 400
seeds = [1, 2]
problem = { kind = "quadratic", curvature = 1.0, minimizer = 0.5 }
noise = { kind = "gaussian", deviation = 0.5 }
device = { response = "power", shape = 1.0, radius = 1.0 }
rule = { kind = "analog", learning_rate = 0.02 }
record = { metrics = ["gap"], every = 100 }
"""


def records(store):
    return {path.parent.name: path.read_bytes() for path in Path(store).glob("trials/*/records.csv")}


def test_the_digits_print_their_table(capsys):
    run = residuum.run("digits", variant="digital", seed=0)
    printed = capsys.readouterr().out
    assert "test accuracy" in printed and "1 trial: 1 done, 0 already done; in runs/digits" in printed
    assert str(run) == printed
    assert run.findings and run.findings[0].startswith("Digital SGD reaches 9")
    assert run.figure.to_svg().startswith("<svg")
    assert run.figure.to_png()[:4] == b"\x89PNG"
    assert "<svg" in run._repr_html_()


def test_a_dict_is_a_file_and_python_is_the_command(problem):
    Path("small.toml").write_text(TOML)
    assert command("run", "small.toml", "--out", "by-command").returncode == 0
    residuum.run("small.toml", out="by-file", quiet=True)
    run = residuum.run(problem, out="by-dict", jobs=2, quiet=True)
    assert run.summary == {"total": 2, "done": 2, "already": 0, "elsewhere": 0}
    assert run.failed == [] and len(records("by-dict")) == 2
    assert records("by-dict") == records("by-file") == records("by-command")
    # What is in a store is not run again, whoever put it there.
    again = residuum.run(problem, out="by-command", quiet=True)
    assert again.summary["already"] == 2
    # Broken twin: another number is another trial.
    problem["rule"]["learning_rate"] = 0.021
    assert residuum.run(problem, out="by-command", quiet=True).summary["done"] == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rule": {"kind": "analog", "lerning_rate": 0.1}}, "rule.lerning_rate is not a field; did you mean learning_rate?"),
        ({"device": {"response": "powr"}}, "device.response must be one of"),
        ({"steps": -1}, "steps must be"),
        ({"steps": float("nan")}, "steps must be finite, got NaN"),
        ({"steps": None}, "steps must not be None: omit the field"),
        ({"steps": 2**70}, "steps must fit 64 bits"),
        ({"rule": {1: 2}}, "rule must have words for keys"),
        ({"noise": {"kind": {1, 2}}}, "noise.kind must be a number, text"),
    ],
)
def test_errors_have_the_sentence_and_no_line(problem, change, sentence):
    with pytest.raises(residuum.ResiduumError) as error:
        residuum.run(problem | change, quiet=True)
    assert sentence in str(error.value) and "line " not in str(error.value)
    assert isinstance(error.value, ValueError)
    assert not Path("runs").exists()


def test_other_wrong_specs():
    with pytest.raises(residuum.ResiduumError, match="must be a spec file or one of digits"):
        residuum.run("digts")
    with pytest.raises(residuum.ResiduumError, match="spec must be a dict"):
        residuum.run(3)
    Path("bad.toml").write_text("steps = 3\nrule = 1\n")
    with pytest.raises(residuum.ResiduumError, match="bad.toml: "):
        residuum.check("bad.toml")
    with pytest.raises(residuum.ResiduumError, match="residuum data fetch mnist"):
        residuum.run("mnist-fcn", data="nowhere", quiet=True)


def test_check_explain_report_compare(problem):
    problem["sweep"] = {"device.radius": [1.0, 2.0]}
    assert residuum.check(problem) == {"experiment": "small", "points": 2, "trials": 4, "missing_data": []}
    explanation = residuum.explain(problem)
    assert "rule.learning_rate" in str(explanation) and explanation.data["trials"] == 4
    residuum.run(problem, out="s", quiet=True)
    report = residuum.report("s")
    assert "device.radius" in str(report) and list(report.figures) == ["small: against-radius", "small: curves-gap"]
    report.save("report.html")
    assert Path("report.html").read_text() == report.to_html()
    del problem["sweep"]
    other = problem | {"rule": {"kind": "analog", "learning_rate": 0.04}}
    compared = residuum.compare(problem, other, out="c", quiet=True)
    assert "rule.learning_rate" in str(compared)
    with pytest.raises(residuum.ResiduumError, match="A and B must compute different things"):
        residuum.compare(problem, problem, out="c", quiet=True)


def test_claims_and_figures_of_the_paper():
    verified = residuum.verify("analog-update", quick=True, quiet=True)
    assert verified.passed and verified.data
    with pytest.raises(residuum.ResiduumError, match="claim must be one of"):
        residuum.verify("no-such-claim")
    with pytest.raises(residuum.ResiduumError, match="name must be one of"):
        residuum.reproduce("no-such-figure")
    item = residuum.reproduce("fig-response", profile="quick", out="paper", quiet=True)
    assert item.files and all(Path(file).exists() for file in item.files)


def test_a_failed_trial_is_told_and_the_others_run(problem):
    problem["rule"]["learning_rate"] = 1e300
    problem["device"] = {"response": "constant"}
    run = residuum.run(problem, out="s", quiet=True)
    assert len(run.failed) == 2 and run.failed[0]["sentence"]
    assert len(residuum.Store("s").failures) == 2


def test_ctrl_c_stops_and_the_same_call_continues(problem):
    script = textwrap.dedent("""
        import signal, sys, residuum
        # A shell that starts tests in the background has it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        spec = {"name": "long", "steps": 400_000_000, "seeds": [1, 2],
                "problem": {"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5},
                "noise": {"kind": "gaussian", "deviation": 0.5},
                "device": {"response": "power", "shape": 1.0, "radius": 1.0},
                "rule": {"kind": "analog", "learning_rate": 0.02},
                "record": {"metrics": ["gap"], "every": 100_000_000}}
        print("begins", flush=True)
        try:
            residuum.run(spec, out="s", quiet=True)
        except KeyboardInterrupt:
            print("stopped", flush=True)
            sys.exit(130)
    """)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(1.5)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    try:
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and out == "stopped\n", out
    assert time.monotonic() - start < 20
    # What was done is kept as a checkpoint, and nobody holds the trials.
    store = residuum.Store("s")
    states = [store.state(id) for id in store.ids]
    assert "begun" in states
    assert list(Path("s/trials").glob("*/checkpoints/*"))


def test_threads_are_bounded_and_change_nothing(problem):
    before = residuum.threads()
    try:
        for n in (1, 2):
            residuum.set_threads(n)
            assert residuum.threads() == n
            residuum.run(problem, out=f"s{n}", quiet=True)
        assert records("s1") == records("s2")
        for wrong in (0, 100_000):
            with pytest.raises(residuum.ResiduumError, match="threads must be between 1 and"):
                residuum.set_threads(wrong)
        with pytest.raises((OverflowError, TypeError)):
            residuum.set_threads(-1)
    finally:
        residuum.set_threads(before)


def test_python_runs_while_a_trial_does(problem):
    """The interpreter's lock is free during the work."""
    problem["steps"] = 3_000_000
    problem["record"]["every"] = 1_000_000
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    residuum.run(problem, out="s", quiet=True)
    done.set()
    thread.join()
    assert counted[0] > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own(problem):
    residuum.run(problem, out="s", quiet=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            residuum.run(problem, out="t", quiet=True)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert records("s") == records("t")


def test_the_command_and_its_exit_codes(problem):
    Path("small.toml").write_text(TOML)
    assert command("check", "small.toml").returncode == 0
    assert "residuum 0." in command("--version").stdout
    wrong = command("run", "nowhere.toml")
    assert wrong.returncode == 2 and "cannot read nowhere.toml" in wrong.stderr
    assert command("frobnicate").returncode == 2
    Path("wild.toml").write_text(TOML.replace("0.02", "1e300").replace('"power", shape = 1.0, radius = 1.0', '"constant"'))
    assert command("run", "wild.toml").returncode == 1
    script = command("run", "small.toml", "--slurm=2")
    assert script.returncode == 0 and "#SBATCH --array=0-1" in script.stdout


def test_a_trial_travels_between_stores_by_its_files(problem):
    """What a Ray task sends back is the trial, byte for byte; unfinished ones continue."""
    import importlib.util

    import residuum.ray
    from residuum import _residuum

    values = _residuum.spec_values(problem)
    assert values["name"] == "small"
    ids = [id for id, _, _ in _residuum.trials(values)]
    done = _residuum.run(values, out="far", only=ids[:1], quiet=True)
    assert done.summary["total"] == 1
    far, near = residuum.Store("far"), residuum.Store.create("near")
    files = far.files(ids[0])
    assert near.adopt(ids[0], {name: data for name, data in files.items() if name != "records.csv"}) == "begun"
    assert near.adopt(ids[0], files) == "done" and near.files(ids[0]) == files
    with pytest.raises(residuum.ResiduumError):
        near.adopt(ids[1], {"../outside": b""})
    assert not Path("near/trials/outside").exists()
    assert residuum.run(problem, out="near", quiet=True).summary["already"] == 1
    with pytest.raises(residuum.ResiduumError, match="only must name trials of the spec"):
        _residuum.run(values, out="far", only=["0" * 32], quiet=True)
    if importlib.util.find_spec("ray") is None:
        with pytest.raises(ImportError, match="ray must be installed"):
            residuum.ray.run(problem, "near")
