"""Logits of torchvision's ResNets whose weights are made by formula.

    python tools/torch/reference_resnets.py       writes golden/torch/resnets.json
"""

import torch
import torch.nn.functional as F
import torchvision

from common import fill, flat, tensor, write_json

torch.set_num_threads(1)


def case(name, size, batch):
    model = fill(getattr(torchvision.models, name)(num_classes=20)).eval()
    x = tensor(f"{name}.input", batch, 3, size, size)
    with torch.no_grad():
        logits = model(x)
    names = [[n, list(v.shape)] for n, v in model.state_dict().items()]
    return {"name": name, "size": size, "batch": batch, "tensors": names, "logits": flat(logits)}


def training(size=32, batch=8, steps=2, rate=0.01):
    """Two steps of SGD on ResNet-18: the losses, and the logits of the trained network in evaluation."""
    model = fill(torchvision.models.resnet18(num_classes=20)).train()
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9, weight_decay=1e-4)
    labels = torch.arange(batch) * 7 % 20
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        value = F.cross_entropy(model(tensor(f"train.{step}", batch, 3, size, size)), labels)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    model.eval()
    with torch.no_grad():
        after = model(tensor("train.after", batch, 3, size, size))
    return {"size": size, "batch": batch, "learning_rate": rate, "momentum": 0.9, "weight_decay": 1e-4,
            "losses": losses, "after": flat(after)}


def main():
    nets = [case("resnet18", 64, 2), case("resnet34", 64, 2), case("resnet50", 64, 2)]
    versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
    write_json("resnets.json", {**versions, "networks": nets, "training": training()})


if __name__ == "__main__":
    main()
