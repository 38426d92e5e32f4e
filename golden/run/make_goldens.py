"""Expected trajectories for the specs of this folder, from an implementation that shares nothing with the Rust one.

Everything is written from docs/spec.md in scalar f64 Python; SciPy is used only for PCHIP. No random numbers.
Usage: python make_goldens.py   (rewrites expected.json next to this file)
"""

import csv
import json
import math
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).parent
PHI = (math.sqrt(5.0) - 1.0) / 2.0


# Vectors, matrices and expressions.

def frac(x):
    return x - math.floor(x)


NAMES = {
    "pi": math.pi, "e": math.e, "phi": PHI, "exp": math.exp, "ln": math.log, "log10": math.log10,
    "sqrt": math.sqrt, "abs": abs, "sign": lambda x: (x > 0) - (x < 0), "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "tanh": math.tanh, "sinh": math.sinh, "cosh": math.cosh, "artanh": math.atanh,
    "arctan": math.atan, "erf": math.erf, "floor": math.floor, "ceil": math.ceil, "frac": frac,
    "mod": lambda a, b: a - b * math.floor(a / b), "min": min, "max": max, "pow": math.pow,
    "clamp": lambda x, lo, hi: max(lo, min(hi, x)), "step": lambda x: 1.0 if x >= 0 else 0.0,
    "choose": lambda condition, a, b: a if condition else b, "__builtins__": {},
}


def expression(text):
    code = compile(re.sub(r"\bif\b", "choose", text).replace("^", "**"), text, "eval")
    return lambda **variables: float(eval(code, NAMES, variables))


def read_csv(name):
    """The header (or None) and the rows of numbers."""
    lines = [row for row in csv.reader((HERE / name).open()) if row and not row[0].lstrip().startswith("#")]
    try:
        return None, [[float(x) for x in row] for row in lines]
    except ValueError:
        return [x.strip() for x in lines[0]], [[float(x) for x in row] for row in lines[1:]]


def column(table):
    header, rows = read_csv(table["csv"])
    which = table.get("column", 0)
    index = header.index(which) if isinstance(which, str) else which
    return [row[index] for row in rows]


def length(value):
    if isinstance(value, list):
        return len(value)
    return len(column(value)) if isinstance(value, dict) else None


def vector(value, n):
    if isinstance(value, str):
        f = expression(value)
        return [f(i=i, n=n) for i in range(n)]
    if isinstance(value, dict):
        return column(value)
    return [float(x) for x in value] if isinstance(value, list) else [float(value)] * n


def matrix(value):
    return read_csv(value["csv"])[1] if isinstance(value, dict) else value


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def solve(a, b):
    """Gaussian elimination with partial pivoting."""
    n = len(b)
    m = [list(row) + [x] for row, x in zip(a, b)]
    for c in range(n):
        p = max(range(c, n), key=lambda r: abs(m[r][c]))
        m[c], m[p] = m[p], m[c]
        for r in range(c + 1, n):
            t = m[r][c] / m[c][c]
            m[r] = [x - t * y for x, y in zip(m[r], m[c])]
    x = [0.0] * n
    for r in reversed(range(n)):
        x[r] = (m[r][n] - dot(m[r][r + 1:n], x[r + 1:])) / m[r][r]
    return x


def smallest_eigenvalue(a):
    """Cyclic Jacobi rotations."""
    a, n = [list(row) for row in a], len(a)
    for _ in range(60):
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q] == 0.0:
                    continue
                angle = 0.5 * math.atan2(2 * a[p][q], a[q][q] - a[p][p])
                c, s = math.cos(angle), math.sin(angle)
                for k in range(n):
                    a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
                for k in range(n):
                    a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return min(a[i][i] for i in range(n))


# Problems: dim, value(w), gradient(w), minimizer, mu.

class Diagonal:
    def __init__(self, p):
        self.dim = p.get("dim") or length(p["curvature"]) or length(p["minimizer"]) or 1
        self.h, self.minimizer = vector(p["curvature"], self.dim), vector(p["minimizer"], self.dim)
        self.mu = min(self.h)

    def value(self, w):
        return 0.5 * math.fsum(h * (x - m) ** 2 for h, x, m in zip(self.h, w, self.minimizer))

    def gradient(self, w):
        return [h * (x - m) for h, x, m in zip(self.h, w, self.minimizer)]


