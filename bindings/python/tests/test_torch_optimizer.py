"""The optimiser of tiles and everything digital, and conversion."""

import functools

import pytest

torch = pytest.importorskip("torch")

import residuum.torch as rt  # noqa: E402
from torch import nn  # noqa: E402

PULSED = dict(device={"preset": "ecram"}, rule="analog")
TRANSFER = dict(
    device={"response": "constant", "radius": 100.0, "pulse_step": 1e-3},
    rule={
        "kind": "residual_learning",
        "transfer_rate": 0.5,
        "mixing": 1.0,
        "symmetric_point": "zero",
        "pulses": {"scheme": "expected"},
        "transfer_pulses": {"scheme": "expected"},
    },
)


def model(**options):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 2))
    return rt.convert(layers, seed=1, **(options or PULSED))


def backward(m):
    m(torch.ones(3, 6)).square().sum().backward()


def test_both_kinds_are_stepped():
    m = model()
    before = [p.detach().clone() for p in m.parameters()], [layer.get_weights() for _, layer in rt.analog_layers(m)]
    optimizer = rt.Optimizer(m.parameters(), lr=0.1, digital=functools.partial(torch.optim.AdamW, weight_decay=0.1))
    backward(m)
    optimizer.step()
    digital = [p for p in m.parameters() if not isinstance(p, rt.TileParameter)]
    old = [b for b, p in zip(before[0], m.parameters()) if not isinstance(p, rt.TileParameter)]
    assert all(not torch.equal(p, b) for p, b in zip(digital, old))
    assert all(not torch.equal(layer.get_weights(), b) for (_, layer), b in zip(rt.analog_layers(m), before[1]))


@pytest.mark.parametrize("scheduler", ["StepLR", "CosineAnnealingLR", "OneCycleLR", "LambdaLR", "ReduceLROnPlateau", "SequentialLR"])
def test_schedulers_drive_both_kinds(scheduler):
    schedulers = torch.optim.lr_scheduler
    m = model()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1, digital_lr=0.01)
    made = {
        "StepLR": lambda: schedulers.StepLR(optimizer, 1, 0.5),
        "CosineAnnealingLR": lambda: schedulers.CosineAnnealingLR(optimizer, 10),
        "OneCycleLR": lambda: schedulers.OneCycleLR(optimizer, [0.1, 0.2], total_steps=10, cycle_momentum=False),
        "LambdaLR": lambda: schedulers.LambdaLR(optimizer, lambda k: 1 / (k + 1)),
        "ReduceLROnPlateau": lambda: schedulers.ReduceLROnPlateau(optimizer, patience=0),
        "SequentialLR": lambda: schedulers.SequentialLR(
            optimizer, [schedulers.ConstantLR(optimizer, 0.5, 1), schedulers.ExponentialLR(optimizer, 0.9)], [1]
        ),
    }[scheduler]()
    start = [group["lr"] for group in optimizer.param_groups]
    for _ in range(4):
        optimizer.zero_grad()
        backward(m)
        optimizer.step()
        made.step(1.0) if scheduler == "ReduceLROnPlateau" else made.step()
    now = [group["lr"] for group in optimizer.param_groups]
    assert all(a != b for a, b in zip(start, now))
    # The digital optimiser steps with these, not with copies.
    assert optimizer._digital.param_groups[0] is optimizer.param_groups[0]


def test_transfer_rates_follow_the_schedule():
    def moved(**group):
        layer = rt.AnalogLinear(6, 5, bias=False, name="a", seed=1, **TRANSFER)
        layer.set_weights(torch.zeros(5, 6))
        optimizer = rt.Optimizer([{"params": list(layer.parameters()), **group}], lr=1.0)
        (layer(torch.ones(1, 6)) * 0.1).sum().backward()
        optimizer.param_groups[0]["lr"] = 0.5
        optimizer.step()
        arrays = layer.tiles()[0]["arrays"]
        return arrays["main"]["weights"].mean(), arrays["residual"]["weights"].mean()

    # P ← −α·0.1, then W ← W + βγP: β is halved with α unless the group says otherwise.
    main, residual = moved()
    assert residual == pytest.approx(-0.05, rel=1e-4) and main == pytest.approx(0.25 * -0.05, rel=1e-4)
    main, residual = moved(transfer_follows_lr=False)
    assert residual == pytest.approx(-0.05, rel=1e-4) and main == pytest.approx(0.5 * -0.05, rel=1e-4)


