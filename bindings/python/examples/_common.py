"""What the examples share: images, a training loop, and the option --small."""

import sys

import residuum
import torch
from torch import nn

# Layers of this size are done before a second thread has woken up.
residuum.set_threads(1)
torch.set_num_threads(1)


def small() -> bool:
    """Whether to run at the size of a test."""
    return "--small" in sys.argv


def images(name="digits", samples=None):
    """Training and test images of a data set (samples × channels × height × width), and labels.

    The 8 × 8 digits are part of the package; `residuum data fetch mnist` brings MNIST.
    """
    spec = {
        "network": {"model": "mlp"},
        "data": {"set": name},
        "rule": {"kind": "digital", "learning_rate": 0.1},
        "training": {"epochs": 1, "batch_size": 100},
    }
    trial = residuum.Trial(spec, seed=0)

    def tensors(batches):
        pairs = [(torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(y)) for x, y in batches]
        return torch.cat([x for x, _ in pairs])[:samples].contiguous(), torch.cat([y for _, y in pairs])[:samples]

    return tensors(trial.batches(0)), tensors(trial.test())


def fit(model, optimizer, data, epochs, batch=10, schedulers=()):
    """Trains a classifier; returns its accuracy on the test images."""
    (x, y), (test_x, test_y) = data
    for epoch in range(epochs):
        model.train()
        for part in torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch)).split(batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    model.eval()
    with torch.no_grad():
        return (model(test_x).argmax(1) == test_y).float().mean().item()


def regress(model, optimizer, steps, x=None, y=None):
    """The toy of the simple examples: four inputs to two outputs, two samples. Returns the first and the last loss."""
    x = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.2, 0.1, 0.1, 0.3]]) if x is None else x
    y = torch.tensor([[1.0, 0.5], [0.7, 0.3]]) if y is None else y
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1]