class Dense:
    def __init__(self, p):
        self.h = matrix(p["hessian"])
        self.dim = len(self.h)
        self.minimizer, self.mu = vector(p["minimizer"], self.dim), smallest_eigenvalue(self.h)

    def gradient(self, w):
        d = [x - m for x, m in zip(w, self.minimizer)]
        return [dot(row, d) for row in self.h]

    def value(self, w):
        return 0.5 * dot(self.gradient(w), [x - m for x, m in zip(w, self.minimizer)])


class Data:
    def __init__(self, p):
        self.x, self.ridge = matrix(p["features"]), p.get("ridge", 0.0)
        self.n, self.dim = len(self.x), len(self.x[0])
        self.y = vector(p["targets"], self.n)

    def weighted_gram(self, weights):
        return [[math.fsum(c * r[i] * r[j] for c, r in zip(weights, self.x)) / self.n + self.ridge * (i == j)
                 for j in range(self.dim)] for i in range(self.dim)]

    def pull_back(self, slopes, w):
        return [dot(slopes, [r[j] for r in self.x]) / self.n + self.ridge * w[j] for j in range(self.dim)]


class LeastSquares(Data):
    def __init__(self, p):
        super().__init__(p)
        gram = self.weighted_gram([1.0] * self.n)
        self.minimizer = solve(gram, self.pull_back(self.y, [0.0] * self.dim))
        self.mu = smallest_eigenvalue(gram)

    def value(self, w):
        errors = [dot(r, w) - y for r, y in zip(self.x, self.y)]
        return dot(errors, errors) / (2 * self.n) + self.ridge * dot(w, w) / 2

    def gradient(self, w):
        return self.pull_back([dot(r, w) - y for r, y in zip(self.x, self.y)], w)


class Logistic(Data):
    def __init__(self, p):
        super().__init__(p)
        self.mu, w = self.ridge, [0.0] * self.dim
        for _ in range(50):
            s = [1 / (1 + math.exp(y * dot(r, w))) for r, y in zip(self.x, self.y)]
            step = solve(self.weighted_gram([a * (1 - a) for a in s]), self.gradient(w))
            w = [a - b for a, b in zip(w, step)]
        self.minimizer = w

    def value(self, w):
        return math.fsum(math.log1p(math.exp(-y * dot(r, w))) for r, y in zip(self.x, self.y)) / self.n \
            + self.ridge * dot(w, w) / 2

    def gradient(self, w):
        return self.pull_back([-y / (1 + math.exp(y * dot(r, w))) for r, y in zip(self.x, self.y)], w)


def problem(p):
    if p["kind"] == "quadratic":
        return Dense(p) if "hessian" in p else Diagonal(p)
    return {"least_squares": LeastSquares, "logistic": Logistic}[p["kind"]](p)


def noise(spec, dim):
    """xi(k), a list of `dim` numbers."""
    kind = spec.get("kind", "none")
    if kind == "none":
        return lambda k: [0.0] * dim
    if kind == "recorded":
        rows = read_csv(spec["csv"])[1]
        return lambda k: (lambda r: r * dim if len(r) == 1 else r)(rows[k % len(rows)])
    sigma = spec["deviation"] if "deviation" in spec else spec["total_deviation"] / math.sqrt(dim)
    return lambda k: [sigma * math.sqrt(2) * math.cos(2 * math.pi * frac((k + 1) * PHI))] * dim


# Devices: one cell has q_plus, q_minus, lo, hi and its symmetric point.

class Cell:
    def __init__(self, q_plus, q_minus, lo, hi, point=None):
        self.q_plus, self.q_minus, self.lo, self.hi = q_plus, q_minus, lo, hi
        self.point = self.bisect() if point is None else point

    def bisect(self):
        lo, hi = self.lo, self.hi
        for _ in range(200):
            mid = 0.5 * (lo + hi)
            lo, hi = (mid, hi) if self.q_plus(mid) > self.q_minus(mid) else (lo, mid)
        return 0.5 * (lo + hi)

    def update(self, z, d):
        moved = z + d * (self.q_plus(z) if d >= 0 else self.q_minus(z))
        return max(self.lo, min(self.hi, moved))

    def gain(self):
        return self.q_plus(self.point)

    def zero_shift(self, s):
        """Alternate pulses; the mean of the last midpoints and, for the gain, of the last swings."""
        d, z, middles, swings = s["pulse_step"], 0.0, [], []
        for _ in range(s["pairs"]):
            up = self.update(z, d)
            z = self.update(up, -d)
            middles.append(0.5 * (up + z))
            swings.append((up - z) / d)
        last = s.get("averaged", 1)
        return math.fsum(middles[-last:]) / last, math.fsum(swings[-last:]) / last


