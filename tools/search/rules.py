"""Settings that were tried for `coarse-states`, `wrong-references` and `symmetric-point`, the same number for every rule.

    python3 tools/search/rules.py coarse-states > search.toml      # prints a spec
    residuum run search.toml --out search                          # trains each setting once, on seed 7
    python3 tools/search/rules.py --best search                    # the best of each rule by validation accuracy after the last epoch

A setting is a point of a Halton sequence in the ranges of its round; later rounds have ranges around the best of earlier ones. Every
setting is judged on a sixth (digits: a fifth) of the training samples, which it does not see; the test samples are not used.
"""

import csv
import json
import pathlib
import re
import sys

EXPERIMENTS = pathlib.Path(__file__).parents[2] / "experiments"
PRIMES = [2, 3, 5, 7, 11, 13]


def halton(i, base):
    share, value = 1.0, 0.0
    while i:
        share /= base
        value += share * (i % base)
        i //= base
    return value


def log(low, high):
    return lambda u: float(f"{low * (high / low) ** u:.3g}")


def pick(*values):
    return lambda u: values[min(int(u * len(values)), len(values) - 1)]


# --- rules: from named numbers to a table of a spec -----------------------------------------------------------------------------

LINKS = 5


def tiki_taka(p):
    columns = {"columns": p["columns"]} if "columns" in p else {}
    return {"kind": "tiki_taka", "learning_rate": p["alpha"], "transfer_rate": p["lam"], **columns}


def tiki_taka_2(p):
    return {**tiki_taka(p), "kind": "tiki_taka_2", "columns": p.get("columns", 1)}


def chopped(p, kind="chopped_tiki_taka"):
    return {**tiki_taka(p), "kind": kind, "chop": {"columns": p["p"]}}


def agad(p):
    """`samples` between two columns; one column after each mini-batch without."""
    return {**chopped(p, "agad"), **({"every": {"samples": p["samples"]}} if "samples" in p else {})}


def mixed_precision(p):
    return {"kind": "mixed_precision", "learning_rate": p["alpha"]}


def multi_tile(p):
    """Rates of transfers grow by 1.2 from link to link; `fixed` ones do not follow the schedule, α does then."""
    links = p.get("links", LINKS)
    powers = range(links - 1, -1, -1)
    if p.get("fixed"):
        alpha, rates = p["alpha"], [{"constant": round(p["beta"] * 1.2**m, 4)} for m in powers]
    else:
        alpha, rates = {"constant": p["alpha"]}, [float(f"{p['beta'] * 1.2**m:.3g}") for m in powers]
    return {
        "kind": "residual_cascade",
        "learning_rate": alpha,
        "mixing": p["gamma"],
        "symmetric_point": "zero",
        "transfer_rates": rates,
        "periods": [p.get("first", 2) * p["ratio"] ** m for m in powers],
    }


def residual(p, point="zero"):
    """`lam` is βγ: what W moves by, relative to a read."""
    return {
        "kind": "residual_learning_2",
        "learning_rate": p["alpha"],
        "transfer_rate": float(f"{p['lam'] / p['gamma']:.3g}"),
        "mixing": p["gamma"],
        "columns": p.get("columns", 1),
        "symmetric_point": point,
    }


def e_rider(p):
    return residual(p, {"track": {"rate": p["eta"], "chopper": p.get("p", 0.0)}})


# --- what was tried: rule, number of settings, ranges ----------------------------------------------------------------------------

CHOPS = pick(0.02, 0.05, 0.1, 0.2)
TT2 = {"alpha": log(0.03, 3), "lam": log(0.003, 1), "columns": pick(1, 8)}
AGAD = {"alpha": log(0.03, 3), "lam": log(0.003, 1), "p": CHOPS}
RESIDUAL = {"alpha": log(0.01, 3), "lam": log(0.003, 1), "gamma": log(0.01, 0.4)}
E_RIDER = {"alpha": log(0.03, 3), "lam": log(0.003, 1), "gamma": log(0.01, 0.3), "eta": log(0.02, 0.9), "p": CHOPS}
FINE_CHOPS = pick(0.05, 0.1, 0.2)


