"""Layers on tiles against those of torch, and what they refuse."""

import copy
import io
import os
import pickle
import threading
import time
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import residuum  # noqa: E402
import residuum.torch as rt  # noqa: E402
from residuum.torch._memory import packed  # noqa: E402
from torch import nn  # noqa: E402

# Cells that do exactly what is asked: constant steps written in expectation, wide bounds.
IDEAL = dict(
    device={"response": "constant", "radius": 1000.0, "pulse_step": 1e-4},
    rule={"kind": "analog", "pulses": {"scheme": "expected"}},
)
NOISY = dict(
    device={"preset": "reram_sb"},
    rule={"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.5, "symmetric_point": "known"},
    readout="aihwkit",
)
PULSED = dict(device={"preset": "ecram"}, rule="analog")


def pair(make, **options):
    """A torch layer and the same on tiles."""
    torch.manual_seed(3)
    digital = make()
    analog = rt.convert(copy.deepcopy(digital), **(options or IDEAL))
    return digital, analog


CASES = {
    "linear": (lambda: nn.Linear(7, 5), (4, 7)),
    "linear without bias": (lambda: nn.Linear(7, 5, bias=False), (4, 7)),
    "linear on several dimensions": (lambda: nn.Linear(7, 5), (2, 3, 7)),
    "linear on one sample": (lambda: nn.Linear(7, 5), (7,)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 5, stride=2, padding=2), (2, 3, 17)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 8, 9)),
    "conv2d, strides and dilation": (lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2)), (2, 2, 9, 8)),
    "conv2d, circular padding": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (2, 2, 5, 6)),
    "conv2d, same padding": (lambda: nn.Conv2d(2, 3, 4, padding="same"), (2, 2, 5, 6)),
    "conv2d, 1 × 1": (lambda: nn.Conv2d(2, 3, 1, bias=False), (2, 2, 5, 6)),
    "conv2d, groups": (lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), (2, 4, 5, 6)),
    "conv2d, depthwise": (lambda: nn.Conv2d(3, 6, (2, 3), groups=3, bias=False), (2, 3, 5, 6)),
    "conv1d, groups": (lambda: nn.Conv1d(4, 2, 3, groups=2), (4, 9)),
    "conv2d on one image": (lambda: nn.Conv2d(2, 3, 3), (2, 5, 6)),
}


def sums_of_magnitudes(digital, x, errors):
    """What the forward, input gradient and bias gradient would be if nothing cancelled: Σ|w||x| + |b|, Σ|w||δ|, Σ|δ|. The rounding of a
    sum in single precision, in whatever order, is relative to these."""
    magnitudes = copy.deepcopy(digital).double()
    with torch.no_grad():
        for p in magnitudes.parameters():
            p.abs_()
    x = x.double().abs().requires_grad_()
    outputs = magnitudes(x)
    outputs.backward(errors.double().abs())
    return outputs.detach(), x.grad, None if magnitudes.bias is None else magnitudes.bias.grad