def test_groups_have_their_own_rates():
    m = model()
    optimizer = rt.Optimizer(
        [{"params": m[0].parameters(), "lr": 0.0}, {"params": [*m[1].parameters(), *m[3].parameters()], "lr": 0.2}], lr=0.1
    )
    assert [group["lr"] for group in optimizer.param_groups] == [0.0, 0.0, 0.2, 0.2]
    before = [layer.get_weights() for _, layer in rt.analog_layers(m)]
    backward(m)
    optimizer.step()
    after = [layer.get_weights() for _, layer in rt.analog_layers(m)]
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1], after[1])
    more = nn.Linear(2, 2)
    optimizer.add_param_group({"params": more.parameters(), "lr": 0.3})
    assert optimizer._digital.param_groups[-1]["lr"] == 0.3
    backward(m)
    optimizer.step()


def test_gradients_accumulate_as_torchs_do():
    ideal = dict(device={"response": "constant", "radius": 1000.0, "pulse_step": 1e-4}, rule={"kind": "analog", "pulses": {"scheme": "expected"}})
    results = []
    for parts in (1, 4):
        m = model(**ideal)
        optimizer = rt.Optimizer(m.parameters(), lr=0.1)
        x = torch.arange(48.0).view(8, 6) / 48
        for part in x.chunk(parts):
            (m(part).square().sum() / 8).backward()
        optimizer.step()
        results.append(torch.cat([layer.get_weights().flatten() for _, layer in rt.analog_layers(m)]))
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)


def test_a_second_step_writes_again_as_torchs_does():
    ideal = dict(device={"response": "constant", "radius": 1000.0, "pulse_step": 1e-4}, rule={"kind": "analog", "pulses": {"scheme": "expected"}})
    torch.manual_seed(0)
    digital = nn.Linear(6, 5)
    analog = rt.AnalogLinear.from_digital(digital, ideal, 0, "a")
    analog.bias = nn.Parameter(digital.bias.detach().clone())
    optimizers = torch.optim.SGD(digital.parameters(), lr=0.1), rt.Optimizer(analog.parameters(), lr=0.1)
    for x in torch.randn(3, 4, 6):
        for layer, optimizer in zip((digital, analog), optimizers):
            layer(x).sum().backward()
            optimizer.step()
    torch.testing.assert_close(analog.get_weights(), digital.weight.detach(), rtol=1e-5, atol=1e-5)


def test_an_optimiser_that_exists_is_taken():
    m = model()
    digital = torch.optim.Adam([p for p in m.parameters() if not isinstance(p, rt.TileParameter)], lr=0.01)
    optimizer = rt.Optimizer(m.parameters(), lr=0.1, digital=digital)
    backward(m)
    optimizer.step()
    assert len(digital.state) == 4 and optimizer.param_groups[0] is digital.param_groups[0]
    with pytest.raises(ValueError, match="every digital parameter"):
        rt.Optimizer(m.parameters(), lr=0.1, digital=torch.optim.Adam([m[1].weight]))
    with pytest.raises(ValueError, match="must not hold tiles"):
        rt.Optimizer(m.parameters(), lr=0.1, digital=torch.optim.Adam(m.parameters()))


