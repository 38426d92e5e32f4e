"""A training step in one call does what the loop does, to the bit, and refuses what it would leave out."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import residuum.torch as rt  # noqa: E402
from residuum.torch import functional as same  # noqa: E402
from test_torch_fuse import NOISY  # noqa: E402
from torch import nn  # noqa: E402


def network(last=None):
    torch.manual_seed(0)
    layers = [nn.Flatten(), nn.Linear(9, 8), nn.Sigmoid(), nn.Linear(8, 7, bias=False), nn.ReLU(), nn.Linear(7, 4), *([last] if last else [])]
    return rt.fuse(rt.convert(nn.Sequential(*layers), seed=3, **NOISY))


def bits(model):
    tiles = [values for _, layer in rt.analog_layers(model) for values in layer.tile.state()["tensors"].values()]
    return [*tiles, *(p.detach() for p in model.parameters()), *(p.grad for p in model.parameters())]


def batches(count, values=False):
    for k in range(count):
        torch.manual_seed(k)
        yield torch.randn(5, 3, 3), torch.randn(5, 4) if values else torch.arange(k, k + 5) % 4


def mean_square(outputs, targets):
    """Its gradient as `residuum run` computes it: in double precision, rounded once."""
    errors = 2.0 * (outputs.detach().double() - targets.double()) / targets.numel()
    return (outputs * errors.float()).sum()


@pytest.mark.parametrize(
    ("last", "loss", "loop"),
    [
        (nn.LogSoftmax(1), nn.functional.nll_loss, same.nll_loss),
        (nn.LogSoftmax(1), nn.NLLLoss(), nn.functional.nll_loss),
        (None, nn.CrossEntropyLoss(label_smoothing=0.1), lambda y, t: same.cross_entropy(y, t, 0.1)),
        (None, nn.MSELoss(), mean_square),
    ],
)
def test_a_step_in_one_call_has_the_bits_of_the_loop(last, loss, loop):
    one, other = network(last), network(last)
    optimizers = [
        rt.Optimizer(model.parameters(), lr=0.3, digital=lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)) for model in (one, other)
    ]
    step = rt.TrainingStep(one, loss, optimizers[0])
    told, losses = [], []
    for x, y in batches(6, values=loop is mean_square):
        told.append(step(x, y))
        optimizers[1].zero_grad()
        outputs = other(x)
        value = loop(outputs, y)
        value.backward()
        optimizers[1].step()
        losses.append((nn.functional.mse_loss(outputs, y) if loop is mean_square else value).item())
    assert all(torch.equal(a, b) for a, b in zip(bits(one), bits(other), strict=True))
    np.testing.assert_allclose(told, losses, rtol=1e-6)
    # Another seed of the batches is another network: the comparison can fail.
    step(torch.ones(5, 3, 3), torch.zeros(5, 4) if loop is mean_square else torch.zeros(5, dtype=torch.int64))
    assert not all(torch.equal(a, b) for a, b in zip(bits(one), bits(other), strict=True))


def test_a_layer_that_stands_twice_gets_both_gradients():
    def twice():
        torch.manual_seed(1)
        layer = rt.AnalogLinear(4, 4, seed=1, name="twice", **NOISY)
        return rt.fuse(nn.Sequential(layer, nn.Tanh(), layer, nn.LogSoftmax(1)))

    one, other = twice(), twice()
    optimizers = [rt.Optimizer(model.parameters(), lr=0.2) for model in (one, other)]
    step = rt.TrainingStep(one, nn.NLLLoss(), optimizers[0])
    for k in range(3):
        torch.manual_seed(k)
        x, y = torch.randn(6, 4), torch.arange(6) % 4
        step(x, y)
        optimizers[1].zero_grad()
        same.nll_loss(other(x), y).backward()
        optimizers[1].step()
    assert all(torch.equal(a, b) for a, b in zip(bits(one), bits(other), strict=True))


def test_frozen_parameters_stay():
    model = network(nn.LogSoftmax(1))
    frozen = model[1]
    for p in frozen.parameters():
        p.requires_grad_(False)
    before = [frozen.bias.clone(), *(t.clone() for t in frozen.tile.state()["tensors"].values())]
    step = rt.TrainingStep(model, nn.NLLLoss(), rt.Optimizer([p for p in model.parameters() if p.requires_grad], lr=0.3))
    for x, y in batches(3):
        step(x, y)
    after = [frozen.bias, *frozen.tile.state()["tensors"].values()]
    weights = [n for n, name in enumerate(["bias", *frozen.tile.state()["tensors"]]) if "weights" in name or name == "bias"]
    assert weights and all(torch.equal(before[n], after[n]) for n in weights)
    assert frozen.bias.grad is None


def test_what_a_step_in_one_call_would_leave_out_is_refused():
    model = network(nn.LogSoftmax(1))
    optimizer = rt.Optimizer(model.parameters(), lr=0.1)
    with pytest.raises(TypeError, match="sequence that residuum.torch.fuse has made, got Sequential"):
        rt.TrainingStep(nn.Sequential(nn.Linear(2, 2)), nn.NLLLoss(), optimizer)
    with pytest.raises(TypeError, match="residuum.torch.Optimizer, got SGD"):
        rt.TrainingStep(model, nn.NLLLoss(), torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1))
    with pytest.raises(ValueError, match="loss must be nll_loss"):
        rt.TrainingStep(model, nn.L1Loss(), optimizer)
    with pytest.raises(ValueError, match="reduction of the loss must be mean, got 'sum'"):
        rt.TrainingStep(model, nn.NLLLoss(reduction="sum"), optimizer)
    with pytest.raises(ValueError, match="weight of the loss must be None"):
        rt.TrainingStep(model, nn.NLLLoss(weight=torch.ones(4)), optimizer)
    mixed = rt.fuse(nn.Sequential(rt.AnalogLinear(9, 4, **NOISY), nn.GELU(), rt.AnalogLinear(4, 4, **NOISY)))
    with pytest.raises(ValueError, match="got GELU: write the loop"):
        rt.TrainingStep(mixed, nn.CrossEntropyLoss(), rt.Optimizer(mixed.parameters(), lr=0.1))
    step = rt.TrainingStep(model, nn.NLLLoss(), optimizer)
    x, y = next(batches(1))
    before = bits(model)
    for wrong in (x.double(), x[:, :, ::2], x.numpy(), None):
        with pytest.raises(ValueError, match="inputs must"):
            step(wrong, y)
    with pytest.raises(ValueError, match="inputs must have 9 values"):
        step(torch.zeros(5, 8), y)
    for wrong in (y.int(), y[:4], y + 9, y - 1, None, y.numpy()):
        with pytest.raises(ValueError, match="targets must be 5 labels as int64|labels must be 5 numbers from 0 to 3"):
            step(x, wrong)
    handle = model[1].bias.register_hook(lambda gradient: gradient * 0)
    with pytest.raises(ValueError, match="parameters must be without hooks"):
        step(x, y)
    handle.remove()
    handle = model[2].register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="layers must be without hooks"):
        step(x, y)
    handle.remove()
    # Nothing of this has trained anything.
    assert all(torch.equal(a, b) for a, b in zip(bits(model)[:3], before[:3]))
    assert step(x, y) > 0.0
