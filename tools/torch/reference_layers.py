"""Outputs and gradients of single layers, losses and short training runs, as PyTorch computes them.

    python tools/torch/reference_layers.py        writes golden/torch/layers.json, lists.json, training.json, tiny.safetensors
"""

import torch
import torch.nn.functional as F
from torch import nn

from common import GOLDEN, fill, flat, tensor, write_json, write_safetensors

torch.set_num_threads(1)


def case(name, kind, layer, shape, scale=1.0, shift=0.0, **options):
    """One layer: output, gradient of the input and of every parameter for given errors; then evaluation.

    Inputs, errors and parameters follow the formula, so they are not written.
    """
    fill(layer)
    x = (scale * tensor(name + ".input", *shape) + shift).requires_grad_()
    layer.train()
    y = layer(x)
    errors = tensor(name + ".errors", *y.shape)
    y.backward(errors)
    after = {n: flat(v) for n, v in layer.named_buffers() if v.dtype == torch.float32}
    layer.eval()
    return {
        "name": name, "kind": kind, "options": options, "input_shape": list(shape), "scale": scale, "shift": shift,
        "output_shape": list(y.shape), "output": flat(y), "input_errors": flat(x.grad),
        "gradients": {n: flat(p.grad) for n, p in layer.named_parameters()},
        "buffers": after, "evaluated": flat(layer(x)),
    }


