//! Beyond the paper: arrays of unequal gains, where a scalar step pays for the ratio and a step per cell does not.

use std::sync::Arc;

use residuum::cells::PerCell;
use residuum::objective::DiagonalQuadratic;
use residuum::response::{Moved, Tanh};
use residuum::rule::{Rates, ResidualConfig, ResidualLearning, Rule};
use residuum::stats::{Summary, Z};
use residuum::{ExactArray, Noise, Noisy, Update};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::simulate::{Ends, replicate};
use crate::{Claim, ClaimError, Outcome};

const GROUP: &str = "unequal gains";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "cell-gains",
        group: GROUP,
        title: "a step per cell",
        label: "",
        statement: "With a scalar step the floor of f(W̄) is Σ_d αγc_dσ²/4 and grows with the spread of gains c_d; divided by each cell's gain it does not.",
        run: cell_gains,
    },
    Claim {
        id: "tail-averaging",
        group: GROUP,
        title: "a digital tail average",
        label: "",
        statement: "Averaging W̄ over the last quarter in digital memory removes the dependence on the spread of gains.",
        run: tail_averaging,
    },
];

/// Cells of a replica, their noise each, γ, and where they should go.
const CELLS: usize = 16;
const DEVIATION: f64 = 0.5;
const MIXING: f64 = 4.0;
const MINIMIZER: f64 = 0.3;

struct Spread {
    gains: Vec<f64>,
    steps: u64,
    /// αγ and β for a cell of gain 1.
    fast: f64,
    slow: f64,
}

impl Spread {
    /// Gains log-spaced from 1 to `ratio`; rates for the weakest cell.
    fn new(ratio: f64) -> Self {
        let steps = 20_000u64;
        let per_step = (steps as f64).ln() / steps as f64;
        let gain = |d: usize| ratio.powf(d as f64 / (CELLS - 1) as f64);
        Self { gains: (0..CELLS).map(gain).collect(), steps, fast: 16.0 * per_step, slow: 2.0 * per_step }
    }

    fn run(&self, context: &Context, per_cell: bool) -> Result<Ends, ClaimError> {
        // The same noise whatever the gains: what does not depend on them comes out the same.
        let mut ends =
            replicate(context, context.key("cell-gains"), (context.pick(300, 60), CELLS), self.steps, |n| {
                let gains = self.gains.repeat(n / CELLS);
                let array = || {
                    let cells = gains.iter().map(|&c| {
                        let device: Device = Arc::new(Tanh::new(c, 1.0 / 3.0, 1.0, 0.0)?);
                        Ok(Moved { response: context.device(&device), by: 0.0 })
                    });
                    let cells = cells.collect::<Result<Vec<_>, residuum::ParameterError>>()?;
                    ExactArray::new(&vec![0.0; n], Arc::new(PerCell(cells)), Update::Expected)
                };
                let alpha = context.rate(self.fast / MIXING);
                // βγ(P − W⋄) is what W is sent: β counts per unit of W.
                let beta = context.rate(self.slow);
                let cell_gain = per_cell.then(|| [gains.clone(), gains.clone()]);
                let config = ResidualConfig { cell_gain, ..ResidualConfig::mixing(MIXING) };
                let rule = Box::new(ResidualLearning::new(array()?, array()?, config)?);
                let objective = Arc::new(DiagonalQuadratic::replicas(1.0, MINIMIZER, n)?);
                let problem = Noisy::new(objective, Noise::Gaussian { deviation: DEVIATION })?;
                Ok((problem, vec![(rule as Box<dyn Rule>, Rates::new(alpha, beta))]))
            })?;
        Ok(ends.remove(0))
    }

    /// Σ_d αγc_dσ²/4/(1 − αγc_d/2).
    fn floor(&self, per_cell: bool) -> f64 {
        let each = |&c: &f64| {
            let fast = self.fast * if per_cell { 1.0 } else { c };
            0.25 * fast * DEVIATION * DEVIATION / (1.0 - 0.5 * fast)
        };
        self.gains.iter().map(each).sum()
    }
}

/// f − f* of each replica.
fn gap(w: &[f64]) -> Summary {
    Summary::of(w.chunks_exact(CELLS).map(|w| w.iter().map(|w| 0.5 * (w - MINIMIZER).powi(2)).sum()))
}

/// The slow part adds β/(αγ) = 1/8 of the floor, the penalty's stiffness ΣR'/(γh) takes off its own size, 3 %.
const RELATIVE_BIAS: f64 = 0.15;

fn cell_gains(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let (mut scalar, mut divided) = (Vec::new(), Vec::new());
    for ratio in [1.0, 16.0] {
        let spread = Spread::new(ratio);
        for per_cell in [false, true] {
            let found = gap(&spread.run(context, per_cell)?.effective);
            let floor = spread.floor(per_cell);
            let name = if per_cell { "a step per cell" } else { "a scalar step" };
            let what = format!("f(W̄) − f* with {name}, gains spread over 1 : {ratio}");
            checks.push(Check::mean(what, found, floor, RELATIVE_BIAS * floor));
            if per_cell { &mut divided } else { &mut scalar }.push(found);
        }
    }
    let growth = scalar[1].mean / scalar[0].mean;
    let error = Z * (scalar[1].se / scalar[1].mean).hypot(scalar[0].se / scalar[0].mean);
    checks.push(Check::at_least(
        "growth of the scalar step's floor with the spread, beyond chance",
        growth * (1.0 - error),
        2.0,
        0.0,
    ));
    checks.push(
        Check::mean(
            "the scalar step against the floor of a step per cell, 1 : 16",
            scalar[1],
            Spread::new(16.0).floor(true),
            0.0,
        )
        .expected_to_differ(),
    );
    let drop = (divided[1].mean / divided[0].mean - 1.0).abs();
    checks.push(Check::at_most(
        "a step per cell: relative change of the floor from 1 : 1 to 1 : 16",
        drop,
        0.0,
        1e-9,
    ));
    // Reference values of the laws themselves.
    for (per_cell, reference) in [(false, 4.62e-2), (true, 7.95e-3)] {
        let floor = Spread::new(16.0).floor(per_cell);
        checks.push(Check::equals(
            "the floor of gains 1 : 16, reference value",
            floor,
            reference,
            0.01 * reference,
        ));
    }
    Ok(checks)
}

fn tail_averaging(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let mut found = Vec::new();
    for ratio in [1.0, 16.0] {
        let spread = Spread::new(ratio);
        let tail = gap(&spread.run(context, false)?.tail);
        let averaged = (spread.steps / 4) as f64;
        // The average of N gradients' noise has variance σ²/N, less what the ends of the window cut off: one
        // correlation time of W at either end, 1/(βN) with the slowest cell.
        let predicted = 0.5 * CELLS as f64 * DEVIATION * DEVIATION / averaged;
        let bias = predicted * (1.0 / (spread.slow * averaged) + RELATIVE_BIAS);
        checks.push(Check::mean(
            format!("f of the tail average − f*, gains spread over 1 : {ratio}"),
            tail,
            predicted,
            bias,
        ));
        found.push(tail);
    }
    let power = (found[1].mean / found[0].mean).log(16.0);
    let error = (found[1].se / found[1].mean).hypot(found[0].se / found[0].mean) / 16f64.ln();
    checks.push(Check::equals("power of the spread in it", power, 0.0, Z * error));
    checks.push(Check::note(
        "Averages live in digital memory, one accumulator per weight, which the paper's model excludes.",
    ));
    Ok(checks)
}
