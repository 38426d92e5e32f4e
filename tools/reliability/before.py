#!/usr/bin/env python3
"""Each finding of docs/reliability.md on two programs: the one from before the fixes must show the defect, today's must not.

    git worktree add ../residuum-before 6915879
    (cd ../residuum-before && cargo build --release)
    tools/reliability/before.py ../residuum-before/target/release/residuum target/release/residuum [NAME…]

A case is a function that does the same to either program and returns whether the defect shows, and what was seen.
Linux only; needs nothing but Python. Exits with 1 if a case does not tell the two apart.
"""

import gzip
import http.server
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NETWORK = """
name = "small"
[network]
model = "mlp"
hidden = [8]
activation = "tanh"
[data]
set = "digits"
[device]
response = "power"
shape = 1.0
radius = 0.6
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 1
batch_size = 10
"""
DEVICE = "response = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200"
DIGITAL = ('kind = "analog"\nlearning_rate = 0.1', 'kind = "digital"\nlearning_rate = 0.3')
PROBLEM = """
name = "small"
steps = 200
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[noise]
kind = "gaussian"
deviation = 0.1
[device]
response = "power"
shape = 1.0
[rule]
kind = "analog"
learning_rate = 0.1
"""
RESIDUAL = 'kind = "residual_learning"\ntransfer_rate = 0.1\nmixing = 1.0\nlearning_rate = 0.1'
MEMORY = 3 << 30


class Program:
    """One program in a folder of its own."""

    def __init__(self, path, folder):
        self.path, self.at = Path(path).resolve(), Path(folder)

    def spec(self, text, *changes):
        for piece, by in changes:
            assert piece in text, piece
            text = text.replace(piece, by, 1)
        (self.at / "s.toml").write_text(text)

    def start(self, *arguments):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return subprocess.Popen([self.path, *arguments], cwd=self.at, preexec_fn=limit, text=True, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments, seconds=120):
        """Exit code (None when it had to be stopped) and everything it said."""
        child = self.start(*arguments)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return None, f"still running after {seconds} s"
        return child.returncode, out + err

    def sweep(self, *arguments):
        return self.run("sweep", "s.toml", "--store", "store", *arguments)

    def trial(self):
        return next((self.at / "store/trials").iterdir())

    def records(self, metric):
        rows = [line.split(",") for line in (self.trial() / "records.csv").read_text().splitlines()]
        name, value = rows[0].index("metric"), rows[0].index("value")
        return [float(row[value]) for row in rows[1:] if row[name] == metric]


def last(said):
    lines = [line for line in said.strip().splitlines() if line.strip() and not line.startswith("note: ")]
    told = [line for line in lines if "panicked" in line or line.startswith("error") or "memory allocation" in line]
    return (told or lines or ["nothing"])[-1].strip()[:160]


def accepted(program, command="check", seconds=20):
    """The defect is that a spec which cannot mean what it says is taken, or ends other than with a sentence."""
    code, said = program.run(command, "s.toml", seconds=seconds)
    return code != 2 or "panicked" in said, f"exit {code}: {last(said)}"


# Silently wrong

def frozen_layers_never_age(p):
    p.spec(NETWORK, ("hidden = [8]", 'hidden = [8]\nfrozen = "all"'), ("epochs = 1", "epochs = 3\nseeds = [4]"),
           ("states = 1200", "states = 1200\ndrift = { exponent = 0.4, onset_s = 1.0, step_s = 50.0, spread = 0.8 }"))
    p.sweep()
    losses = p.records("test_loss")
    return len(losses) == 3 and len(set(losses)) == 1, "test loss " + ", ".join(f"{x:.4f}" for x in losses)


def a_layer_that_does_not_exist(p):
    p.spec(NETWORK, ("hidden = [8]", 'hidden = [8]\nanalog = "fc9"'))
    return accepted(p)


def pcm_clips_negative_weights(p):
    p.spec(NETWORK, (DEVICE, 'preset = "pcm"'))
    return accepted(p)


def a_metric_that_does_not_exist(p):
    p.spec(NETWORK)
    p.sweep()
    code, said = p.run("report", "store", "--to", "page.html", "--metric", "acuracy")
    return code == 0, f"exit {code}: {last(said)}"