class Block(nn.Module):
    """A residual block with torchvision's names."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + shortcut)


def layers():
    image, vector = (2, 4, 6, 5), (5, 12)
    yield case("linear", "linear", nn.Linear(12, 7), vector)
    yield case("linear_no_bias", "linear", nn.Linear(12, 7, bias=False), vector)
    for name, kernel, stride, padding, bias in [
        ("conv_3", (3, 3), 1, 0, True), ("conv_3_padded", (3, 3), 1, 1, False), ("conv_3_strided", (3, 3), 2, 1, True),
        ("conv_1", (1, 1), 1, 0, False), ("conv_1_strided", (1, 1), 2, 0, True), ("conv_7", (7, 7), 2, 3, False),
        ("conv_flat", (2, 5), 1, 2, True),
    ]:
        conv = nn.Conv2d(4, 5, kernel, stride, padding, bias=bias)
        yield case(name, "conv", conv, image, kernel=list(kernel), stride=stride, padding=padding, channels=4)
    yield case("norm", "norm", nn.BatchNorm2d(4), image, 3.0, 1.0)
    yield case("norm_epsilon", "norm", nn.BatchNorm2d(4, eps=0.01), image, epsilon=0.01)
    yield case("relu", "relu", nn.ReLU(), image)
    yield case("sigmoid", "sigmoid", nn.Sigmoid(), image, 4.0)
    yield case("tanh", "tanh", nn.Tanh(), image, 3.0)
    yield case("log_softmax", "log_softmax", nn.LogSoftmax(1), vector, 5.0)
    for name, layer, kernel, stride, padding in [
        ("max_pool_2", nn.MaxPool2d(2), 2, 2, 0), ("max_pool_3", nn.MaxPool2d(3, 2, 1), 3, 2, 1),
        ("avg_pool_2", nn.AvgPool2d(2), 2, 2, 0), ("avg_pool_3", nn.AvgPool2d(3, 2, 1), 3, 2, 1),
    ]:
        yield case(name, name[:8], layer, image, kernel=kernel, stride=stride, padding=padding)
    yield case("global_pool", "global_pool", nn.AdaptiveAvgPool2d(1), image)
    yield case("flatten", "flatten", nn.Flatten(), image)
    yield case("residual", "residual", Block(4, 4, 1), image, outputs=4, stride=1)
    yield case("residual_down", "residual", Block(4, 6, 2), image, outputs=6, stride=2)


class Both(nn.Module):
    """A block around named layers: their sum with a shortcut, or their outputs side by side."""

    def __init__(self, join, *branches):
        super().__init__()
        self.join = join
        for i, branch in enumerate(branches):
            self.add_module(str(i), branch)

    def forward(self, x):
        return self.join([branch(x) for branch in self.children()])


class Plain(nn.Sequential):
    """A residual block whose main path goes by the name of the block, without anything after the sum."""

    def forward(self, x):
        return super().forward(x) + x


def listed():
    """Layers that networks have as lists: built from the list in `options`, so that the builder is tested with them."""
    image, vector, line = (2, 4, 6, 5), (5, 12), (3, 4, 9)

    def one(name, layer, shape, spec, **more):
        return case(name, "list", layer, shape, layers=spec, **more)

    conv = {"kind": "conv2d", "outputs": 6}
    for name, kernel, stride, padding, dilation, groups in [
        ("list_conv_dilated", 3, 1, 2, 2, 1), ("list_conv_dilated_strided", 3, 2, 1, 2, 1),
        ("list_conv_grouped", 3, 1, 1, 1, 2), ("list_conv_grouped_strided", 3, 2, 1, 1, 2),
        ("list_conv_dilated_grouped", 2, 1, 0, 3, 2),
    ]:
        layer = nn.Sequential(nn.Conv2d(4, 6, kernel, stride, padding, dilation, groups))
        options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        yield one(name, layer, image, [conv | options])
    yield one("list_conv_pairs", nn.Sequential(nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), bias=False)), image,
              [conv | {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "bias": False}])
    yield one("list_depthwise", nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1, groups=4)), image,
              [{"kind": "conv2d", "outputs": 4, "kernel": 3, "padding": 1, "groups": 4}])
    for name, kernel, stride, padding, dilation, groups in [
        ("list_conv1d", 3, 1, 0, 1, 1), ("list_conv1d_padded", 5, 2, 2, 1, 1), ("list_conv1d_dilated", 3, 1, 2, 2, 2),
    ]:
        layer = nn.Sequential(nn.Conv1d(4, 6, kernel, stride, padding, dilation, groups))
        options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        yield one(name, layer, line, [{"kind": "conv1d", "outputs": 6} | options])
    yield one("list_pool1d", nn.Sequential(nn.MaxPool1d(3, 2, 1)), line,
              [{"kind": "max_pool1d", "kernel": 3, "stride": 2, "padding": 1}])
    yield one("list_avg_pool1d", nn.Sequential(nn.AvgPool1d(2)), line, [{"kind": "avg_pool1d", "kernel": 2}])
    yield one("list_norm_vector", nn.Sequential(nn.BatchNorm1d(12)), vector, ["batch_norm"], scale=3.0, shift=1.0)
    yield one("list_layer_norm", nn.Sequential(nn.LayerNorm(12)), vector, ["layer_norm"], scale=3.0, shift=1.0)
    yield one("list_layer_norm_image", nn.Sequential(nn.LayerNorm([4, 6, 5])), image, ["layer_norm"], scale=2.0)
    yield one("list_layer_norm_line", nn.Sequential(nn.LayerNorm([4, 9], eps=0.01)), line,
              [{"kind": "layer_norm", "epsilon": 0.01}])
    yield one("list_leaky_relu", nn.Sequential(nn.LeakyReLU()), image, ["leaky_relu"])
    yield one("list_silu", nn.Sequential(nn.SiLU()), image, ["silu"], scale=4.0)
    concat, total = lambda ys: torch.cat(ys, 1), lambda ys: sum(ys[1:], ys[0])
    small = {"kind": "conv2d", "outputs": 3, "kernel": 1}
    wide = {"kind": "conv2d", "outputs": 2, "kernel": 3, "padding": 1}
    yield one("list_concat",
              nn.Sequential(Both(concat, nn.Sequential(nn.Conv2d(4, 3, 1)),
                                 nn.Sequential(nn.Conv2d(4, 2, 3, padding=1), nn.Tanh()), nn.Sequential())),
              image, [{"kind": "parallel", "branches": [[small], [wide, "tanh"], []]}])
    yield one("list_add",
              nn.Sequential(Both(total, nn.Sequential(nn.Linear(12, 5)), nn.Sequential(nn.Linear(12, 5), nn.Sigmoid()))),
              vector,
              [{"kind": "parallel", "join": "add", "branches": [
                  [{"kind": "linear", "outputs": 5}], [{"kind": "linear", "outputs": 5}, "sigmoid"]]}])
    yield one("list_residual_plain", nn.Sequential(Plain(nn.Linear(12, 12), nn.Tanh())), vector,
              [{"kind": "residual", "activation": "none", "main": [{"kind": "linear", "outputs": 12}, "tanh"]}])
    yield one("list_lenet",
              nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
                            nn.Linear(36, 12), nn.LayerNorm(12), nn.SiLU(), nn.Linear(12, 5), nn.LogSoftmax(1)),
              image,
              [conv | {"kernel": 3, "padding": 1}, "batch_norm", "tanh", {"kind": "avg_pool", "kernel": 2}, "flatten",
               {"kind": "linear", "outputs": 12}, "layer_norm", "silu", {"kind": "linear", "outputs": 5}, "log_softmax"])


def losses():
    scores, labels = 3 * tensor("scores", 6, 5), torch.tensor([0, 4, 2, 2, 1, 3])
    for name, loss in [
        ("nll", F.nll_loss), ("cross_entropy", F.cross_entropy),
        ("smoothed", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1)),
    ]:
        x = scores.clone().requires_grad_()
        value = loss(x, labels)
        value.backward()
        yield {"name": name, "scores": flat(scores), "labels": labels.tolist(), "loss": value.item(),
               "errors": flat(x.grad)}
    x, targets = scores.clone().requires_grad_(), tensor("targets", 6, 5)
    value = F.mse_loss(x, targets)
    value.backward()
    yield {"name": "mean_square", "scores": flat(scores), "targets": flat(targets), "loss": value.item(),
           "errors": flat(x.grad)}


def tiny():
    """Every kind of tensor in a network of 8 x 8 images."""
    return fill(nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10)))


def fcn():
    return fill(nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.Sigmoid(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10),
        nn.LogSoftmax(1)))


def cnn():
    return fill(nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Tanh(),
        nn.Flatten(), nn.Linear(512, 128), nn.Tanh(), nn.Linear(128, 10), nn.LogSoftmax(1)))


def run(name, model, shape, loss, rate, momentum, decay, steps=6, batch=8):
    """Losses of a few steps of SGD, and what the network says afterwards."""
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=momentum, weight_decay=decay)
    labels = torch.arange(batch) * 7 % 10
    values = []
    for step in range(steps):
        x = tensor(f"{name}.{step}", batch, *shape)
        optimizer.zero_grad()
        value = loss(model(x), labels)
        value.backward()
        optimizer.step()
        values.append(value.item())
    model.eval()
    after = model(tensor(f"{name}.after", batch, *shape))
    return {"name": name, "shape": list(shape), "batch": batch, "learning_rate": rate, "momentum": momentum,
            "weight_decay": decay, "losses": values, "after": flat(after)}


def main():
    write_json("layers.json", {"torch": torch.__version__, "layers": list(layers()), "losses": list(losses())})
    write_json("lists.json", {"torch": torch.__version__, "layers": list(listed())})
    model = tiny()
    write_safetensors(GOLDEN / "tiny.safetensors", model.state_dict())
    runs = [
        run("tiny", model, (2, 8, 8), F.cross_entropy, 0.05, 0.9, 0.01),
        run("tiny_plain", tiny(), (2, 8, 8), F.cross_entropy, 0.05, 0.0, 0.1),
        run("fcn", fcn(), (1, 28, 28), F.nll_loss, 0.1, 0.0, 0.0),
        run("cnn", cnn(), (1, 28, 28), F.nll_loss, 0.05, 0.5, 0.0),
    ]
    write_json("training.json", {"torch": torch.__version__, "runs": runs})


if __name__ == "__main__":
    main()
