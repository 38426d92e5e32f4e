"""Responses, arrays, rules, problems and theory on NumPy arrays."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest
import residuum
from residuum import theory

POWER = {"response": "power", "shape": 1.0, "radius": 1.0}
TILE = {"array": "tile", "response": "power", "shape": 1.0, "radius": 1.0, "pulse_step": 0.002}
RESIDUAL = {"kind": "residual_learning", "learning_rate": 0.05, "transfer_rate": 0.1, "mixing": 0.3, "symmetric_point": "known"}

# Every rule, with what it needs besides rates.
RULES = {
    "digital": {},
    "analog": {},
    "tiki_taka": {},
    "tiki_taka_2": {},
    "chopped_tiki_taka": {},
    "agad": {},
    "mixed_precision": {},
    "manhattan": {},
    "residual_learning": {"mixing": 0.3, "symmetric_point": "zero"},
    "residual_learning_2": {"mixing": 0.3, "symmetric_point": "zero"},
    "residual_cascade": {"mixing": 0.3, "symmetric_point": "zero"},
}


def rule_of(kind, dtype="float64", device=POWER, **options):
    weights = np.linspace(-0.5, 0.5, 6).reshape(2, 3)
    return residuum.Rule({"kind": kind} | RULES[kind], weights, None if kind == "digital" else device, dtype=dtype, **options)


def rates(kind):
    given = {} if kind == "manhattan" else {"learning_rate": 0.05}
    transfers = kind not in ("digital", "analog", "manhattan", "mixed_precision")
    return given | ({"transfer_rate": 0.1} if transfers else {})


# ---- responses

def test_responses_of_every_kind_agree():
    w = np.linspace(-0.9, 0.9, 19)
    power = residuum.Response("power", shape=1.0, radius=1.0)
    formula = residuum.Response.formula("1 - w", "1 + w", (-1.0, 1.0))
    nodes = np.linspace(-1, 1, 5)
    table = residuum.Response.table(nodes, 1 - nodes, 1 + nodes)
    called = []

    def q_plus(w):
        called.append(len(w))
        return 1 - w

    python = residuum.Response.tabulate(q_plus, lambda w: 1 + w, (-1.0, 1.0), points=257)
    assert called == [257]
    for response in (power, formula, table, python):
        np.testing.assert_allclose(response.q_plus(w), 1 - w, atol=1e-12)
        np.testing.assert_allclose(response.q_minus(w), 1 + w, atol=1e-12)
        assert response.symmetric_point == pytest.approx(0.0, abs=1e-9)
        assert response.q_plus(0.25) == pytest.approx(0.75)
        bounds = response.bounds(-0.5, 0.5)
        assert bounds["hardware_condition"] == pytest.approx(3.0)
        assert response.realized(0.1, 0.5) == pytest.approx(0.05)
        again = pickle.loads(pickle.dumps(response))
        assert again.to_dict() == response.to_dict()
    assert called == [257]
    assert power.figure().to_svg().startswith("<svg")
    assert "κ₂" in power.report()
    assert residuum.Response.preset("reram_sb").range[0] < 0


def test_a_python_function_is_a_device_of_a_spec_and_of_a_tile(problem):
    mine = residuum.Response.tabulate(lambda w: 1 - w**3, lambda w: 1 + w**3, (-1.0, 1.0))
    run = residuum.run(problem | {"device": mine}, out="s", quiet=True)
    assert run.failed == []
    tile = mine.to_dict() | {"array": "tile", "pulse_step": 0.001}
    assert residuum.Array(tile, np.zeros((3, 2))).dtype == "float32"


def test_wrong_responses():
    for make, sentence in [
        (lambda: residuum.Response("powr"), "device.response must be one of"),
        (lambda: residuum.Response("power", shap=1.0), "device.shap is not a field"),
        (lambda: residuum.Response.table([0.0, 1.0], [1.0], [1.0, 1.0]), "q_plus must have 2 entries"),
        (lambda: residuum.Response.table([0.0, 1.0], [1.0, np.nan], [1.0, 1.0]), r"q_plus\[1\] must be finite"),
        (lambda: residuum.Response.formula("1 -", "1", (-1, 1)), "device.q_plus"),
        (lambda: residuum.Response("power", shape=1.0, radius=1.0).bounds(-2, 0), "dynamic range"),
    ]:
        with pytest.raises(residuum.ResiduumError, match=sentence):
            make()
    with pytest.raises(ZeroDivisionError):
        residuum.Response.tabulate(lambda w: 1 / 0, lambda w: w, (-1, 1))


# ---- arrays

def test_an_exact_array_does_what_the_formula_says():
    array = residuum.Array(POWER, np.array([0.5, -0.5, 0.0]))
    assert array.shape == (3, 1) and array.dtype == "float64"
    array.increment(np.array([0.1, 0.1, -0.2]))
    np.testing.assert_allclose(array.weights.ravel(), [0.5 + 0.1 * 0.5, -0.5 + 0.1 * 1.5, -0.2])
    assert array.symmetric_points == [0.0, 0.0, 0.0] and array.range == (-1.0, 1.0)


def test_a_tile_is_written_by_pulses_and_read_through_converters():
    tile = residuum.Array(TILE, np.zeros((4, 3)), key=residuum.Key(3), readout="aihwkit")
    errors, inputs = np.ones((8, 4), np.float32), np.ones((8, 3), np.float32)
    tile.update(errors, inputs, scale=-0.01)
    assert tile.pulses_sent > 0 and (tile.weights < 0).all()
    outputs = tile.read(inputs)
    assert outputs.shape == (8, 4) and outputs.dtype == np.float32
    assert tile.read_transposed(errors).shape == (8, 3)
    exact = inputs @ tile.weights.T
    assert not np.array_equal(outputs, exact) and np.abs(outputs - exact).max() < 0.5
    ideal = residuum.Array(TILE, np.full((4, 3), 0.25))
    np.testing.assert_allclose(ideal.read(inputs), inputs @ ideal.weights.T, rtol=1e-6)
    tile.reset(0, 3)
    tile.program(np.full((4, 3), 0.25))
    tile.pulse_all(True)
    assert tile.age() is False


def test_zero_shifting_finds_the_symmetric_point():
    device = {"response": "soft_bounds", "down": 1.0, "up": 0.5} if False else {"response": "power", "shape": 1.0, "radius": 1.0}
    array = residuum.Array(device, np.full(5, 0.6))
    found = array.zero_shift(4000, pulse_step=0.01)
    cycle = theory.zero_shift_cycle(device, pulse_step=0.01)
    np.testing.assert_allclose(found["symmetric_point"], cycle["midpoint_error"], atol=1e-4)
    np.testing.assert_allclose(found["swing"], cycle["swing"], rtol=0.02)


@pytest.mark.parametrize("cell", [None, {"kind": "vector", "tiles": 2}, {"kind": "reference"}, {"kind": "one_sided"}])
def test_tiles_and_unit_cells_come_back_to_the_bit(cell):
    device = TILE | ({"cell": cell} if cell else {}) | {"cycle_noise": 0.3, "step_spread": 0.2}
    array = residuum.Array(device, np.zeros((4, 3)), key=residuum.Key(5))
    step = np.full((4, 3), 0.01, np.float32)
    array.increment(step)
    for copied in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
        assert np.array_equal(copied.weights, array.weights)
    copied = copy.deepcopy(array)
    for _ in range(5):
        array.increment(step)
        copied.increment(step)
    assert np.array_equal(copied.weights, array.weights)
    # Broken twin: another key makes other cells.
    other = residuum.Array(device, np.zeros((4, 3)), key=residuum.Key(6))
    other.increment(step)
    assert not np.array_equal(other.weights, residuum.Array(device, np.zeros((4, 3)), key=residuum.Key(5)).weights)


@pytest.mark.parametrize("preset", ["reram_es", "reram_sb", "reram_array_om", "reram_array_hfo2", "capacitor", "ecram", "ecram_mo", "idealized", "gokmen_vlasov", "pcm"])
def test_every_preset_is_an_array(preset):
    tile = residuum.Array({"preset": preset, "array": "tile"}, np.zeros((3, 3)))
    tile.increment(np.full((3, 3), 0.01, np.float32))
    assert np.isfinite(tile.weights).all()


# ---- rules

@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("where", ["float64", "float32", "tile"])
def test_every_rule_steps_and_resumes_to_the_bit(kind, where):
    if kind == "digital" and where == "tile":
        pytest.skip("digital memory has no tile")
    dtype = "float64" if where == "float64" else "float32"
    device = TILE if where == "tile" else POWER
    rule = rule_of(kind, dtype, device, key=residuum.Key(4))
    assert rule.dtype == dtype and rule.shape == (2, 3)
    rng = np.random.default_rng(0)
    gradients = [rng.normal(size=(2, 3)).astype(dtype) for _ in range(12)]
    for gradient in gradients[:6]:
        rule.step(gradient, **rates(kind))
    twins = [pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule), rule_of(kind, dtype, device, key=residuum.Key(4))]
    twins[2].load_state_dict(rule.state_dict())
    for gradient in gradients[6:]:
        for each in (rule, *twins):
            each.step(gradient, **rates(kind))
    for twin in twins:
        assert twin.steps == 12
        assert np.array_equal(twin.effective_weights(), rule.effective_weights()), kind
        for name, state in rule.states.items():
            assert np.array_equal(twin.states[name], state), name


def test_factors_are_the_dense_gradient_on_exact_arrays():
    errors, inputs = np.random.default_rng(1).normal(size=(5, 2)), np.random.default_rng(2).normal(size=(5, 3))
    a, b = rule_of("analog"), rule_of("analog")
    a.step(errors.T @ inputs, learning_rate=0.1)
    b.step_outer(errors, inputs, learning_rate=0.1)
    np.testing.assert_allclose(a.effective_weights(), b.effective_weights(), rtol=1e-14)
    out = np.empty((2, 3))
    assert a.effective_weights(out) is out and np.array_equal(out, a.effective_weights())


def test_wrong_input_is_an_exception_and_moves_nothing():
    rule = rule_of("analog")
    before = rule.effective_weights()
    good = np.ones((2, 3))
    cases = [
        (lambda: rule.step(good.astype(np.float32), learning_rate=0.1), "gradient must be an array of float64, got float32"),
        (lambda: rule.step(good.T, learning_rate=0.1), "gradient must be contiguous in C order"),
        (lambda: rule.step(np.ones((2, 2)), learning_rate=0.1), "gradient must have 6 entries, got 4"),
        (lambda: rule.step([[1.0] * 3] * 2, learning_rate=0.1), "gradient must be a NumPy array of float64, got list"),
        (lambda: rule.step(np.full((2, 3), np.nan), learning_rate=0.1), r"gradient\[0\] must be finite"),
        (lambda: rule.step(good), "learning_rate must be given, here or in the rule"),
        (lambda: rule.step(good, learning_rate=float("inf")), "learning_rate must be at least 0 and finite"),
        (lambda: rule.step(good, learning_rate=0.1, transfer_rate=0.1), "transfer_rate must not be given"),
        (lambda: rule.step_outer(np.ones((5, 2)), np.ones((4, 3)), learning_rate=0.1), "as many samples as errors, 5, got 4"),
        (lambda: rule.step_outer(np.ones((5, 3)), np.ones((5, 3)), learning_rate=0.1), "errors must have 2 entries per sample"),
        (lambda: rule.load_state_dict({}), "is missing"),
        (lambda: rule.load_state_dict({"main": [1.0]}), "tensor main must be a NumPy array"),
        (lambda: rule.effective_weights(np.empty(2)), "out must have 6 entries"),
        (lambda: residuum.Rule("analog", np.ones((2, 3)) * 3, POWER), "must be inside the dynamic range"),
        (lambda: residuum.Rule("analog", np.ones((2, 3, 4)), POWER), "vector or a matrix, got 3 dimensions"),
        (lambda: residuum.Rule("analog", np.ones((2, 3))), "device is missing"),
        (lambda: residuum.Rule("analogue", np.ones((2, 3)), POWER), "rule.kind must be one of"),
        (lambda: residuum.Rule("analog", np.ones((2, 3)), "no_such_preset"), "device.preset must be one of"),
        (lambda: residuum.Rule("analog", np.zeros((2, 3)), TILE, dtype="float64"), "dtype must be \"float32\" for tiles"),
        (lambda: residuum.Rule("analog", np.zeros((2, 3)), POWER, dtype="int8"), "dtype must be"),
        (lambda: residuum.Rule("manhattan", np.zeros((2, 3)), POWER).step(good, learning_rate=0.1), "which has none"),
        (lambda: residuum.Array(TILE, np.zeros((4, 3))).read(np.ones((2, 4), np.float32)), "inputs must have 3 entries per sample"),
        (lambda: residuum.Array(TILE, np.zeros((4, 3))).increment(np.full((4, 3), np.inf, np.float32)), "must be finite"),
        (lambda: residuum.Array(POWER, np.zeros((4, 3))).zero_shift(0), "averaged must be"),
    ]
    for case, sentence in cases:
        with pytest.raises(residuum.ResiduumError) as error:
            case()
        assert sentence.replace("\\", "") in str(error.value), str(error.value)
    assert np.array_equal(rule.effective_weights(), before) and rule.steps == 0


def test_two_threads_on_one_rule_get_an_answer_or_an_exception():
    rule = residuum.Rule("analog", np.zeros((400, 400)), TILE)
    gradient = np.full((400, 400), 0.1, np.float32)
    outcomes = []

    def work():
        for _ in range(30):
            try:
                rule.step(gradient, learning_rate=0.01)
                outcomes.append("done")
            except residuum.ResiduumError as error:
                outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert len(outcomes) == 120 and outcomes.count("done") == rule.steps > 0
    others = set(outcomes) - {"done"}
    assert all("in use by another thread" in sentence for sentence in others)


@pytest.mark.parametrize("watch", [False, True], ids=["brief", "long"])
def test_a_defect_is_an_exception_and_the_interpreter_goes_on(watch, capfd):
    from residuum import _residuum

    for _ in range(3):
        with pytest.raises(RuntimeError, match="a defect in Residuum.*the cat is out"):
            _residuum._panic("the cat is out", watch)
    assert residuum.Key(1).word == residuum.Key(1).word
    assert "the cat is out" in capfd.readouterr().err


def test_objects_leave_nothing_behind(in_use):
    """A thousand here; OBJECTS=100000 for the whole of it."""
    count = int(os.environ.get("OBJECTS", "1000"))
    weights, gradient = np.zeros((8, 8)), np.ones((8, 8), np.float32)

    def use(count, kept):
        for _ in range(count):
            rule = residuum.Rule("analog", weights, TILE)
            rule.step(gradient, learning_rate=0.01)
            residuum.Key(1).normal(4)
            kept.append(rule)
            del kept[20:]

    use(500, [])
    before = in_use()
    use(count, [])
    # A tile of 64 cells is more than a kilobyte.
    assert (in_use() - before) / count < 20
    # The twin: one object in fifty that is kept is seen.
    kept = []
    use(1000, kept)
    assert (in_use() - before) / 1000 > 20


# ---- problems

def test_minimize_is_the_loop_of_rust(problem):
    """The same rule, key and noise as a run of the same spec: the same end, to the bit."""
    run = residuum.run(problem | {"seeds": [1], "record": {"metrics": ["effective"], "every": 400}}, out="s", quiet=True)
    key = residuum.Key(1)
    rule = residuum.Rule(problem["rule"], [0.0], problem["device"], key=key.named("rule"))
    noisy = residuum.Problem(problem["problem"], problem["noise"], key=key)
    assert residuum.minimize(noisy, [rule], 400, key=key) == 400
    last = [row for row in csv_rows("s") if row["step"] == "400"]
    assert float(last[-1]["value"]) == rule.effective_weights()[0, 0]
    assert run.failed == []


def csv_rows(store):
    import csv
    from pathlib import Path

    (path,) = Path(store).glob("trials/*/records.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_python_objective_is_minimised_and_observed():
    seen = []

    def gradient(w):
        return w - 0.5

    mine = residuum.Problem.of(gradient, 4, noise={"kind": "gaussian", "deviation": 0.5})
    built_in = residuum.Problem({"kind": "quadratic", "curvature": 1.0, "minimizer": [0.5] * 4}, {"kind": "gaussian", "deviation": 0.5})
    rules = [residuum.Rule({"kind": "analog", "learning_rate": 0.05}, np.zeros(4), POWER) for _ in range(2)]
    residuum.minimize(mine, [rules[0]], 300, observe=lambda k, rules: seen.append(k), every=100)
    residuum.minimize(built_in, [rules[1]], 300)
    assert seen == [0, 100, 200, 300]
    assert np.array_equal(rules[0].effective_weights(), rules[1].effective_weights())
    # A run split into several calls has the same bits.
    split = residuum.Rule({"kind": "analog", "learning_rate": 0.05}, np.zeros(4), POWER)
    for steps in (1, 99, 200):
        residuum.minimize(built_in, [split], steps)
    assert np.array_equal(split.effective_weights(), rules[1].effective_weights())
    # Several rules meet the same noise, in either precision.
    both = [residuum.Rule({"kind": "analog", "learning_rate": 0.05}, np.zeros(4), POWER), residuum.Rule({"kind": "analog", "learning_rate": 0.05}, np.zeros(4), TILE)]
    residuum.minimize(mine, both, 300)
    assert np.array_equal(both[0].effective_weights(), rules[0].effective_weights())
    stopped = residuum.minimize(mine, [rules[0]], 300, observe=lambda k, _: k < 310, every=5)
    assert stopped == 310


def test_what_a_callback_raises_arrives():
    def gradient(w):
        raise RuntimeError("mine")

    rule = residuum.Rule({"kind": "analog", "learning_rate": 0.05}, np.zeros(4), POWER)
    with pytest.raises(RuntimeError, match="mine"):
        residuum.minimize(residuum.Problem.of(gradient, 4), [rule], 1000)
    with pytest.raises(residuum.ResiduumError, match="gradient must have 4 entries, got 3"):
        residuum.minimize(residuum.Problem.of(lambda w: w[:3], 4), [rule], 10)
    with pytest.raises(residuum.ResiduumError, match=r"gradient\[0\] must be finite"):
        residuum.minimize(residuum.Problem.of(lambda w: w * np.nan, 4), [rule], 10)
    assert rule.steps == 0 and not rule.effective_weights().any()
    with pytest.raises(residuum.ResiduumError, match="effective weights of the rule must have 3 entries, got 4"):
        residuum.minimize(residuum.Problem.of(lambda w: w, 3), [rule], 10)


# ---- theory

def test_theory_predicts_where_analog_sgd_ends():
    noisy = residuum.Problem({"kind": "quadratic", "curvature": 1.0, "minimizer": 0.5}, {"kind": "gaussian", "deviation": 1.0})
    drift = theory.predict_drift(noisy, POWER)
    (zero, stable), = theory.drift_zeros(noisy, POWER, (-0.9, 0.9))
    assert stable and zero == pytest.approx(drift["fixed_point"][0], abs=1e-8)
    assert theory.mean_drift(noisy, POWER, [zero])[0] == pytest.approx(0.0, abs=1e-8)
    assert zero == pytest.approx(0.275, abs=0.01)
    penalty = theory.implicit_penalty(noisy, POWER, [zero])
    assert penalty["penalized_objective"] == pytest.approx(0.5 * (zero - 0.5) ** 2 + penalty["implicit_penalty"])
    assert theory.gradient_magnitude(noisy, [0.5])[0] == pytest.approx(np.sqrt(2 / np.pi))
    # 2000 replicas of Analog SGD end there, up to the step size and z·SE.
    n = 2000
    replicas = residuum.Problem({"kind": "quadratic", "curvature": 1.0, "minimizer": [0.5] * n}, {"kind": "gaussian", "deviation": 1.0})
    rule = residuum.Rule({"kind": "analog", "learning_rate": 0.01}, np.full(n, 0.8), POWER)
    residuum.minimize(replicas, [rule], 3000, key=residuum.Key(1))
    ends = rule.effective_weights()
    error = 4.9 * ends.std() / np.sqrt(n) + 0.01
    assert abs(ends.mean() - zero) < error
    # Broken twin: the minimiser, where digital SGD ends, is far outside.
    assert abs(ends.mean() - 0.5) > 10 * error


def test_lemma_and_laws():
    response = residuum.Response("power", shape=1.0, radius=1.0)
    chosen = theory.coefficients(
        strong_convexity=1.0, smoothness=1.0, noise=0.01, bounds=response.bounds(-0.2, 0.2), steps=10**9, initial_lyapunov=1.0
    )
    assert all(holds for *_, holds in chosen["conditions"]) and chosen["learning_rate"] > 0
    with pytest.raises(residuum.ResiduumError):
        theory.coefficients(strong_convexity=1.0, smoothness=1.0, noise=1.0, bounds=response.bounds(-0.2, 0.2), steps=1, initial_lyapunov=1.0)
    with pytest.raises(residuum.ResiduumError, match="bounds must have"):
        theory.coefficients(strong_convexity=1.0, smoothness=1.0, noise=1.0, bounds={}, steps=1, initial_lyapunov=1.0)
    law = theory.stationary_law(POWER, curvature=1.0, deviation=1.0, minimizer=0.5, learning_rate=0.01, transfer_rate=0.01, mixing=0.3)
    assert law["residual_deviation"] > 0 and law["fast_rate"] > law["slow_rate"]
