"""The paper's FCN on MNIST through `residuum.torch`, with torch's own sigmoid, loss and SGD: accuracies beside docs/results.

    python tools/torch/mnist_fcn.py [VARIANT] [--epochs 30] [--seed 0] [--data FOLDER]

VARIANT is a variant of experiments/mnist-fcn.toml. Start, batches and seeds are those of `residuum run mnist-fcn`; prints the test
accuracy of every epoch, with that of the trial in docs/results/mnist-fcn.csv where it has one, and the mean of the last five.
"""

import argparse
import csv
import pathlib
import time

import residuum
import residuum.torch as rt
import torch
from torch import nn

ROOT = pathlib.Path(__file__).parents[2]
TABLES = {
    "device": {
        "response": "power", "shape": 1.0, "radius": 0.6, "states": 1200, "normalization": "aihwkit",
        "step_spread": 0.3, "cycle_noise": 0.3, "imbalance_spread": 0.01,
    },
    "readout": "aihwkit",
    "mapping": {"output_scaling": "tile"},
}
TIKI_TAKA = {"kind": "tiki_taka", "learning_rate": {"constant": 0.01}, "transfer_rate": 0.05, "columns": 1}
# The rules of experiments/mnist-fcn.toml, with the learning rate that is the optimiser's here.
RULES = {
    "digital": (None, 0.1),
    "analog": ({"kind": "analog"}, 0.05),
    "residual": ({"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.4, "symmetric_point": "zero"}, 0.1),
    "tiki-taka": (TIKI_TAKA, 0.05),
    "tiki-taka-mixed": ({**TIKI_TAKA, "mixing": 0.4}, 0.05),
}


def network(start):
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10), nn.LogSoftmax(1)
    )
    model.load_state_dict({name: torch.from_numpy(start[name].reshape(p.shape)) for name, p in model.state_dict().items()})
    return model


def accuracy(model, batches):
    model.eval()
    with torch.no_grad():
        hits = [(model(torch.from_numpy(x)).argmax(1) == torch.from_numpy(y)).float() for x, y in batches]
    model.train()
    return torch.cat(hits).mean().item()


def recorded(variant, seed):
    """Test accuracies of the trial in docs/results, by epoch."""
    with open(ROOT / "docs/results/mnist-fcn.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["trial"] == variant and row["seed"] == str(seed)]
    return {int(row["epoch"]): float(row["test_accuracy"]) for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", nargs="?", default="tiki-taka-mixed", choices=RULES)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="folder of data sets")
    options = parser.parse_args()
    torch.set_num_threads(1)
    residuum.set_threads(1)
    rule, lr = RULES[options.variant]
    trial = residuum.Trial(str(ROOT / "experiments/mnist-fcn.toml"), variant=options.variant, seed=options.seed, data=options.data)
    model = network(trial.tensors())
    if rule is None:
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    else:
        model = rt.convert(model, rule=rule, seed=options.seed, **TABLES)
        optimizer = rt.Optimizer(model.parameters(), lr=lr, digital_lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 15, 0.5)
    beside, last = recorded(options.variant, options.seed), []
    for epoch in range(options.epochs):
        start = time.process_time()
        for x, y in trial.batches(epoch):
            optimizer.zero_grad()
            nn.functional.nll_loss(model(torch.from_numpy(x)), torch.from_numpy(y)).backward()
            optimizer.step()
        scheduler.step()
        seconds = time.process_time() - start
        last = [*last[-4:], accuracy(model, trial.test())]
        there = f", residuum run {beside[epoch + 1]:.4f}" if epoch + 1 in beside else ""
        print(f"epoch {epoch + 1}: {last[-1]:.4f}{there}, {seconds:.0f} s of CPU", flush=True)
    print(f"{options.variant}, seed {options.seed}: mean of the last {len(last)} epochs {sum(last) / len(last):.4f}")


if __name__ == "__main__":
    main()
