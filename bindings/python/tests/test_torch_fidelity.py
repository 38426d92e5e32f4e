"""The same network, seed and batches through torch and through `residuum run`."""

import math

import pytest

torch = pytest.importorskip("torch")

import residuum  # noqa: E402
import residuum.torch as rt  # noqa: E402
from residuum.torch import functional as same  # noqa: E402
from torch import nn  # noqa: E402

@pytest.fixture(autouse=True)
def one_thread():
    """Layers of this size are done before a second thread has woken up."""
    threads, torch_threads = residuum.threads(), torch.get_num_threads()
    residuum.set_threads(1)
    torch.set_num_threads(1)
    yield
    residuum.set_threads(threads)
    torch.set_num_threads(torch_threads)


TABLES = {
    "device": {
        "response": "power",
        "shape": 1.0,
        "radius": 0.3,
        "states": 1200,
        "step_spread": 0.3,
        "cycle_noise": 0.3,
        "imbalance_spread": 0.01,
    },
    "readout": {"preset": "aihwkit"},
    "mapping": {"output_scaling": "tile", "max_cols": 40},
}
RULES = {
    "analog": ({"kind": "analog"}, 0.05),
    "residual": ({"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.4, "symmetric_point": "zero"}, 0.1),
    "tiki-taka": ({"kind": "tiki_taka", "learning_rate": {"constant": 0.01}, "transfer_rate": 0.05, "columns": 1}, 0.05),
    "mixed-precision": ({"kind": "mixed_precision"}, 0.05),
}
DIGITAL = 0.05


def spec(rule, lr, epochs=1, **tables):
    rule = {"learning_rate": lr, **rule}
    training = {"epochs": epochs, "batch_size": 10, "seeds": [3]}
    return {
        "network": {"model": "mlp", "hidden": [32], "activation": "sigmoid"},
        "data": {"set": "digits"},
        "digital": {"learning_rate": DIGITAL},
        "training": training,
        "rule": rule,
        **TABLES,
        **tables,
    }


class Sigmoid(nn.Module):
    def forward(self, x):
        return same.sigmoid(x)


class Plain(torch.optim.Optimizer):
    """w ← w − α g in two roundings; torch's SGD fuses them into one."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * group["lr"])


def network(trial, rule, activation=Sigmoid, **tables):
    """The model of the trial in torch, from the same start."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), activation(), nn.Linear(32, 10))
    start = trial.tensors()
    with torch.no_grad():
        for name in ("1", "3"):
            model[int(name)].bias.copy_(torch.from_numpy(start[f"{name}.bias"]))
            # What was on the tiles before training is what they were programmed to: cells clip alike.
            model[int(name)].weight.copy_(torch.from_numpy(start[f"{name}.weight"]))
    return rt.convert(model, rule=rule, seed=3, **{**TABLES, **tables})


def train(model, optimizer, batches, loss):
    for images, labels in batches:
        optimizer.zero_grad()
        loss(model(torch.from_numpy(images)), torch.from_numpy(labels)).backward()
        optimizer.step()


@pytest.mark.parametrize("name", RULES)
def test_a_trial_through_torch_has_the_same_bits(name):
    rule, lr = RULES[name]
    trial = residuum.Trial(spec(rule, lr))
    model = network(trial, rule)
    optimizer = rt.Optimizer(model.parameters(), lr=lr, digital=Plain, digital_lr=DIGITAL)
    trial.train(0)
    train(model, optimizer, trial.batches(0), same.cross_entropy)
    there = trial.tensors()
    compared = 0
    for layer in ("1", "3"):
        module = model[int(layer)]
        assert torch.equal(module.bias, torch.from_numpy(there[f"{layer}.bias"]))
        scales = [there[f"{layer}.weight.tile{n}.output_scale"][0] for n in range(2 if layer == "1" else 1)]
        assert module.output_scale.tolist() == scales
        for tensor, values in module.tile.matrix.tensors().items():
            if tensor in ("k", "reads", "evaluations") or tensor.endswith("output_scale"):
                continue
            expected = there[f"{layer}.weight.{tensor}"]
            assert values.dtype == expected.dtype and values.tobytes() == expected.tobytes(), f"{layer} {tensor}"
            compared += 1
        assert torch.equal(module.get_weights(), torch.from_numpy(there[f"{layer}.weight"]))
    assert compared > 9
    assert model[1].pulses > 0
    # The twin: one epoch later nothing agrees.
    train(model, optimizer, trial.batches(1), same.cross_entropy)
    assert not torch.equal(model[1].get_weights(), torch.from_numpy(there["1.weight"]))


def test_groups_of_channels_have_the_bits_of_a_trial():
    rule, lr = RULES["analog"]
    layers = [
        {"kind": "conv2d", "outputs": 4, "kernel": 3},
        "sigmoid",
        {"kind": "conv2d", "outputs": 6, "kernel": 3, "groups": 2},
        "flatten",
        {"kind": "linear", "outputs": 10},
    ]
    trial = residuum.Trial(spec(rule, lr, network={"layers": layers}))
    model = nn.Sequential(nn.Conv2d(1, 4, 3), Sigmoid(), nn.Conv2d(4, 6, 3, groups=2), nn.Flatten(), nn.Linear(96, 10))
    start = {name: torch.from_numpy(values) for name, values in trial.tensors().items()}
    model.load_state_dict({name: start[name].reshape(p.shape) for name, p in model.state_dict().items()})
    model = rt.convert(model, rule=rule, seed=3, **TABLES)
    optimizer = rt.Optimizer(model.parameters(), lr=lr, digital=Plain, digital_lr=DIGITAL)
    steps = 5
    trial.train(0, steps)
    batches = [(images.transpose(0, 3, 1, 2), labels) for _, (images, labels) in zip(range(steps), trial.batches(0))]
    train(model, optimizer, batches, same.cross_entropy)
    there = trial.tensors()
    for name in ("0", "2", "4"):
        layer = model[int(name)]
        assert torch.equal(layer.get_weights(), torch.from_numpy(there[f"{name}.weight"]).reshape(layer._weight_shape()))
        assert torch.equal(layer.bias, torch.from_numpy(there[f"{name}.bias"])) and layer.pulses > 0


def test_torchs_own_functions_reach_the_same_accuracy():
    rule, lr = RULES["residual"]
    trial = residuum.Trial(spec(rule, lr))
    model = network(trial, rule, nn.Sigmoid)
    optimizer = rt.Optimizer(model.parameters(), lr=lr, digital_lr=DIGITAL)
    for epoch in range(2):
        trial.train(epoch)
        train(model, optimizer, trial.batches(epoch), nn.functional.cross_entropy)
    _, there = trial.evaluate()
    model.eval()
    with torch.no_grad():
        hits = [(model(torch.from_numpy(x)).argmax(1) == torch.from_numpy(y)).float() for x, y in trial.test()]
    hits = torch.cat(hits)
    here = hits.mean().item()
    # Two proportions of the same images, taken as independent: an upper bound of the error of their difference.
    error = math.sqrt((here * (1 - here) + there * (1 - there)) / len(hits))
    assert abs(here - there) < 4.9 * error, f"{here} in torch, {there} in residuum run, {len(hits)} images"
    # The twin: a network that did not learn is far outside.
    assert abs(0.1 - there) > 4.9 * error