@pytest.mark.parametrize("case", CASES)
def test_an_ideal_layer_is_the_layer_of_torch(case):
    make, shape = CASES[case]
    digital, analog = pair(make)
    x = torch.randn(*shape)
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    outputs = [layer(x) for layer, x in zip((digital, analog), inputs)]
    errors = torch.randn_like(outputs[0])
    for output in outputs:
        output.backward(errors)
    found = [[own.detach(), x.grad, None if layer.bias is None else layer.bias.grad] for own, x, layer in zip(outputs, inputs, (digital, analog))]
    for theirs, ours, magnitude in zip(*found, sums_of_magnitudes(digital, x, errors)):
        if theirs is not None:
            assert ((ours - theirs).abs() <= 1e-6 * magnitude).all()
            # The twin: an error of one part in a hundred thousand is seen.
            assert not ((ours * (1 + 1e-5) - theirs).abs() <= 1e-6 * magnitude).all()
    # One step of SGD moves the weights as torch's does; the step was in expectation.
    torch.optim.SGD(digital.parameters(), lr=0.1).step()
    rt.Optimizer(analog.parameters(), lr=0.1).step()
    torch.testing.assert_close(analog.get_weights(), digital.weight.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mapping", [{"output_scaling": "tile", "max_cols": 4}, {"output_scaling": "output", "omega": 0.5, "columnwise": True}])
def test_output_scales_are_learned_by_torch(mapping):
    digital, analog = pair(lambda: nn.Linear(7, 5), mapping=mapping, **IDEAL)
    assert analog.output_scale.shape == ((2,) if "max_cols" in mapping else (5,))
    x, weights = torch.randn(4, 7), torch.randn(4, 5)
    analog.output_scale.data.uniform_(0.5, 1.5)
    scale = analog.output_scale.detach().double()
    outputs = analog(x)
    (outputs * weights).sum().backward()
    # The same by hand: y = Σ s W x over the tiles.
    s = scale.clone().requires_grad_()
    parts = x.double()[:, None] * digital.weight.double()
    if "max_cols" in mapping:
        by_hand = s[0] * parts[..., :3].sum(-1) + s[1] * parts[..., 3:].sum(-1)
    else:
        by_hand = s * parts.sum(-1)
    by_hand = by_hand + digital.bias.double()
    (by_hand * weights).sum().backward()
    torch.testing.assert_close(outputs, by_hand.float(), rtol=1e-6, atol=2e-6)
    torch.testing.assert_close(analog.output_scale.grad, s.grad.float(), rtol=1e-5, atol=1e-5)


def test_a_layer_that_is_not_ideal_is_not_the_layer_of_torch():
    # The broken twin of the test above: the tolerance sees converters.
    digital, analog = pair(lambda: nn.Linear(7, 5), **NOISY)
    x = torch.randn(4, 7)
    assert (analog(x) - digital(x)).abs().max() > 1e-4


@pytest.mark.parametrize("options", [PULSED, NOISY], ids=["pulsed", "noisy"])
def test_the_same_seed_gives_the_same_bits(options):
    def trained(seed):
        torch.manual_seed(1)
        residuum.manual_seed(seed)
        layer = rt.AnalogLinear(6, 4, **options)
        optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            layer(torch.randn(3, 6)).square().sum().backward()
            optimizer.step()
        return layer.get_weights()

    assert torch.equal(trained(5), trained(5))
    assert not torch.equal(trained(5), trained(6))


@pytest.mark.parametrize("options", [PULSED, NOISY], ids=["pulsed", "noisy"])
def test_evaluation_changes_nothing_that_is_learned(options):
    def trained(evaluate):
        torch.manual_seed(1)
        layer = rt.AnalogLinear(6, 4, seed=2, name="a", **options)
        optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
        for _ in range(4):
            x = torch.randn(3, 6)
            if evaluate:
                layer.eval()
                first, second = layer(x), layer(x)
                layer.train()
                # Noise is drawn anew for every read.
                assert torch.equal(first, second) == ("readout" not in options)
            optimizer.zero_grad()
            layer(x).square().sum().backward()
            optimizer.step()
        return layer.get_weights()

    assert torch.equal(trained(True), trained(False))


def network(**options):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 16, 6), nn.ReLU(), nn.Linear(6, 3))
    return rt.convert(model, seed=4, **(options or NOISY))


