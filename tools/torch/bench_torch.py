"""Samples per second of one training step (forward, loss, backward, SGD) in PyTorch.

    python tools/torch/bench_torch.py THREADS     prints one JSON object {case: samples per second}

One thread: best round of half a second, in CPU time, which other work on the machine does not stretch. More threads: fastest
step, in wall time.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

SECONDS = 3.0


def fcn():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10),
        nn.LogSoftmax(1))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Tanh(),
        nn.Flatten(), nn.Linear(512, 128), nn.Tanh(), nn.Linear(128, 10), nn.LogSoftmax(1))


CASES = {
    "fcn b10": (fcn, (1, 28, 28), 10, F.nll_loss),
    "fcn b128": (fcn, (1, 28, 28), 128, F.nll_loss),
    "cnn b8": (cnn, (1, 28, 28), 8, F.nll_loss),
    "cnn b64": (cnn, (1, 28, 28), 64, F.nll_loss),
    "resnet18 32px b16": (lambda: torchvision.models.resnet18(num_classes=10), (3, 32, 32), 16, F.cross_entropy),
}


def measure(clock, least, build, shape, batch, loss):
    model = build().train()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, labels = torch.rand(batch, *shape), torch.arange(batch) % 10

    def step():
        optimizer.zero_grad()
        loss(model(x), labels).backward()
        optimizer.step()

    for _ in range(3):
        step()
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        steps, before, begun = 0, clock(), time.perf_counter()
        while steps == 0 or time.perf_counter() - begun < least:
            step()
            steps += 1
        best = min(best, (clock() - before) / steps)
    return batch / best


def main():
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    how = (time.process_time, 0.5) if threads == 1 else (time.perf_counter, 0.0)
    print(json.dumps({name: measure(*how, *case) for name, case in CASES.items()}))


if __name__ == "__main__":
    main()
