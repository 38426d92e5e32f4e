"""Every rule, response, preset, unit cell and readout that specs know is had by a layer in torch: the lists are the schema's own."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import residuum.torch as rt  # noqa: E402

_command = [sys.executable, "-c", "import sys; from residuum._command import main; sys.exit(main())", "schema"]
SCHEMA = json.loads(subprocess.run(_command, capture_output=True, text=True, check=True).stdout)["$defs"]


def values(table, field):
    """What a field of a table may be, over all the forms of the table."""
    found = {}
    for form in SCHEMA[table].get("anyOf", [SCHEMA[table]]):
        declared = form.get("properties", {}).get(field, {})
        found |= dict.fromkeys(declared.get("enum", [declared["const"]] if "const" in declared else []))
    return list(found)


TRANSFER = {"transfer_rate": 0.1}
#: What a rule cannot do without.
OF_RULE = {
    "analog": {}, "manhattan": {}, "mixed_precision": {}, "tiki_taka": TRANSFER, "tiki_taka_2": TRANSFER, "chopped_tiki_taka": TRANSFER, "agad": TRANSFER,
    "residual_learning": {**TRANSFER, "mixing": 0.5, "symmetric_point": "known"},
    "residual_learning_2": {**TRANSFER, "mixing": 0.5, "symmetric_point": "known"},
    "residual_cascade": {**TRANSFER, "mixing": 0.5, "symmetric_point": "known", "residuals": 2},
}
#: And a response: states are counted where cells have bounds.
UNBOUNDED = {"range": [-1.0, 1.0]}
OF_RESPONSE = {
    "linear": {"slope": 0.2}, "power": {"shape": 1.0}, "exponential": {"shape": 1.0}, "tanh": {"slope": 0.2, **UNBOUNDED},
    "soft_bounds": {"array": "exact", "radius_plus": 1.0, "radius_minus": 1.0}, "ceiling": {"min": 0.5, **UNBOUNDED},
    "table": {"points": [[-1.0, 1.5, 0.5], [0.0, 1.0, 1.0], [1.0, 0.5, 1.5]]},
    "formula": {"q_plus": "1 - w", "q_minus": "1 + w", "range": [-1.0, 1.0]},
    "mixture": {"array": "exact", "parts": [
        {"fraction": 0.5, "array": "exact", "response": "constant"}, {"fraction": 0.5, "array": "exact", "response": "power", "shape": 1.0},
    ]},
}


def trained(device, rule, **options):
    """Two steps of a layer: whether its cells were written."""
    torch.manual_seed(0)
    layer = rt.AnalogLinear(6, 4, device=device, rule=rule, seed=1, name="a", **options)
    optimizer, before = rt.Optimizer(layer.parameters(), lr=0.5), layer.get_weights()
    for _ in range(2):
        optimizer.zero_grad()
        layer(torch.ones(3, 6)).sum().backward()
        optimizer.step()
    after = layer.get_weights()
    assert torch.isfinite(after).all()
    # Cells of exact arrays have no pulses; a rule that filters what it transfers moves its main array later.
    return layer.pulses > 0 or not torch.equal(before, after)


def test_the_lists_are_found():
    assert len(values("RuleTable", "kind")) >= 11 and len(values("DeviceTable", "response")) >= 13
    assert len(values("DeviceTable", "preset")) >= 10 and set(values("CellTable", "kind")) == {"vector", "reference", "one_sided"}


@pytest.mark.parametrize("kind", values("RuleTable", "kind"))
def test_every_rule(kind):
    if kind == "digital":
        # A layer of torch is that rule.
        with pytest.raises(ValueError, match="digital"):
            trained("reram_sb", kind)
        return
    assert trained("reram_sb", {"kind": kind, **OF_RULE[kind]})


@pytest.mark.parametrize("name", values("DeviceTable", "preset"))
def test_every_preset(name):
    one_sided = {"cell": {"kind": "one_sided"}} if name == "pcm" else {}
    assert trained({"preset": name, **one_sided}, "analog")


@pytest.mark.parametrize("name", values("DeviceTable", "response"))
def test_every_response(name):
    given = {"response": name, "states": 1000, **OF_RESPONSE.get(name, {})}
    if "array" in given:
        given["states"] = None
    assert trained({field: value for field, value in given.items() if value is not None}, "analog")


@pytest.mark.parametrize("kind", values("CellTable", "kind"))
def test_every_unit_cell(kind):
    assert trained({"preset": "ecram", "cell": {"kind": kind}}, "analog")


@pytest.mark.parametrize("name", values("ReadTable", "preset"))
def test_every_readout(name):
    assert trained("ecram", "analog", readout=name)
    assert trained("ecram", "analog", readout={"preset": name})