def train(model, optimizer, steps, start=0):
    for k in range(start, start + steps):
        torch.manual_seed(100 + k)
        x, y = torch.randn(4, 1, 6, 6), torch.randint(3, (4,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def weights(model):
    return torch.cat([layer.get_weights().flatten() for _, layer in rt.analog_layers(model)])


def make_optimizer(model):
    return rt.Optimizer(model.parameters(), lr=0.2, digital=torch.optim.Adam, digital_lr=0.01)


RULES = {
    "analog": {"kind": "analog"},
    "tiki_taka": {"kind": "tiki_taka", "transfer_rate": 0.1, "mixing": 0.1},
    "tiki_taka_2": {"kind": "tiki_taka_2", "transfer_rate": 0.1},
    "chopped_tiki_taka": {"kind": "chopped_tiki_taka", "transfer_rate": 0.1},
    "agad": {"kind": "agad", "transfer_rate": 0.1},
    "mixed_precision": {"kind": "mixed_precision"},
    "residual_learning": NOISY["rule"],
    "residual_learning_2": {**NOISY["rule"], "kind": "residual_learning_2"},
    "residual_cascade": {**NOISY["rule"], "kind": "residual_cascade", "residuals": 2},
    "manhattan": {"kind": "manhattan"},
}


@pytest.mark.parametrize("rule", RULES)
def test_a_saved_state_resumes_to_the_bit(rule, tmp_path):
    options = dict(NOISY, rule=RULES[rule])
    model = network(**options)
    optimizer = make_optimizer(model)
    train(model, optimizer, 6)

    first = network(**options)
    half = make_optimizer(first)
    train(first, half, 3)
    torch.save({"model": first.state_dict(), "optimizer": half.state_dict()}, tmp_path / "half.pt")
    # Another seed: what the state says counts.
    torch.manual_seed(0)
    again = network(**options)
    rt.to_digital(again)
    again = rt.convert(again, seed=99, **options)
    optimizer = make_optimizer(again)
    saved = torch.load(tmp_path / "half.pt", weights_only=True)
    again.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    train(again, optimizer, 3, start=3)
    assert torch.equal(weights(again), weights(model))
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters()))
    # The twin: without the state nothing agrees.
    other = rt.convert(rt.to_digital(network(**options)), seed=99, **options)
    train(other, make_optimizer(other), 3, start=3)
    assert not torch.equal(weights(other), weights(model))


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "torch.save"])
def test_copies_go_on_as_the_original_does(how):
    model = network()
    train(model, make_optimizer(model), 2)
    if how == "deepcopy":
        twin = copy.deepcopy(model)
    elif how == "pickle":
        twin = pickle.loads(pickle.dumps(model))
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        twin = torch.load(file, weights_only=False)
    assert torch.equal(weights(twin), weights(model))
    for m in (model, twin):
        train(m, rt.Optimizer(m.parameters(), lr=0.2), 2, start=2)
    assert torch.equal(weights(twin), weights(model))
    # They share nothing.
    train(twin, rt.Optimizer(twin.parameters(), lr=0.2), 1)
    assert not torch.equal(weights(twin), weights(model))


def test_a_state_of_another_device_is_refused():
    one, other = network(), network(**dict(NOISY, device={"preset": "ecram"}))
    with pytest.raises((ValueError, RuntimeError), match="device.preset|same device"):
        other.load_state_dict(one.state_dict())