@pytest.mark.parametrize("lr", [0.1, 0.0, torch.tensor(0.1)], ids=["number", "zero", "tensor"])
def test_plain_descent_has_the_bits_of_torchs(lr):
    class Own(torch.optim.SGD):
        """Torch's own step, for a subclass may do anything."""

    def trained(digital):
        m = model()
        optimizer = rt.Optimizer(m.parameters(), lr=0.1, digital=digital, digital_lr=lr)
        for _ in range(3):
            optimizer.zero_grad()
            backward(m)
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in m.parameters()])

    assert torch.equal(trained(torch.optim.SGD), trained(Own))
    other = functools.partial(torch.optim.SGD, momentum=0.9)
    assert lr == 0.0 or not torch.equal(trained(torch.optim.SGD), trained(other))


def test_a_plain_step_is_a_change_in_place_for_torch():
    m = model()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1)
    assert optimizer._digital is not None
    backward(m)
    needed = (m[1].weight * m[1].weight).sum()
    before = m[1].weight._version
    optimizer.step()
    assert m[1].weight._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        needed.backward()


def test_what_plain_descent_cannot_take_is_torchs_to_step():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows, self.out = nn.Embedding(5, 6, sparse=True), rt.AnalogLinear(6, 2, name="a", seed=1, **PULSED)

        def forward(self, n):
            return self.out(self.rows(n))

    m = Table()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1)
    before = [m.rows.weight.detach().clone(), m.out.bias.detach().clone(), m.out.get_weights()]
    m(torch.tensor([1, 3])).sum().backward()
    optimizer.step()
    moved = (m.rows.weight != before[0]).any(1).tolist()
    assert moved == [False, True, False, True, False]
    torch.testing.assert_close(m.out.bias.detach(), before[1] - 0.1 * 2)
    assert not torch.equal(m.out.get_weights(), before[2])


def test_hooks_and_profilers_see_the_steps():
    m = model()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1)
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, *_: seen.append(("before", o is optimizer))),
        optimizer.register_step_post_hook(lambda o, *_: seen.append(("after", o is optimizer))),
        optimizer._digital.register_step_post_hook(lambda o, *_: seen.append(("digital", o is optimizer._digital))),
    ]
    backward(m)
    optimizer.step()
    assert seen == [("before", True), ("digital", True), ("after", True)]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 3
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        optimizer.step()
    assert any("Optimizer.step" in event.key for event in profile.key_averages())


def test_clipping_is_for_digital_parameters():
    m = model()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1)
    backward(m)
    digital = [p for p in m.parameters() if not isinstance(p, rt.TileParameter)]
    alone = torch.nn.utils.clip_grad_norm_(digital, 1e9)
    everything = torch.nn.utils.clip_grad_norm_(m.parameters(), 1e9)
    assert alone == everything  # handles do not disturb the norm, and nothing was scaled
    torch.nn.utils.clip_grad_norm_(digital, 1e-3)
    optimizer.step()
    optimizer.zero_grad()
    backward(m)
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1e-3)
    with pytest.raises(RuntimeError, match="must not be scaled"):
        optimizer.step()


def test_what_has_no_effect_on_tiles_is_refused():
    m = model()
    for options in ({"weight_decay": 0.1}, {"momentum": 0.9}, {"maximize": True}, {"foreach": True}, {"amsgrad": True}):
        with pytest.raises(TypeError, match="digital"):
            rt.Optimizer(m.parameters(), lr=0.1, **options)
        with pytest.raises(ValueError, match="group of tiles"):
            rt.Optimizer([{"params": [m[0].tile], **options}, {"params": m[1].parameters()}], lr=0.1)
    with pytest.raises(ValueError, match="LBFGS"):
        rt.Optimizer(m.parameters(), lr=0.1, digital=torch.optim.LBFGS)
    with pytest.raises(ValueError, match="tiles"):
        rt.Optimizer(nn.Linear(2, 2).parameters(), lr=0.1)
    with pytest.raises(TypeError, match="module"):
        rt.Optimizer(m, lr=0.1)
    with pytest.raises(ValueError, match="lr"):
        rt.Optimizer(m.parameters(), lr=-1.0)
    with pytest.raises(ValueError, match="all of params are tiles"):
        rt.Optimizer([m[0].tile], lr=0.1, digital=torch.optim.Adam)