def two_versions_of_a_spec(p):
    """Both variants run, then one of them again with another number of epochs."""
    two = ('[rule]\nkind = "analog"\nlearning_rate = 0.1\n', "")
    variants = '\n[[variant]]\nname = "a"\nrule = { kind = "digital", learning_rate = 0.3 }\n'
    other = '[[variant]]\nname = "b"\nrule = { kind = "digital", learning_rate = 0.1 }\n'
    p.spec(NETWORK + variants + other, two, ("epochs = 1", "epochs = 1\nseeds = [0, 1, 2]"))
    p.sweep()
    p.spec(NETWORK + variants, two, ("epochs = 1", "epochs = 2\nseeds = [0, 1, 2]"))
    p.sweep()
    code, said = p.run("report", "store", "--to", "page.md")
    page = (p.at / "page.md").read_text()
    told = "| training.epochs = 1 | b |" in page
    paired = "b − a" in page
    return not (told and paired), f"epochs of b {'told' if told else 'lost'}, paired difference {'there' if paired else 'lost'}"


def a_damaged_newest_checkpoint(p):
    p.spec(NETWORK, ("[device]\n" + DEVICE + "\n", ""), DIGITAL, ("epochs = 1", "epochs = 3"))
    p.sweep()
    newest = sorted((p.trial() / "run/checkpoints").iterdir())[-1]
    state = newest / "state.safetensors"
    whole = json.loads(p.run("eval", str(p.trial()), "--json")[1])["test_accuracy"]
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)
    code, said = p.run("eval", str(p.trial()), "--json")
    if code == 0:
        given = json.loads(said[said.index("{"):])["test_accuracy"]
        return True, f"exit 0: {100 * given:.1f} % instead of {100 * whole:.1f} %"
    return False, f"exit {code}: {last(said)}"


def a_flipped_bit_in_a_checkpoint(p):
    """The run is stopped, a bit of the newest checkpoint flipped, and the run ended."""
    p.spec(PROBLEM, ("steps = 200", "steps = 3000000"), ("learning_rate = 0.1", "learning_rate = 1e-7\n[record]\nmetrics = [\"gap\", \"main\"]\nsteps = [3000000]"))
    p.sweep()
    alone = (p.trial() / "records.csv").read_bytes()
    shutil.rmtree(p.at / "store")
    child = p.start("sweep", "s.toml", "--store", "store")
    time.sleep(0.4)
    child.send_signal(signal.SIGINT)
    child.communicate()
    state = max([*p.trial().glob("checkpoint.json"), *p.trial().glob("checkpoints/*/state.safetensors")])
    data = bytearray(state.read_bytes())
    flip(data)
    state.write_bytes(data)
    code, said = p.sweep()
    same = (p.trial() / "records.csv").exists() and (p.trial() / "records.csv").read_bytes() == alone
    return code == 0 and not same, f"exit {code}, records {'the same' if same else 'differ'}: {last(said)}"


def flip(data):
    """A bit of a weight: the checkpoint was JSON with the bits of numbers, and is a file of tensors."""
    weights = data.find(b'"main.weights",[')
    data[-3 if weights < 0 else weights + 24] ^= 1


def a_loss_that_explodes(p):
    p.spec(PROBLEM, ("[device]\nresponse = \"power\"\nshape = 1.0\n", ""), ('kind = "analog"\nlearning_rate = 0.1', 'kind = "digital"\nlearning_rate = 2.5'))
    code, said = p.sweep()
    return code == 0, f"exit {code}: {last(said)}"


def a_batch_larger_than_the_data(p):
    p.spec(NETWORK, ("batch_size = 10", "batch_size = 2000"))
    return accepted(p)


def bounds_that_cannot_fail(p):
    """A bound is a hundred times what is measured, a tolerance larger than its floor, and nothing beside them would notice."""
    _, said = p.run("verify", "thm-convergence", "thm-lower-bound", "--quick")
    rows = [" ".join(line.split()) for line in said.splitlines() if "against the bound" in line or "against the repaired floor" in line]
    return "slack of the bound" not in said, f"{rows[0]}; {next(row for row in rows if 'floor' in row)}"


# Holes

def a_manifest_that_names_a_folder(p):
    p.spec(NETWORK)
    p.sweep()
    victim = p.at / "victim"
    victim.mkdir()
    (victim / "precious").write_text("kept")
    manifest = p.trial() / "manifest.json"
    manifest.write_text(manifest.read_text().replace(p.trial().name, "../../victim"))
    code, said = p.run("runs", "rm", "store", "--experiment", "small")
    return not victim.exists(), f"exit {code}, folder {'kept' if victim.exists() else 'removed'}: {last(said)}"