def cell(d, i, n):
    def number(field, default=None):
        v = d.get(field, default)
        if isinstance(v, dict):
            assert v["kind"] == "log_spaced"
            return v["lo"] * (v["hi"] / v["lo"]) ** (i / (n - 1))
        return v

    kind, r, inf = d["response"], number("radius", 1.0), math.inf
    lo, hi, point = -r, r, 0.0
    if kind == "constant":
        value, lo, hi = number("value", 1.0), -inf, inf
        q = lambda sign: lambda w: value
    elif kind == "linear":
        kappa = number("hardware_condition")
        slope = (kappa - 1) / (kappa + 1) if kappa is not None else number("slope")
        q = lambda sign: lambda w: 1 - sign * slope * w / r
    elif kind == "power":
        shape = number("shape")
        q = lambda sign: lambda w: (1 - sign * w / r) ** shape
    elif kind == "exponential":
        shape = number("shape")
        q = lambda sign: lambda w: (math.exp(shape * (1 - sign * w / r)) - 1) / (math.exp(shape) - 1)
    elif kind == "tanh":
        slope, gain, width, point = number("slope"), number("gain", 1.0), number("width", 1.0), number("center", 0.0)
        lo, hi = -inf, inf
        q = lambda sign: lambda w: gain * (1 - sign * slope * math.tanh((w - point) / width))
    elif kind == "soft_bounds":
        rp, rm, a, b = number("radius_plus"), number("radius_minus"), number("gain_plus", 1.0), number("gain_minus", 1.0)
        lo, hi, point = -rm, rp, (a - b) / (a / rp + b / rm)
        q = lambda sign: (lambda w: a * (1 - w / rp)) if sign > 0 else (lambda w: b * (1 + w / rm))
    elif kind == "ceiling":
        least, most, width = number("min"), number("max", 1.0), number("width", 1.0)
        lo, hi = -inf, inf

        def q_plus(w):
            if w <= 0:
                return most
            return least + (most - least) * math.cos(math.pi * w / (2 * width)) ** 2 if w < width else least
        q = lambda sign: lambda w: q_plus(sign * w)
    elif kind == "wavy":
        a, b = number("amplitude", 0.6), number("skew", 0.25)
        q = lambda sign: lambda w: 1 - sign * a * math.sin(0.75 * math.pi * w / r) * (1 - sign * b * w / r)
    elif kind == "table":
        from scipy.interpolate import PchipInterpolator
        header, rows = read_csv(d["csv"])
        col = {name: [row[header.index(name)] for row in rows] for name in ("w", "q_plus", "q_minus")}
        curves = {s: PchipInterpolator(col["w"], col[name]) for s, name in ((1, "q_plus"), (-1, "q_minus"))}
        lo, hi, point = col["w"][0], col["w"][-1], None
        q = lambda sign: lambda w: float(curves[sign](w))
    elif kind == "formula":
        curves = {1: expression(d["q_plus"]), -1: expression(d["q_minus"])}
        (lo, hi), point = d["range"], None
        q = lambda sign: lambda w: curves[sign](w=w)
    if "range" in d:
        lo, hi = max(lo, d["range"][0]), min(hi, d["range"][1])
    return Cell(q(1), q(-1), lo, hi, point)


def array(spec, which, n):
    device = spec.get("device", {})
    device = device.get(which, device)
    return [cell(device, i, n) for i in range(n)]


# Rates and rules.

