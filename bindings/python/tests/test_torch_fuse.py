"""Sequences that are read in one call do what their layers do, to the bit."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

import residuum.torch as rt  # noqa: E402
from residuum.torch import functional as same  # noqa: E402
from torch import nn  # noqa: E402

NOISY = dict(
    device={"preset": "reram_sb"},
    rule={"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.5, "symmetric_point": "known"},
    readout="aihwkit",
    mapping={"output_scaling": "tile", "max_cols": 5},
)


class Same(nn.Module):
    """A function of `residuum run` as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def network(fused, activations=(nn.Sigmoid, nn.Tanh, nn.ReLU)):
    torch.manual_seed(0)
    sizes = [(9, 8), (8, 7), (7, 6), (6, 4)]
    linear = [nn.Linear(*size, bias=n != 1) for n, size in enumerate(sizes)]
    names = {nn.Sigmoid: same.sigmoid, nn.Tanh: same.tanh, nn.ReLU: same.relu}
    between = [kind() if fused else Same(names[kind]) for kind in activations]
    last = nn.LogSoftmax(1) if fused else Same(same.log_softmax)
    layers = [layer for pair in zip(linear, between) for layer in pair]
    model = rt.convert(nn.Sequential(nn.Flatten(), *layers, linear[3], last), seed=3, **NOISY)
    return rt.fuse(model) if fused else model


def train(model, steps=3, lr=0.3):
    optimizer = rt.Optimizer(model.parameters(), lr=lr)
    inputs = []
    for k in range(steps):
        torch.manual_seed(k)
        x = torch.randn(5, 3, 3, requires_grad=True)
        optimizer.zero_grad()
        nn.functional.nll_loss(model(x), torch.arange(5) % 4).backward()
        optimizer.step()
        inputs.append(x.grad)
    return inputs


def bits(model):
    tiles = [values for _, layer in rt.analog_layers(model) for values in layer.tile.state()["tensors"].values()]
    return [*tiles, *(p.detach() for p in model.parameters())]


def equal(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b))


def test_a_fused_sequence_has_the_bits_of_its_layers():
    one, other = network(True), network(False)
    assert equal(train(one), train(other))
    assert equal(bits(one), bits(other))
    assert sum(layer.pulses for _, layer in rt.analog_layers(one)) > 0
    with torch.no_grad():
        x = torch.randn(2, 9)
        assert torch.equal(one.eval()(x), other.eval()(x))
    # The twin: another step is seen.
    train(one, 1)
    assert not equal(bits(one), bits(other))


def test_frozen_layers_stay_and_those_behind_learn():
    one, other = network(True), network(False)
    for model in (one, other):
        for p in (*model[1].parameters(), model[3].tile, model[3].output_scale):
            p.requires_grad_(False)
        before = model[3].get_weights()
        optimizer = rt.Optimizer(model.parameters(), lr=0.3)
        model(torch.ones(2, 9)).sum().backward()
        optimizer.step()
        assert torch.equal(model[3].get_weights(), before)
    assert equal(bits(one), bits(other))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_and_states(how):
    model = network(True)
    train(model, 2)
    twin, loaded = how(model), network(True)
    loaded.load_state_dict(model.state_dict())
    for m in (model, twin, loaded):
        train(m, 2)
    assert equal(bits(twin), bits(model)) and equal(bits(loaded), bits(model))


def test_hooks_see_their_layers_and_shapes_fall_back():
    model, seen = network(True), []
    handle = model[3].register_forward_hook(lambda *_: seen.append(1))
    model(torch.ones(2, 9))
    assert seen == [1]
    handle.remove()
    model(torch.ones(2, 9))
    assert seen == [1]
    # Flattened samples are read as they lie; what has no samples in its first dimension, or is flattened otherwise, goes one by one.
    for layers in ([nn.Flatten()], [nn.Flatten(0)], [nn.Flatten(2), nn.Flatten()]):
        torch.manual_seed(0)
        plain = nn.Sequential(*layers, rt.AnalogLinear(12, 3, name="a", seed=0, **NOISY), nn.ReLU())
        fused = rt.fuse(copy.deepcopy(plain))
        for shape in [(12,), (1, 12), (2, 12), (2, 3, 4), (2, 3, 2, 2)]:
            x, there, here = torch.randn(shape), None, None
            try:
                there = plain(x)
            except (ValueError, RuntimeError, IndexError):
                pass
            try:
                here = fused(x)
            except (ValueError, RuntimeError, IndexError):
                pass
            assert (there is None) == (here is None)
            assert there is None or torch.equal(there, here)
    block = rt.fuse(nn.Sequential(rt.AnalogLinear(4, 3, **NOISY), nn.Tanh()))
    assert block(torch.ones(2, 5, 4)).shape == (2, 5, 3) and block(torch.ones(8, 2).T[:, ::2]).shape == (2, 3)
    back = rt.to_digital(block)
    assert type(back[0]) is nn.Linear and back(torch.ones(2, 4)).shape == (2, 3)


def test_refusals():
    block = rt.fuse(nn.Sequential(rt.AnalogLinear(4, 3, **NOISY), nn.Tanh()))
    for bad, kind, words in [
        (torch.ones(2, 5), ValueError, "4 values in their last dimension"),
        (torch.ones(2, 4).double(), TypeError, "float32"),
        (torch.full((2, 4), float("nan")), ValueError, "inputs"),
    ]:
        with pytest.raises(kind, match=words):
            block(bad)
    with pytest.raises(ValueError, match="Sequential"):
        rt.fuse(nn.Linear(2, 2))
    torch.optim.SGD(block.parameters(), lr=0.1)
    block(torch.ones(2, 4)).sum().backward()
    torch.optim.SGD(block.parameters(), lr=0.1).step()
    with pytest.raises(RuntimeError, match="residuum.torch.Optimizer"):
        block(torch.ones(2, 4))