def test_a_gradient_scaler_is_refused():
    m = model()
    optimizer = rt.Optimizer(m.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(m(torch.ones(3, 6)).sum()).backward()
    with pytest.raises(RuntimeError, match="GradScaler|must not be scaled"):
        scaler.step(optimizer)


def test_an_optimiser_of_torch_alone_is_noticed():
    m = model()
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    backward(m)
    optimizer.step()
    with pytest.raises(RuntimeError, match="residuum.torch.Optimizer"):
        m(torch.ones(3, 6))


class TestConversion:
    def net(self):
        return nn.ModuleDict(
            {"body": nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 2, 3)), "head": nn.Linear(4, 2)}
        )

    def names(self, m):
        return [name for name, _ in rt.analog_layers(m)]

    def test_all_or_some(self):
        assert self.names(rt.convert(self.net(), **PULSED)) == ["body.0", "body.2", "head"]
        assert self.names(rt.convert(self.net(), include="body.*", **PULSED)) == ["body.0", "body.2"]
        assert self.names(rt.convert(self.net(), include=[nn.Linear, "body.0"], **PULSED)) == ["body.0", "head"]
        assert self.names(rt.convert(self.net(), exclude=nn.Conv1d, **PULSED)) == ["body.0", "head"]

    def test_what_matches_nothing(self):
        for options in (dict(include="tail"), dict(exclude=["head", "tail*"]), dict(include=nn.LSTM)):
            with pytest.raises(ValueError, match="must match a layer"):
                rt.convert(self.net(), **options, **PULSED)
        with pytest.raises(ValueError, match="got none"):
            rt.convert(nn.ReLU(), **PULSED)
        with pytest.raises(ValueError, match="without"):
            rt.to_digital(nn.Linear(2, 2))

    def test_there_and_back(self):
        m = nn.Sequential(nn.Linear(3, 3), nn.Conv2d(3, 2, 3))
        bias = m[0].bias
        analog = rt.convert(m, **PULSED)
        weights = [layer.get_weights() for layer in analog]
        assert analog[0].bias is bias
        back = rt.to_digital(analog)
        assert type(back[0]) is nn.Linear and type(back[1]) is nn.Conv2d
        assert torch.equal(back[0].weight, weights[0]) and torch.equal(back[1].weight, weights[1])

    def test_layers_that_were_converted_are_dead(self):
        digital = nn.Linear(3, 3)
        m = rt.convert(nn.Sequential(digital), **PULSED)
        with pytest.raises(RuntimeError, match="was converted"):
            digital(torch.ones(1, 3))
        analog = m[0]
        rt.to_digital(m)
        for use in (lambda: analog(torch.ones(1, 3)), analog.get_weights, lambda: analog.set_weights(torch.zeros(3, 3))):
            with pytest.raises(RuntimeError, match="was converted back"):
                use()

    def test_shared_layers_stay_shared(self):
        layer = nn.Linear(3, 3)
        m = rt.convert(nn.Sequential(layer, nn.ReLU(), layer), **PULSED)
        assert m[0] is m[2]

    def test_attention_of_torch_stays_digital(self):
        m = nn.Sequential(nn.Linear(4, 4), nn.MultiheadAttention(4, 2))
        with pytest.warns(UserWarning, match="MultiheadAttention"):
            assert self.names(rt.convert(m, **PULSED)) == ["0"]

    def test_a_fault_leaves_the_model_alone(self):
        m = self.net()
        with pytest.raises(ValueError, match="preset"):
            rt.convert(m, device={"preset": "nonsense"}, rule="analog")
        assert not self.names(m) and m["head"](torch.ones(1, 4)).shape == (1, 2)