def test_a_layer_may_be_used_several_times_in_a_step():
    # One step of all pairs is what one read of all samples gives, where nothing is random.
    torch.manual_seed(0)
    one, several = (rt.AnalogLinear(5, 4, name="a", **IDEAL) for _ in range(2))
    several.set_weights(one.get_weights())
    several.bias.data.copy_(one.bias)
    x = torch.randn(6, 5)
    one(x).square().sum().backward()
    for part in x.split(2):
        several(part).square().sum().backward()
    for layer in (one, several):
        rt.Optimizer(layer.parameters(), lr=0.05).step()
    torch.testing.assert_close(several.get_weights(), one.get_weights(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(several.bias, one.bias, rtol=1e-6, atol=1e-6)


def test_a_recurrent_cell_learns_through_time():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.state = nn.Linear(3, 8), nn.Linear(8, 8)
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            h = torch.zeros(x.shape[0], 8)
            for t in range(x.shape[1]):
                h = torch.tanh(self.inside(x[:, t]) + self.state(h))
            return self.out(h)

    torch.manual_seed(2)
    digital = Cell()
    analog = rt.convert(copy.deepcopy(digital), **IDEAL)
    optimizers = [torch.optim.SGD(digital.parameters(), lr=0.1), rt.Optimizer(analog.parameters(), lr=0.1)]
    x = torch.randn(16, 5, 3)
    y = x.sum((1, 2)).tanh()[:, None]
    losses = []
    for _ in range(20):
        for model, optimizer in zip((digital, analog), optimizers):
            optimizer.zero_grad()
            loss = (model(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    torch.testing.assert_close(analog.state.get_weights(), digital.state.weight.detach(), rtol=1e-4, atol=1e-4)


def test_dropped_gradients_are_not_written():
    layer = rt.AnalogLinear(5, 4, **PULSED)
    optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
    before = layer.get_weights()
    for forget in (layer.zero_grad, optimizer.zero_grad, lambda: layer.zero_grad(set_to_none=False)):
        layer(torch.randn(3, 5)).sum().backward()
        forget()
        optimizer.step()
        assert torch.equal(layer.get_weights(), before)
    # What comes after counts alone.
    alone = copy.deepcopy(layer)
    layer(torch.randn(3, 5)).sum().backward()
    layer.zero_grad()
    for own in (layer, alone):
        own(torch.ones(1, 5)).sum().backward()
        rt.Optimizer(own.parameters(), lr=0.1).step()
    assert torch.equal(layer.get_weights(), alone.get_weights())
    assert not torch.equal(layer.get_weights(), before)


def test_frozen_tiles_stay():
    model = nn.Sequential(rt.AnalogLinear(5, 4, **PULSED), rt.AnalogLinear(4, 3, **PULSED))
    model[0].tile.requires_grad_(False)
    before = [layer.get_weights() for layer in model]
    optimizer = rt.Optimizer(model.parameters(), lr=0.1)
    model(torch.randn(3, 5)).sum().backward()
    optimizer.step()
    assert torch.equal(model[0].get_weights(), before[0])
    assert not torch.equal(model[1].get_weights(), before[1])


def test_tiles_can_be_looked_into():
    layer = rt.AnalogLinear(
        700, 4, device={"preset": "reram_es", "pulse_energy": 2e-12}, rule={"kind": "tiki_taka", "transfer_rate": 0.1}
    )
    optimizer = rt.Optimizer(layer.parameters(), lr=0.5)
    assert layer.pulses == 0 and layer.energy == 0.0
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(5, 700)).square().mean().backward()
        optimizer.step()
    tiles = layer.tiles()
    assert [tile["cols"] for tile in tiles] == [(0, 350), (350, 700)]
    arrays = tiles[0]["arrays"]
    assert set(arrays) == {"main", "residual"}
    assert arrays["main"]["weights"].shape == arrays["main"]["parameters"]["max"].shape == (4, 350)
    # A cell whose up and down steps never cross has no symmetric point.
    points = arrays["main"]["symmetric_point"]
    assert points[points == points].std() > 0
    assert layer.pulses == sum(a["pulses"] for t in tiles for a in t["arrays"].values()) > 0
    assert layer.energy == layer.pulses * 2e-12
    low, high = layer.range
    assert low < 0 < high
    with pytest.raises(ValueError, match="pulse_energy"):
        rt.AnalogLinear(2, 2, **PULSED).energy


def test_every_cell_has_its_ledger(tmp_path):
    options = dict(NOISY, ledger=True)
    layer = rt.AnalogLinear(9, 4, mapping={"max_cols": 5}, **options)
    quiet = rt.AnalogLinear(9, 4, mapping={"max_cols": 5}, name="layer0", **NOISY)
    optimizer = rt.Optimizer(layer.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(5, 9)).square().mean().backward()
        optimizer.step()
    for tile in layer.tiles():
        for array in tile["arrays"].values():
            assert array["ledger"].shape == array["weights"].shape
            assert array["ledger"].sum() == array["pulses"] > 0
    assert "ledger" not in quiet.tiles()[0]["arrays"]["main"]
    # It is part of the state, and changes no bit.
    twin = pickle.loads(pickle.dumps(layer))
    assert (twin.tiles()[0]["arrays"]["main"]["ledger"] == layer.tiles()[0]["arrays"]["main"]["ledger"]).all()


def test_a_ledger_changes_no_bit():
    def trained(**more):
        torch.manual_seed(1)
        layer = rt.AnalogLinear(6, 4, seed=2, name="a", **NOISY, **more)
        optimizer = rt.Optimizer(layer.parameters(), lr=0.3)
        for _ in range(4):
            optimizer.zero_grad()
            layer(torch.randn(3, 6)).square().sum().backward()
            optimizer.step()
        return layer.get_weights()

    assert torch.equal(trained(), trained(ledger=True))


def test_groups_of_channels_have_tiles_of_their_own():
    layer = rt.AnalogConv2d(4, 6, 3, groups=2, seed=1, name="c", **NOISY)
    optimizer = rt.Optimizer(layer.parameters(), lr=0.3)
    before = layer.get_weights()
    layer(torch.randn(2, 4, 5, 5)).square().sum().backward()
    optimizer.step()
    assert before.shape == (6, 2, 3, 3) and not torch.equal(layer.get_weights(), before)
    assert [tile["group"] for tile in layer.tiles()] == [0, 1]
    assert layer.pulses == sum(a["pulses"] for t in layer.tiles() for a in t["arrays"].values())
    # Cells of the groups are drawn apart.
    cells = [tile["arrays"]["main"]["parameters"]["max"] for tile in layer.tiles()]
    assert (cells[0] != cells[1]).any()
    twin = rt.AnalogConv2d(4, 6, 3, groups=2, seed=9, name="d", **NOISY)
    twin.load_state_dict(layer.state_dict())
    assert torch.equal(twin.get_weights(), layer.get_weights())
    back = rt.to_digital(nn.Sequential(copy.deepcopy(layer)))[0]
    assert back.groups == 2 and torch.equal(back.weight, layer.get_weights())
    layer.set_weights(torch.zeros(6, 2, 3, 3))
    with pytest.raises(ValueError, match="shape"):
        layer.set_weights(torch.zeros(6, 4, 3, 3))


def test_inputs_that_change_before_the_step_are_refused():
    layer = rt.AnalogLinear(5, 4, **PULSED)
    optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
    x, before = torch.randn(3, 5), layer.get_weights()
    layer(x).sum().backward()
    x.zero_()
    with pytest.raises(RuntimeError, match="changed in place"):
        optimizer.step()
    assert torch.equal(layer.get_weights(), before)
    optimizer.zero_grad()
    layer(x + 1).sum().backward()
    optimizer.step()
    assert not torch.equal(layer.get_weights(), before)


def test_views_and_negations_are_read_as_they_are():
    digital, analog = pair(lambda: nn.Linear(6, 4))
    x = torch.randn(6, 8)
    for view in (x.T, x.T[::2], torch._neg_view(x.T.contiguous()), x.T.expand(2, 8, 6), torch.empty(0, 6)):
        torch.testing.assert_close(analog(view), digital(view), rtol=1e-6, atol=1e-6)


def test_parameters_that_someone_has_bent_are_refused():
    for spoil, words in [
        (lambda p: p.double(), "float32"),
        (lambda p: p[:2], "must have 4 values"),
        (lambda p: p.to("meta"), "CPU"),
        (lambda p: torch.zeros(8)[::2], "contiguous"),
    ]:
        layer = rt.AnalogLinear(5, 4, **PULSED)
        layer._parameters["bias"] = nn.Parameter(spoil(layer.bias.detach()))
        with pytest.raises((ValueError, TypeError), match=words):
            layer(torch.randn(3, 5))


@pytest.mark.timeout(0)
def test_layers_leave_nothing_behind(in_use):
    """A few here; LAYERS=100000 for the whole of it, in some minutes."""
    count = int(os.environ.get("LAYERS", "300"))

    def make(count, kept=None):
        for _ in range(count):
            layer = rt.AnalogLinear(8, 8, **PULSED)
            layer(torch.ones(1, 8)).sum().backward()
            rt.Optimizer(layer.parameters(), lr=0.1).step()
            if kept is not None:
                kept.append(layer)

    make(200)
    before = in_use()
    make(count)
    grown = (in_use() - before) / count
    # Caches of torch and Python still grow a little; a layer is several thousand bytes.
    assert grown < 256, f"{grown} bytes for each of {count} layers"
    # The twin: one layer in ten that is kept is seen.
    before, kept = in_use(), []
    make(200, kept)
    del kept[20:]
    assert (in_use() - before) / 200 > 256


def test_two_threads_on_one_layer_are_refused():
    layer = rt.AnalogLinear(512, 512, readout="aihwkit", **PULSED)
    x, errors, until = torch.randn(64, 512), [], time.monotonic() + 60

    def work():
        # Until they have met, which on a busy machine may take a while.
        while not errors and time.monotonic() < until:
            try:
                layer(x)
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
    assert not any(thread.is_alive() for thread in threads)
    assert errors and "one thread at a time" in errors[0]
    layer(x)  # and it still works


def test_torch_compile_runs_around_tiles():
    model = network()
    plain = copy.deepcopy(model)
    compiled = torch.compile(model, backend="aot_eager")
    x = torch.randn(4, 1, 6, 6)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    compiled(a).square().sum().backward()
    plain(b).square().sum().backward()
    torch.testing.assert_close(a.grad, b.grad)
    for m in (model, plain):
        rt.Optimizer(m.parameters(), lr=0.1).step()
    torch.testing.assert_close(weights(model), weights(plain), rtol=1e-5, atol=1e-5)


class TestRefusals:
    def layer(self):
        return rt.AnalogLinear(5, 4, **PULSED)

    def test_inputs(self):
        layer = self.layer()
        for bad, kind, words in [
            (torch.randn(3, 4), ValueError, "5 values in their last dimension"),
            (torch.randn(3, 5, dtype=torch.float64), TypeError, "float32"),
            (torch.randn(3, 5).bfloat16(), TypeError, "mixed precision"),
            (torch.tensor([[1.0, 2.0, float("nan"), 0.0, 0.0]]), ValueError, "inputs"),
            (torch.tensor([[1.0, 2.0, float("inf"), 0.0, 0.0]]), ValueError, "inputs"),
            (torch.empty(3, 5, device="meta"), ValueError, "CPU"),
        ]:
            with pytest.raises(kind, match=words):
                layer(bad)
        with pytest.raises(ValueError, match="channels"):
            rt.AnalogConv2d(3, 4, 3, **PULSED)(torch.randn(2, 4, 8, 8))
        with pytest.raises(ValueError, match="window"):
            rt.AnalogConv2d(3, 4, 3, **PULSED)(torch.randn(2, 3, 2, 8))

    def test_errors_that_are_not_finite(self):
        layer = self.layer()
        with pytest.raises(ValueError, match="errors"):
            (layer(torch.randn(3, 5)) * float("nan")).sum().backward()

    def test_devices_and_types(self):
        for move in (lambda m: m.double(), lambda m: m.half(), lambda m: m.to("meta")):
            with pytest.raises(ValueError, match="float32 on the CPU"):
                move(self.layer())
        self.layer().to("cpu").float()

    def test_a_gpu(self):
        # A machine without one can still name it.
        there = types.SimpleNamespace(dtype=torch.float32, device=torch.device("cuda:0"), layout=torch.strided)

        class Far(torch.Tensor):
            device, is_cpu = torch.device("cuda:0"), False

        with pytest.raises(ValueError, match="inputs must be on the CPU, where tiles are simulated, got cuda:0"):
            packed(torch.zeros(1).as_subclass(Far), "inputs")
        with pytest.raises(ValueError, match="float32 on the CPU.*got torch.float32 on cuda:0"):
            self.layer()._apply(lambda _: there)

    def test_specs(self):
        for options, words in [
            (dict(PULSED, rule={"kind": "analog", "learning_rate": 0.1}), "lr"),
            (dict(PULSED, rule={"kind": "digital"}), "digital"),
            (dict(PULSED, rule={"kind": "nonsense"}), "rule.kind"),
            (dict(PULSED, device={"preset": "nonsense"}), "device.preset"),
            (dict(PULSED, device={"preset": "ecram", "radios": 1}), "radios"),
            (dict(PULSED, mapping={"omega": -1.0}), "mapping.omega"),
            (dict(PULSED, readout={"input": {"steps": -1}}), "readout.input.steps"),
            (dict(device={"preset": "reram_sb"}, rule={"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 1.0}), "symmetric_point"),
        ]:
            with pytest.raises(ValueError, match=words):
                rt.AnalogLinear(5, 4, **options)
        with pytest.raises(ValueError, match="in_features"):
            rt.AnalogLinear(0, 4, **PULSED)
        with pytest.raises(ValueError, match="seed"):
            residuum.manual_seed(-1)

    def test_weights(self):
        layer = self.layer()
        with pytest.raises(AttributeError, match="get_weights"):
            layer.weight
        with pytest.raises(ValueError, match="shape"):
            layer.set_weights(torch.zeros(5, 4))
        with pytest.raises(ValueError, match="finite"):
            layer.set_weights(torch.full((4, 5), float("nan")))

    def test_double_backward(self):
        x = torch.randn(2, 5, requires_grad=True)
        (grad,) = torch.autograd.grad(self.layer()(x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError):
            grad.sum().backward()


@pytest.mark.parametrize("wrong", [np.zeros((2, 4), np.float32), [1.0, 2.0], None, 3.0])
def test_what_is_no_tensor_is_refused(wrong):
    fused = rt.fuse(nn.Sequential(rt.AnalogLinear(4, 3, **PULSED), nn.Tanh()))
    layers = [rt.AnalogLinear(4, 3, **PULSED), rt.AnalogConv2d(1, 2, 3, **PULSED), fused]
    for layer in layers:
        with pytest.raises(TypeError, match=f"inputs must be a torch tensor, got {type(wrong).__name__}"):
            layer(wrong)
        with torch.no_grad(), pytest.raises(TypeError, match="inputs must be a torch tensor"):
            layer(wrong)
