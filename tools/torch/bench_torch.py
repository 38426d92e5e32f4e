"""Samples per second of one training step (forward, loss, backward, SGD) in PyTorch.

    python tools/torch/bench_torch.py NETWORK RULE THREADS SECONDS FOLDER     prints one number

The benchmark `network` of the Rust workspace runs this and has written the images to FOLDER. RULE is always `digital` here.
One thread is timed by its CPU time, which other work on the machine does not stretch, more threads by the wall; either way
the best round of half a second counts.
"""

import os
import sys
import time

NETWORK, RULE, THREADS, SECONDS, FOLDER = sys.argv[1:]
# Read by the numerical libraries when they load. The type keeps OpenBLAS from a slow guess on virtual machines.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = THREADS
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from torch import nn  # noqa: E402

RATE = 0.05


def fcn():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10),
        nn.LogSoftmax(1))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Tanh(),
        nn.Flatten(), nn.Linear(512, 128), nn.Tanh(), nn.Linear(128, 10), nn.LogSoftmax(1))


# Network, images and their shape (channels innermost, as the files hold them), loss.
NETWORKS = {
    "fcn": (fcn, "digits", (28, 28, 1), nn.NLLLoss),
    "cnn": (cnn, "digits", (28, 28, 1), nn.NLLLoss),
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), "photos", (32, 32, 3), nn.CrossEntropyLoss),
}


def images(name, shape):
    """Images with their channels outermost, and their labels."""
    x = np.fromfile(os.path.join(FOLDER, name + ".images"), "<f4").reshape(-1, *shape)
    labels = np.fromfile(os.path.join(FOLDER, name + ".labels"), "<u4").astype(np.int64)
    return torch.from_numpy(x.transpose(0, 3, 1, 2).copy()), torch.from_numpy(labels)


def measure(prepare):
    """Samples per second; `prepare` makes an optimiser of a model, and a model for it of the plain one."""
    torch.set_num_threads(int(THREADS))
    clock = time.process_time if THREADS == "1" else time.perf_counter
    kind, batch = NETWORK.split()[0], int(NETWORK.split()[-1][1:])
    build, name, shape, loss = NETWORKS[kind]
    torch.manual_seed(1)
    model, optimizer = prepare(build().train())
    x, labels = images(name, shape)
    starts = range(0, len(x) - batch + 1, batch)
    batches = [(x[i:i + batch], labels[i:i + batch]) for i in starts]
    loss, k = loss(), 0

    def step():
        nonlocal k
        x, labels = batches[k % len(batches)]
        optimizer.zero_grad()
        loss(model(x), labels).backward()
        optimizer.step()
        k += 1

    step()
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < float(SECONDS):
        steps, before, begun = 0, clock(), time.perf_counter()
        while steps == 0 or time.perf_counter() - begun < 0.5:
            step()
            steps += 1
        best = min(best, (clock() - before) / steps)
    return batch / best


def plain(model):
    return model, torch.optim.SGD(model.parameters(), RATE)


if __name__ == "__main__":
    print(measure(plain))
