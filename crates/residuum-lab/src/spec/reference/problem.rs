//! Fields of a spec with `[problem]`.

use super::Default::{Required, Value, Words};
use super::{Field, Kind, Section};

const PROBLEM: &[Kind] = &[Kind::Problem];

pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "Problems: top of the file",
        of: PROBLEM,
        text: "All numbers are f64.",
        fields: &[
            Field::new("steps", "whole number", "steps", Required, "K, the length of a run"),
            Field::new("seeds", "seeds", "–", Value("[0]"), "one trial each").form("range"),
            Field::new(
                "operating_range",
                "[lo, hi] with lo < hi",
                "weight",
                Words("0.8 of each dynamic range"),
                "where weights are expected to stay; theory bounds the responses over it when it chooses rates",
            ),
        ],
    },
    Section {
        title: "Problems: `[problem]`",
        of: PROBLEM,
        text: "`quadratic` is ½ Σ h(w − w*)² with `curvature`, or ½ (w − w*)ᵀH(w − w*) with `hessian`; `least_squares` is ‖Xw − y‖²/2n + ridge·‖w‖²/2; `logistic` is the mean of ln(1 + e^{−y xᵀw}) + ridge·‖w‖²/2.",
        fields: &[
            Field::new("problem", "table", "–", Required, "what is minimised"),
            Field::new(
                "problem.kind",
                "`quadratic`, `least_squares`, `logistic`",
                "–",
                Required,
                "the objective",
            ),
            Field::new(
                "problem.curvature",
                "vector > 0",
                "objective/weight²",
                Required,
                "h, of `quadratic` without `hessian`",
            )
            .form("vector"),
            Field::new(
                "problem.hessian",
                "matrix, symmetric positive definite",
                "objective/weight²",
                Words("diagonal: `curvature`"),
                "H, of `quadratic`",
            )
            .form("matrix"),
            Field::new("problem.minimizer", "vector", "weight", Required, "w*, of `quadratic`").form("vector"),
            Field::new(
                "problem.dim",
                "whole number, 1 to 100 000 000",
                "weights",
                Words("that of the lists, else 1"),
                "number of weights, of `quadratic`",
            ),
            Field::new(
                "problem.features",
                "matrix",
                "–",
                Required,
                "X, a row a sample, of `least_squares` and `logistic`",
            )
            .form("matrix"),
            Field::new(
                "problem.targets",
                "vector; ±1 for `logistic`",
                "–",
                Required,
                "y, of `least_squares` and `logistic`",
            )
            .form("vector"),
            Field::new(
                "problem.ridge",
                "number ≥ 0; > 0 for `logistic`",
                "objective/weight²",
                Words("0 for `least_squares`, required for `logistic`"),
                "ridge",
            ),
        ],
    },
    Section {
        title: "Problems: `[noise]`",
        of: PROBLEM,
        text: "ξ_k, added to the gradient of step k. None if the table is left out.",
        fields: &[
            Field::new("noise", "table", "–", Value("none"), "the gradient noise"),
            Field::new(
                "noise.kind",
                "`none`, `gaussian`, `two_point`, `mini_batch`, `recorded`, `cosine`",
                "–",
                Required,
                "`gaussian`: N(0, σ²); `two_point`: σ√((1−p)/p) with probability p, else −σ√(p/(1−p)); `mini_batch`: samples drawn with replacement; `recorded`: rows of a file; `cosine`: σ√2·cos(2π frac((k+1)φ))",
            ),
            Field::new("noise.deviation", "number ≥ 0", "objective/weight", Required, "σ in each coordinate"),
            Field::new(
                "noise.total_deviation",
                "number ≥ 0",
                "objective/weight",
                Words("none"),
                "σ√D of the whole vector, instead of `deviation`",
            ),
            Field::new("noise.probability", "number, 0 < p < 1", "probability", Required, "p, of `two_point`"),
            Field::new(
                "noise.batch",
                "whole number ≥ 1",
                "samples",
                Required,
                "of `mini_batch`; data problems only",
            ),
            Field::new(
                "noise.csv",
                "path",
                "–",
                Required,
                "of `recorded`: row k is used in step k, from the start again at the end",
            ),
        ],
    },
    Section {
        title: "Problems: `[device]`",
        of: PROBLEM,
        text: "One table for every array, or `[device.main]` and `[device.residual]` with the same fields. Not needed by a digital rule.",
        fields: &[
            Field::new(
                "device",
                "table",
                "–",
                Words("required by analog rules"),
                "the cells of the arrays and how they are written",
            ),
            Field::new("device.main", "table", "–", Words("`[device]`"), "of W"),
            Field::new("device.residual", "table", "–", Words("`[device]`"), "of P"),
            Field::new(
                "device.response",
                "`constant`, `linear`, `power`, `exponential`, `tanh`, `soft_bounds`, `ceiling`, `wavy`, `table`, `formula`, `mixture`",
                "–",
                Required,
                "the response functions q±; `residuum device list` shows the formulas",
            ),
            Field::new("device.value", "number > 0 or distribution", "–", Value("1.0"), "q± of `constant`")
                .form("distribution"),
            Field::new(
                "device.slope",
                "number or distribution, |slope| < 1",
                "–",
                Required,
                "of `linear` and `tanh`: relative drop of q at the bound",
            )
            .form("distribution"),
            Field::new(
                "device.hardware_condition",
                "number ≥ 1 or distribution",
                "–",
                Words("from `slope`"),
                "κ₂ of `linear`, instead of `slope`: slope = (κ₂−1)/(κ₂+1)",
            )
            .form("distribution"),
            Field::new(
                "device.shape",
                "number > 0 or distribution",
                "–",
                Required,
                "exponent of `power` and `exponential`",
            )
            .form("distribution"),
            Field::new(
                "device.radius",
                "number > 0 or distribution",
                "weight",
                Value("1.0"),
                "τ: the dynamic range is [−τ, τ]",
            )
            .form("distribution"),
            Field::new(
                "device.gain",
                "number > 0 or distribution",
                "–",
                Value("1.0"),
                "of `tanh`: q± where they meet",
            )
            .form("distribution"),
            Field::new(
                "device.width",
                "number > 0 or distribution",
                "weight",
                Value("1.0"),
                "of `tanh` and `ceiling`: over which q changes",
            )
            .form("distribution"),
            Field::new(
                "device.center",
                "number or distribution",
                "weight",
                Value("0.0"),
                "of `tanh`: the symmetric point",
            )
            .form("distribution"),
            Field::new(
                "device.gain_plus",
                "number > 0 or distribution",
                "–",
                Value("1.0"),
                "of `soft_bounds`: q₊ at w = 0",
            )
            .form("distribution"),
            Field::new(
                "device.gain_minus",
                "number > 0 or distribution",
                "–",
                Value("1.0"),
                "of `soft_bounds`: q₋ at w = 0",
            )
            .form("distribution"),
            Field::new(
                "device.radius_plus",
                "number > 0 or distribution",
                "weight",
                Required,
                "of `soft_bounds`: upper end of the dynamic range",
            )
            .form("distribution"),
            Field::new(
                "device.radius_minus",
                "number > 0 or distribution",
                "weight",
                Required,
                "of `soft_bounds`: lower end, without its sign",
            )
            .form("distribution"),
            Field::new("device.min", "number > 0 or distribution", "–", Required, "of `ceiling`: smallest q")
                .form("distribution"),
            Field::new(
                "device.max",
                "number > min or distribution",
                "–",
                Value("1.0"),
                "of `ceiling`: largest q",
            )
            .form("distribution"),
            Field::new("device.amplitude", "number or distribution", "–", Value("0.6"), "of `wavy`")
                .form("distribution"),
            Field::new("device.skew", "number or distribution", "–", Value("0.25"), "of `wavy`")
                .form("distribution"),
            Field::new("device.csv", "path", "–", Required, "of `table`: the columns w,q_plus,q_minus"),
            Field::new("device.q_plus", "expression in w", "–", Required, "q₊ of `formula`"),
            Field::new("device.q_minus", "expression in w", "–", Required, "q₋ of `formula`"),
            Field::new(
                "device.range",
                "[lo, hi] with lo < hi",
                "weight",
                Words("that of the response; required for `formula`"),
                "the dynamic range; confines a closed form further",
            ),
            Field::new(
                "device.parts",
                "tables",
                "–",
                Required,
                "of `mixture`: responses with fixed parameters",
            ),
            Field::new(
                "device.parts.fraction",
                "number, 0 to 1",
                "share of the cells",
                Required,
                "of `mixture`: how many cells are like this",
            ),
            Field::new(
                "device.pulses",
                "table",
                "–",
                Value("none: the expected update"),
                "updates are sent as pulses",
            ),
            Field::new(
                "device.pulses.pulse_step",
                "number > 0",
                "weight",
                Required,
                "Δw_min: change by one pulse where q = 1",
            ),
            Field::new(
                "device.pulses.rounding",
                "`stochastic`, `nearest`",
                "–",
                Value("\"stochastic\""),
                "how an increment becomes a number of pulses; `nearest` has a dead zone",
            ),
            Field::new(
                "device.pulses.cycle_noise",
                "number ≥ 0",
                "relative to the step",
                Value("0.0"),
                "deviation from pulse to pulse",
            ),
        ],
    },
    Section {
        title: "Problems: `[rule]`",
        of: PROBLEM,
        text: "`residual_learning`: W̄ = W + γ(P − W⋄); P ← P + A(−α ∇f(W̄; ξ_k); P); W ← W + A(βγ(P − W⋄); W).",
        fields: &[
            Field::new("rule", "table", "–", Required, "the algorithm"),
            Field::new(
                "rule.kind",
                "`digital`, `analog`, `residual_learning`, `residual_cascade`",
                "–",
                Required,
                "which one",
            ),
            Field::new(
                "rule.learning_rate",
                "number ≥ 0 or schedule",
                "weight²/objective per step",
                Required,
                "α",
            )
            .form("schedule"),
            Field::new(
                "rule.source",
                "`sgd`, `momentum`, `adam`",
                "–",
                Value("\"sgd\""),
                "of `digital` and `analog`: what becomes of a gradient",
            ),
            Field::new("rule.momentum", "number, 0 ≤ m < 1", "share per step", Value("0.9"), "of `momentum`"),
            Field::new("rule.decay_first", "number, 0 ≤ d < 1", "share per step", Value("0.9"), "β₁ of `adam`"),
            Field::new(
                "rule.decay_second",
                "number, 0 ≤ d < 1",
                "share per step",
                Value("0.999"),
                "β₂ of `adam`",
            ),
            Field::new("rule.epsilon", "number > 0", "objective/weight", Value("1e-8"), "ε of `adam`"),
            Field::new(
                "rule.rates",
                "`lemma`, `practical`",
                "–",
                Words("none"),
                "who chooses α, β and γ of `residual_learning`, instead of the three fields",
            ),
            Field::new(
                "rule.transfer_rate",
                "number ≥ 0 or schedule",
                "per step",
                Required,
                "β of `residual_learning`",
            )
            .form("schedule"),
            Field::new(
                "rule.transfer_rates",
                "1 to 8 numbers or schedules",
                "per step",
                Required,
                "βₙ of `residual_cascade`, the main array's first",
            )
            .form("schedule"),
            Field::new("rule.mixing", "number > 0", "–", Required, "γ of the residual rules"),
            Field::new(
                "rule.symmetric_point",
                "`known`, vector, or table",
                "weight",
                Value("\"known\""),
                "W⋄ that the rule believes in",
            )
            .form("vector"),
            Field::new(
                "rule.symmetric_point.error",
                "vector",
                "weight",
                Words("none"),
                "the true W⋄ plus this",
            )
            .form("vector"),
            Field::new(
                "rule.symmetric_point.zero_shift",
                "table",
                "–",
                Words("none"),
                "W⋄ as measured before the run",
            )
            .form("zero_shift"),
            Field::new(
                "rule.transfer",
                "`plain`, `compensated`",
                "–",
                Value("\"plain\""),
                "whether the desired step of W is divided by the response it will meet",
            ),
            Field::new(
                "rule.transfer_floor",
                "number > 0",
                "–",
                Value("0.001"),
                "smallest divisor of `compensated`",
            ),
            Field::new(
                "rule.cell_gain",
                "`off`, `known`, or table",
                "–",
                Value("\"off\""),
                "whether each cell's steps are divided by its own gain at W⋄, true or measured",
            )
            .form("zero_shift"),
        ],
    },
    Section {
        title: "Problems: `[initial]` and `[record]`",
        of: PROBLEM,
        text: "Where a run starts, and which numbers it leaves.",
        fields: &[
            Field::new("initial", "table", "–", Words("at 0"), "where the run starts"),
            Field::new("initial.main", "vector", "weight", Value("0"), "W₀").form("vector"),
            Field::new("initial.residual", "vector", "weight", Value("the symmetric point"), "P₀")
                .form("vector"),
            Field::new("record", "table", "–", Words("the defaults of its fields"), "what is recorded"),
            Field::new(
                "record.metrics",
                "a list of names",
                "–",
                Value("[\"gap\", \"effective\"]"),
                "`main`, `residual`, `effective`, `tail_average` (each also with `_mean` and `_std`), `objective`, `gap`, `main_gap`, `tail_gap`, `distance`, `lyapunov`, `pulses`",
            ),
            Field::new(
                "record.steps",
                "a list of steps",
                "steps",
                Words("by `every`"),
                "when; step 0 is the start",
            ),
            Field::new(
                "record.every",
                "whole number ≥ 1",
                "steps",
                Words("1/100 of the run"),
                "when: 0, n, 2n, … and the last step",
            ),
            Field::new(
                "record.indices",
                "a list of indices from 0",
                "–",
                Words("all"),
                "which entries of vectors",
            ),
            Field::new(
                "record.tail_from",
                "whole number ≤ steps",
                "steps",
                Words("half of the run"),
                "first step of `tail_average`",
            ),
        ],
    },
];