def by_hand(rows):
    """Settings of multi-tile that looked for the ingredient that matters: arrays, γ, α, β, ratio of periods, first period."""
    names = ["links", "gamma", "alpha", "beta", "ratio", "first"]
    return [dict(zip(names, row)) for row in rows]


SPACES = {
    "coarse-states": {
        "multi-tile": [
            (multi_tile, 12, {"alpha": log(0.02, 3), "gamma": log(0.07, 0.5), "ratio": pick(5, 2), "beta": log(0.3, 3),
                              "fixed": pick(True)}),
            (multi_tile, 12, {"alpha": log(0.1, 3), "gamma": log(0.12, 0.35), "beta": log(0.03, 0.6), "ratio": pick(5, 3)}),
            (multi_tile, 10, {"alpha": log(0.4, 3), "gamma": log(0.35, 0.7), "beta": log(0.1, 0.8), "ratio": pick(5)}),
            (multi_tile, by_hand([
                (1, 0.25, 0.234, 0.1, 5, 2), (2, 0.25, 0.234, 0.1, 5, 2), (3, 0.25, 0.234, 0.1, 5, 2),
                (2, 0.4, 0.234, 0.1, 5, 2), (5, 0.4, 0.234, 0.1, 5, 2), (5, 0.33, 1.0, 0.1, 5, 2),
                (5, 0.3, 0.234, 0.1, 3, 10), (5, 0.4, 2.0, 0.1, 5, 2), (5, 0.5, 1.0, 0.1, 5, 2),
                (5, 0.4, 1.0, 0.05, 5, 2), (5, 0.4, 1.0, 0.2, 5, 2), (5, 0.4, 1.0, 0.1, 3, 2), (7, 0.4, 1.0, 0.1, 5, 2),
                (5, 0.408, 1.5, 0.2, 5, 2),
            ]), None),
        ],
        "tiki-taka-2": [
            (tiki_taka_2, 12, TT2),
            (tiki_taka_2, 12, {"alpha": log(0.6, 4), "lam": log(0.06, 0.6), "columns": pick(1, 2)}),
            (tiki_taka_2, 24, {"alpha": log(0.4, 8), "lam": log(0.05, 1), "columns": pick(1, 2, 4)}),
        ],
        "tiki-taka-1": [
            (tiki_taka, 12, {"alpha": log(0.01, 3), "lam": log(0.01, 3)}),
            (tiki_taka, 12, {"alpha": log(0.5, 4), "lam": log(0.08, 0.8)}),
            (tiki_taka, 24, {"alpha": log(0.4, 8), "lam": log(0.03, 0.6), "columns": pick(1, 2, 4)}),
        ],
        "mixed-precision": [
            (mixed_precision, 12, {"alpha": log(0.005, 1)}),
            (mixed_precision, 12, {"alpha": log(0.05, 0.3)}),
            (mixed_precision, 27, {"alpha": log(0.06, 0.25)}),
        ],
    },
    "wrong-references": {
        "e-rider": [
            (e_rider, 12, E_RIDER),
            (e_rider, 12, {"alpha": log(0.8, 5), "lam": log(0.03, 0.3), "gamma": log(0.02, 0.2), "eta": log(0.01, 0.3),
                           "p": FINE_CHOPS}),
            (e_rider, 12, {"alpha": log(1, 4), "lam": log(0.03, 0.3), "gamma": log(0.02, 0.2), "eta": log(0.03, 0.3),
                           "columns": pick(2, 5), "p": pick(0.05, 0.1)}),
        ],
        "agad": [
            (agad, 12, AGAD),
            (agad, 12, {"alpha": log(0.8, 5), "lam": log(0.03, 0.3), "p": FINE_CHOPS}),
            (agad, 12, {"alpha": log(1, 4), "lam": log(0.03, 0.3), "p": pick(0.05, 0.1), "samples": pick(5, 2)}),
        ],
        "tiki-taka-2": [
            (tiki_taka_2, 12, TT2),
            (tiki_taka_2, 12, {"alpha": log(0.3, 3), "lam": log(0.002, 0.1), "columns": pick(1, 8)}),
            (tiki_taka_2, 12, {"alpha": log(0.4, 6), "lam": log(0.001, 0.05), "columns": pick(2, 4, 8)}),
        ],
        "residual": [
            (residual, 12, RESIDUAL),
            (residual, 12, {"alpha": log(0.5, 5), "lam": log(0.003, 0.1), "gamma": log(0.02, 0.3)}),
            (residual, 12, {"alpha": log(0.4, 4), "lam": log(0.005, 0.2), "gamma": log(0.02, 0.3), "columns": pick(1, 2, 5)}),
        ],
    },
    "symmetric-point": {
        "tiki-taka-1": [(tiki_taka, 12, {"alpha": log(0.01, 3), "lam": log(0.01, 3)})],
        "tiki-taka-2": [(tiki_taka_2, 12, TT2)],
        "chopped": [(chopped, 12, AGAD)],
        "agad": [(agad, 12, AGAD)],
        "residual": [(residual, 12, RESIDUAL)],
        "rider": [(e_rider, 12, {"alpha": log(0.03, 3), "lam": log(0.003, 1), "gamma": log(0.01, 0.3), "eta": log(0.001, 0.1)})],
        "e-rider": [(e_rider, 12, E_RIDER)],
    },
}


