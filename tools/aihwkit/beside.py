"""The paper's FCN on MNIST in AIHWKIT and in Residuum, one after the other on one thread: accuracy after each epoch and CPU time.

    python tools/aihwkit/beside.py DATA [--epochs 3] [--program target/release/residuum] > docs/results/beside-aihwkit.csv

DATA is the folder of data sets (`residuum data fetch mnist --dir DATA`). Both sides: 784-256-128-10, sigmoids, power response of shape 1
and radius 0.6 with AIHWKIT's default variation, noise and converters, batch 10; Analog SGD at rate 0.05, and Tiki-Taka with one
column per mini-batch, fast rate 0.01 and mixing 0.4, which is what the paper's scripts run as Residual Learning. Seconds are CPU time of
training and testing: of AIHWKIT from the first batch on, of Residuum of the whole program. The figure of the README is drawn from the
result by `cargo run --release -p residuum-lab --example figures`.
"""

import argparse
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import torch  # noqa: E402
from aihwkit import __version__  # noqa: E402
from aihwkit.nn.conversion import convert_to_analog  # noqa: E402
from aihwkit.optim import AnalogSGD  # noqa: E402
from aihwkit.simulator.configs import SingleRPUConfig, build_config  # noqa: E402
from aihwkit.simulator.configs.devices import PowStepDevice  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)
RULES = {"Analog SGD": "analog", "Tiki-Taka, mixing 0.4": "tiki-taka-mixed"}


def idx(folder, name, header):
    """A file of MNIST, plain or gzipped."""
    path = folder / "mnist" / name
    data = path.read_bytes() if path.exists() else gzip.decompress((folder / "mnist" / f"{name}.gz").read_bytes())
    return torch.frombuffer(bytearray(data[header:]), dtype=torch.uint8)


def samples(folder, part):
    return idx(folder, f"{part}-images-idx3-ubyte", 16).reshape(-1, 784).float() / 255, idx(folder, f"{part}-labels-idx1-ubyte", 8).long()


def network(rule):
    device = PowStepDevice(
        dw_min=2 * 0.6 / 1200, pow_gamma=1.0, pow_gamma_dtod=0, w_max=0.6, w_min=-0.6, w_max_dtod=0, w_min_dtod=0)
    if rule == "Analog SGD":
        config = SingleRPUConfig(device=device)
    else:
        config = build_config("ttv1", device=device, construction_seed=123)
        config.device.fast_lr = 0.01
        config.device.n_reads_per_transfer = 1
        config.device.gamma = 0.4
    config.mapping.learn_out_scaling = True
    config.mapping.weight_scaling_columnwise = True
    model = nn.Sequential(
        nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10), nn.LogSoftmax(1))
    model = convert_to_analog(model, config)
    optimizer = AnalogSGD(model.parameters(), lr=0.05)
    optimizer.regroup_param_groups(model)
    return model, optimizer


def theirs(rule, folder, epochs):
    torch.manual_seed(0)
    (x, y), (test_x, test_y) = samples(folder, "train"), samples(folder, "t10k")
    model, optimizer = network(rule)
    begun = time.process_time()
    for epoch in range(1, epochs + 1):
        model.train()
        for batch in torch.randperm(len(y)).split(10):
            optimizer.zero_grad()
            nn.functional.nll_loss(model(x[batch]), y[batch]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = [(model(a).argmax(1) == b).float() for a, b in zip(test_x.split(100), test_y.split(100))]
        yield epoch, torch.cat(hits).mean().item(), time.process_time() - begun


def ours(rule, folder, epochs, program):
    spec = (pathlib.Path(__file__).parents[2] / "experiments/mnist-fcn.toml").read_text()
    with tempfile.TemporaryDirectory() as out:
        text = f"{spec}\n[profile.beside]\ntraining = {{ epochs = {epochs}, seeds = [0] }}\n"
        path = pathlib.Path(out) / "beside.toml"
        path.write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [program, "run", path, "--profile", "beside", "--variant", RULES[rule], "--threads", "1", "--data", folder,
             "--out", f"{out}/store", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        (metrics,) = pathlib.Path(out, "store").glob("trials/*/run/metrics.jsonl")
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    for row in rows:
        # Epochs take the same time; the program is measured as a whole.
        yield row["epoch"], row["test_accuracy"], spent * row["epoch"] / epochs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--program", default="target/release/residuum")
    options = parser.parse_args()
    print("program,rule,epoch,test_accuracy,cpu_seconds")
    for rule in RULES:
        for name, run in (("Residuum", lambda: ours(rule, options.data.resolve(), options.epochs, options.program)),
                          (f"AIHWKIT {__version__}", lambda: theirs(rule, options.data, options.epochs))):
            for epoch, accuracy, seconds in run():
                print(f'{name},"{rule}",{epoch},{accuracy:.4f},{seconds:.1f}', flush=True)
                print(name, rule, epoch, f"{accuracy:.4f}", f"{seconds:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