def a_reader_that_tidies(p):
    p.spec(NETWORK)
    p.sweep()
    partial = p.trial() / "run/checkpoints/partial"
    partial.mkdir(parents=True)
    (partial / "state.safetensors").write_text("half of it")
    code, _ = p.run("eval", str(p.trial()))
    return not partial.exists(), f"exit {code}, the writer's partial checkpoint {'kept' if partial.exists() else 'removed'}"


def a_lock_that_is_a_link(p):
    p.spec(NETWORK)
    p.sweep()
    trial, victim = p.trial(), p.at / "victim"
    seen = []
    for link in [".lock", "run/.lock", "run/events.out.tfevents.residuum"]:
        shutil.rmtree(trial)
        (trial / "run").mkdir(parents=True)
        victim.write_text("kept")
        (trial / link).symlink_to(victim)
        p.sweep()
        if victim.read_bytes() != b"kept":
            seen.append(link)
    return bool(seen), f"overwritten through {', '.join(seen) or 'none of the three'}"


class Endless(http.server.BaseHTTPRequestHandler):
    """A mirror whose files never end."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(1 << 20))
        except OSError:
            pass

    def log_message(self, *_):
        pass


def a_mirror_without_an_end(p):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    child = p.start("data", "fetch", "mnist", "--dir", "data", "--mirror", f"http://127.0.0.1:{server.server_port}")
    most, start = 0, time.time()
    while child.poll() is None and most < 600 << 20 and time.time() - start < 60:
        most = max(most, sum(f.stat().st_size for f in (p.at / "data").rglob("*") if f.is_file()) if (p.at / "data").exists() else 0)
        time.sleep(0.02)
    ended = child.poll() is not None
    child.kill()
    child.communicate()
    server.shutdown()
    left = sum(f.stat().st_size for f in (p.at / "data").rglob("*") if f.is_file())
    return most >= 600 << 20 or left > 600 << 20, f"{most >> 20} MB on the disk{' and ended' if ended else ' and still going'}"


def a_gzip_bomb(p):
    folder = p.at / "data/mnist"
    zeros = gzip.compress(bytes(64 << 20))
    folder.mkdir(parents=True)
    for name in ["train-images-idx3-ubyte", "t10k-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"]:
        header = gzip.compress(bytes([0, 0, 8, 3, 0, 0, 0xEA, 0x60, 0, 0, 0, 28, 0, 0, 0, 28]))
        (folder / f"{name}.gz").write_bytes(header + 80 * zeros)
    p.spec(NETWORK, ('set = "digits"', 'set = "mnist"'))
    code, said = p.run("sweep", "s.toml", "--store", "store", "--data", "data")
    told = "must decompress to at most" in said
    return not told, f"exit {code}: {last('error' + said.split('failed:')[-1] if 'failed:' in said else said)}"


def a_formula_in_a_title(p):
    p.spec(NETWORK.replace('[rule]\nkind = "analog"\nlearning_rate = 0.1\n', "") +
           '[[variant]]\nname = "a"\ntitle = \'=HYPERLINK("http://example.org")\'\nrule = { kind = "analog", learning_rate = 0.1 }\n')
    p.sweep()
    p.run("runs", "export", "store", "--to", "all.csv")
    line = (p.at / "all.csv").read_text().splitlines()[1]
    cell = line[line.index("=HYPERLINK") - 2:][:24]
    return not cell.lstrip(',"').startswith("'"), f"exported as {cell}…"


# Crashes and hangs

def a_layer_of_a_million_million(p):
    p.spec(NETWORK, ("hidden = [8]", "hidden = [1000000000000]"))
    defect, seen = accepted(p)
    return defect, seen + ("; run: " + accepted(p, "train")[1] if defect else "")


def a_shape_beyond_the_memory(p):
    (p.at / "model.json").write_text(json.dumps({"weightsManifest": [{"paths": ["shard.bin"], "weights": [
        {"name": "fc1000/kernel", "shape": [1 << 61, 4], "dtype": "float32"}]}]}))
    (p.at / "shard.bin").write_bytes(b"")  # what 2^61 · 4 · 4 bytes wrap to
    code, said = p.run("convert", "model.json", "--to", "o.safetensors")
    return code != 2 or "panicked" in said, f"exit {code}: {last(said)}"


def a_report_of_huge_values(p):
    p.spec(PROBLEM, ("learning_rate = 0.1", "learning_rate = 0.1\n[record]\nmetrics = [\"gap\"]\nevery = 50"))
    p.sweep()
    path = p.trial() / "records.csv"
    lines = path.read_text().splitlines()
    values = ["1e-29", *["1e300"] * (len(lines) - 2)]
    path.write_text("\n".join([lines[0], *(line.rsplit(",", 1)[0] + "," + value for line, value in zip(lines[1:], values)), ""]))
    code, said = p.run("report", "store", "--to", "page.html", "--metric", "gap")
    return code not in (0, 2) or "panicked" in said, f"exit {code}: {last(said)}"


def a_short_id(p):
    p.spec(PROBLEM)
    p.sweep()
    trial = p.trial()
    manifest = (trial / "manifest.json").read_text()
    short = trial.rename(trial.parent / "é1")
    (short / "manifest.json").write_text(manifest.replace(trial.name, "é1"))
    code, said = p.run("runs", "list", "store")
    return code not in (0, 2) or "panicked" in said, f"exit {code}: {last(said)}"


def pairs_without_an_end(p):
    p.spec(PROBLEM, ('kind = "analog"\nlearning_rate = 0.1', RESIDUAL + "\nsymmetric_point = { zero_shift = { pairs = 4294967296, pulse_step = 0.01 } }"))
    return accepted(p)


def a_problem_of_99999999_weights(p):
    p.spec(PROBLEM, ("minimizer = 0.5", "minimizer = 0.5\ndim = 99999999"), ("[rule]", '[record]\nmetrics = ["gap"]\n[rule]'))
    return accepted(p)


def a_check_that_ignores_ctrl_c(p):
    formula = '"0.5 + 0.1*sin(i)*exp(cos(i/n))"'
    p.spec(PROBLEM, ("minimizer = 0.5", f"minimizer = {formula}\ndim = 9999999"), ("curvature = 1.0", f"curvature = {formula}"),
           ("[rule]", '[record]\nmetrics = ["gap"]\n[rule]'))
    child = p.start("check", "s.toml")
    time.sleep(0.3)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    said = "".join(child.communicate())
    return child.returncode != 130, f"exit {child.returncode} {time.time() - sent:.1f} s after the signal: {last(said)}"


def practical_rates_of_an_extreme_problem(p):
    p.spec(PROBLEM, ("curvature = 1.0", "curvature = 1e300"), ('kind = "analog"\nlearning_rate = 0.1', 'kind = "residual_learning"\nrates = "practical"'))
    code, said = p.run("check", "s.toml", seconds=20)
    return code is None, f"exit {code}: {last(said)}"


def a_store_removed_during_a_sweep(p):
    p.spec(PROBLEM, ("steps = 200", "steps = 200000\nseeds = { count = 12 }"), ("learning_rate = 0.1", 'learning_rate = 1e-4\n[record]\nmetrics = ["gap"]\nevery = 100'))
    child = p.start("sweep", "s.toml", "--store", "store", "--threads", "1")
    start = time.time()
    while not list(p.at.glob("store/trials/*/records.csv")) and time.time() - start < 30:
        time.sleep(0.002)
    assert child.poll() is None, "it ended too early"
    shutil.rmtree(p.at / "store", ignore_errors=True)
    shutil.rmtree(p.at / "store", ignore_errors=True)
    said = "".join(child.communicate())
    missing = 12 - len(list(p.at.glob("store/trials/*/records.csv")))
    return child.returncode == 0 and missing > 0, f"exit {child.returncode}, {missing} of 12 trials are not there: {last(said)}"


CASES = [f for f in list(globals().values()) if callable(f) and getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("p",)]


def main():
    before, now, *names = sys.argv[1:]
    failures = 0
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        outcomes = []
        for path, expected in [(before, True), (now, False)]:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    defect, seen = case(Program(path, folder))
                except Exception as error:  # a case that cannot be told is no evidence
                    defect, seen = None, f"not told: {error!r}"
            failures += defect is not expected
            outcomes.append(f"{'ok ' if defect is expected else 'BAD'} {seen}")
        print(f"{case.__name__.replace('_', ' ')}\n  before: {outcomes[0]}\n  now:    {outcomes[1]}", flush=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