# --- the spec, and the best of its trials ------------------------------------------------------------------------------------------


def settings(space):
    for rule, count, ranges in space:
        if ranges is None:
            yield from map(rule, count)
            continue
        for i in range(1, count + 1):
            yield rule({name: of(halton(i, PRIMES[d])) for d, (name, of) in enumerate(ranges.items())})


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def spec(name):
    text = (EXPERIMENTS / f"{name}.toml").read_text()
    text = text[: min(text.index("[[cell]]") if "[[cell]]" in text else len(text), text.index("[[variant]]"))]
    share, epochs = (0.2, 40) if name == "symmetric-point" else (0.1667, 3)
    text = re.sub(r'(?m)^set = .*', rf'\g<0>\nvalidation = {share}\nevaluate = "validation"', text)
    text = re.sub(r"(?m)^epochs = .*", f"epochs = {epochs}", text)
    text = re.sub(r"(?m)^seeds = .*", "seeds = [7]", text)
    if name == "symmetric-point":
        text = text.replace("[readout]", "[device.residual]\nreference = { mean = 0.12, deviation = 0.12 }\n\n[readout]")
    for rule, space in SPACES[name].items():
        # Rounded to three digits, two points may be one.
        for n, table in enumerate(dict.fromkeys(map(toml, settings(space))), 1):
            text += f'[[variant]]\nname = "{rule}-{n:02}"\nrule = {table}\n\n'
    return text


def best(store):
    found = {}
    for manifest in pathlib.Path(store).glob("trials/*/manifest.json"):
        records = manifest.with_name("records.csv")
        if not records.exists():
            continue
        with records.open() as file:
            accuracies = [float(row["value"]) for row in csv.DictReader(file) if row["metric"] == "validation_accuracy"]
        name = json.loads(manifest.read_text())["name"]
        found.setdefault(re.sub(r"-\d+$", "", name), []).append((accuracies[-1], name))
    for rule, trials in found.items():
        accuracy, name = max(trials)
        print(f"{rule}: {len(trials)} settings, best {name} with {100 * accuracy:.2f} %")


if __name__ == "__main__":
    if sys.argv[1] == "--best":
        best(sys.argv[2])
    else:
        print(spec(sys.argv[1]))