def schedule(rate):
    if not isinstance(rate, dict):
        return lambda k: rate
    kind = rate["kind"]
    if kind == "constant":
        return lambda k: rate["rate"]
    if kind == "inverse":
        return lambda k: rate["initial"] / (1 + k / rate["half_life"])
    if kind == "step":
        return lambda k: rate["initial"] * rate["factor"] ** (k // rate["every"])
    if kind == "cosine":
        last = rate.get("last", 0.0)
        return lambda k: last + (rate["initial"] - last) * (1 + math.cos(math.pi * min(k / rate["steps"], 1))) / 2
    assert kind == "warm_up"
    return lambda k: rate["rate"] * min(1, (k + 1) / rate["steps"])


class Descent:
    """Digital and analog rules: one array, a desired step from SGD, momentum or Adam."""

    def __init__(self, spec, dim):
        self.rule, self.rate = spec["rule"], schedule(spec["rule"]["learning_rate"])
        self.main = vector(spec.get("initial", {}).get("main", 0.0), dim)
        self.cells = None if self.rule["kind"] == "digital" else array(spec, "main", dim)
        self.m, self.v = [0.0] * dim, [0.0] * dim

    def effective(self):
        return self.main

    def desired(self, k, g):
        source, alpha = self.rule.get("source", "sgd"), self.rate(k)
        if source == "sgd":
            return [-alpha * x for x in g]
        if source == "momentum":
            self.m = [self.rule.get("momentum", 0.9) * m + x for m, x in zip(self.m, g)]
            return [-alpha * m for m in self.m]
        b1, b2 = self.rule.get("decay_first", 0.9), self.rule.get("decay_second", 0.999)
        eps = self.rule.get("epsilon", 1e-8)
        self.m = [b1 * m + (1 - b1) * x for m, x in zip(self.m, g)]
        self.v = [b2 * v + (1 - b2) * x * x for v, x in zip(self.v, g)]
        c1, c2 = 1 - b1 ** (k + 1), 1 - b2 ** (k + 1)
        return [-alpha * (m / c1) / (math.sqrt(v / c2) + eps) for m, v in zip(self.m, self.v)]

    def step(self, k, g):
        d = self.desired(k, g)
        self.main = [w + x for w, x in zip(self.main, d)] if self.cells is None else \
            [c.update(w, x) for c, w, x in zip(self.cells, self.main, d)]


class Residual:
    """Residual learning, and the cascade when there are several transfer rates."""

    def __init__(self, spec, dim):
        rule, initial = spec["rule"], spec.get("initial", {})
        self.rate, self.mixing = schedule(rule["learning_rate"]), rule.get("mixing", 1.0)
        self.transfer = [schedule(b) for b in rule.get("transfer_rates", [rule.get("transfer_rate")])]
        levels = len(self.transfer)
        self.cells = [array(spec, "main", dim)] + [array(spec, "residual", dim) for _ in range(levels)]
        true = [c.point for c in self.cells[1]]
        believed = rule.get("symmetric_point", "known")
        if believed == "known":
            self.point = true
        elif isinstance(believed, dict) and "error" in believed:
            self.point = [p + e for p, e in zip(true, vector(believed["error"], dim))]
        elif isinstance(believed, dict) and "zero_shift" in believed:
            self.point = [c.zero_shift(believed["zero_shift"])[0] for c in self.cells[1]]
        else:
            self.point = vector(believed, dim)
        gain = rule.get("cell_gain", "off")
        self.gains = [[1.0 if gain == "off" else c.gain() if gain == "known" else c.zero_shift(gain)[1] for c in row]
                      for row in self.cells]
        self.floor = rule.get("transfer_floor", 1e-3) if rule.get("transfer") == "compensated" else None
        self.state = [vector(initial.get("main", 0.0), dim)] + \
            [vector(initial["residual"], dim) if "residual" in initial else list(self.point) for _ in range(levels)]

    @property
    def main(self):
        return self.state[0]

    @property
    def residual(self):
        return self.state[1]

    def effective(self):
        return [w + sum(self.mixing ** (n + 1) * (p[i] - self.point[i]) for n, p in enumerate(self.state[1:]))
                for i, w in enumerate(self.state[0])]

    def write(self, level, desired):
        out = []
        for c, z, d, gain in zip(self.cells[level], self.state[level], desired, self.gains[level]):
            d /= gain
            if level == 0 and self.floor is not None:
                d /= max(self.floor, c.q_plus(z) if d >= 0 else c.q_minus(z))
            out.append(c.update(z, d))
        self.state[level] = out

    def step(self, k, g):
        last = len(self.transfer)
        self.write(last, [-self.rate(k) * x for x in g])
        for level in reversed(range(last)):
            b = self.transfer[level](k) * self.mixing
            self.write(level, [b * (p - s) for p, s in zip(self.state[level + 1], self.point)])


# Records.

def recorded_steps(record, total):
    if "steps" in record:
        return record["steps"]
    every = record.get("every", max(1, total // 100))
    return sorted({*range(0, total + 1, every), total})


def simulate(spec):
    f, total, record = problem(spec["problem"]), spec["steps"], spec.get("record", {})
    xi = noise(spec.get("noise", {}), f.dim)
    rule = (Descent if spec["rule"]["kind"] in ("digital", "analog") else Residual)(spec, f.dim)
    due, tail_from = set(recorded_steps(record, total)), record.get("tail_from", total // 2)
    least, tail, rows = f.value(f.minimizer), [], []
    distance = lambda w: math.fsum((a - b) ** 2 for a, b in zip(w, f.minimizer))
    for k in range(total + 1):
        w = rule.effective()
        if k >= tail_from:
            tail.append(w)
        if k in due:
            average = [math.fsum(c) / len(tail) for c in zip(*tail)] if tail else [math.nan] * f.dim
            entries = {"main": rule.main, "effective": w, "tail_average": average,
                       "residual": getattr(rule, "residual", None)}
            scalars = {
                "objective": lambda: f.value(w), "gap": lambda: f.value(w) - least,
                "main_gap": lambda: f.value(rule.main) - least, "tail_gap": lambda: f.value(average) - least,
                "distance": lambda: math.sqrt(distance(w)),
                "lyapunov": lambda: f.value(w) - least + f.mu / 2 * distance(rule.main), "pulses": lambda: 0.0,
            }
            for metric in record.get("metrics", ["gap", "effective"]):
                if metric in entries:
                    rows += [[k, metric, i, entries[metric][i]] for i in sorted(set(record.get("indices", range(f.dim))))]
                elif metric in scalars:
                    rows.append([k, metric, None, scalars[metric]()])
                else:
                    name, statistic = metric.rsplit("_", 1)
                    v = entries[name]
                    mean = math.fsum(v) / len(v)
                    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in v) / (len(v) - 1)) if len(v) > 1 else 0.0
                    rows.append([k, metric, None, mean if statistic == "mean" else spread])
        if k < total:
            rule.step(k, [a + b for a, b in zip(f.gradient(w), xi(k))])
    # JSON has no NaN: null stands for it.
    return [[k, m, i, None if math.isnan(v) else v] for k, m, i, v in rows]


def check_theory(expected):
    """The theory specs against the numbers of a separate prototype, which are written to 12 digits."""
    theory = json.loads((HERE.parent / "theory_goldens.json").read_text())

    def agree(spec, metric, step, value):
        found = next(v for k, m, _, v in expected[spec] if (k, m) == (step, metric))
        assert abs(found - value) <= 1e-11 * max(1.0, abs(value)), (spec, metric, step, found, value)

    names = ["power_1", "power_half", "power_2", "exponential_1", "linear_4"]
    for name, run in zip(names, theory["toy_trajectories"]["runs"], strict=True):
        for step, state in run["trajectory"].items():
            agree(f"theory_{name}_analog", "main", int(step), state["analog"])
            for metric, key in (("main", "W"), ("residual", "P"), ("effective", "Wbar")):
                agree(f"theory_{name}_residual", metric, int(step), state[key])
    sweep = theory["kappa_sweep"]
    for condition, gaps in sweep["f_gap"].items():
        for step, gap in zip(sweep["k"], gaps, strict=True):
            agree(f"theory_sweep_{condition}", "gap", step, gap)


def main():
    expected = {}
    for path in sorted(HERE.glob("*.toml")):
        expected[path.stem] = simulate(tomllib.loads(path.read_text()))
        print(path.stem, len(expected[path.stem]))
    check_theory(expected)
    body = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in expected.items())
    (HERE / "expected.json").write_text("{\n" + body + "\n}\n")


if __name__ == "__main__":
    main()
