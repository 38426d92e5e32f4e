//! Minimum of a function of one variable on an interval.

/// Where a function is smallest, and how small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimum {
    /// The minimizer.
    pub at: f64,
    /// The function there.
    pub value: f64,
}

/// Golden section: the smaller part of an interval divided in extreme and mean ratio.
const GOLDEN: f64 = 0.38196601125010515;
/// About the square root of machine epsilon: closer points cannot be told apart by their values.
const RESOLUTION: f64 = 1e-8;
/// Golden section alone needs 40 steps; the rest is for slow mixtures with parabolas.
const MAX_STEPS: usize = 200;

/// The minimum of `f` on the closed interval between `a` and `b`, by Brent's method.
///
/// Exact up to the usual square root of machine precision in the minimizer when `f` has one valley on the
/// interval; with several valleys, the bottom of one of them. The ends are compared as well, so a monotone
/// function gives the end itself.
pub fn minimize_bracket(mut f: impl FnMut(f64) -> f64, a: f64, b: f64) -> Minimum {
    let ends = [a, b].map(|at| Minimum { at, value: f(at) });
    let (mut low, mut high) = (a.min(b), a.max(b));
    let mut best = point(&mut f, low + GOLDEN * (high - low));
    let (mut second, mut third) = (best, best);
    let (mut step, mut before_last) = (0.0f64, 0.0f64);

    for _ in 0..MAX_STEPS {
        let middle = low.midpoint(high);
        let tolerance = RESOLUTION * best.at.abs() + f64::MIN_POSITIVE.sqrt();
        if (best.at - middle).abs() <= 2.0 * tolerance - 0.5 * (high - low) {
            break;
        }
        let parabola = vertex(best, second, third).filter(|jump| {
            let at = best.at + jump;
            jump.abs() < 0.5 * before_last.abs() && low < at && at < high
        });
        before_last = step;
        step = if let Some(jump) = parabola {
            let at = best.at + jump;
            let crowded = at - low < 2.0 * tolerance || high - at < 2.0 * tolerance;
            if crowded { tolerance.copysign(middle - best.at) } else { jump }
        } else {
            before_last = if best.at < middle { high - best.at } else { low - best.at };
            GOLDEN * before_last
        };
        let jump = if step.abs() < tolerance { tolerance.copysign(step) } else { step };
        let trial = point(&mut f, best.at + jump);

        let (kept, dropped) = if trial.value <= best.value { (trial, best) } else { (best, trial) };
        if dropped.at < kept.at {
            low = dropped.at;
        } else {
            high = dropped.at;
        }
        if trial.value <= best.value {
            (third, second, best) = (second, best, trial);
        } else if trial.value <= second.value || second.at == best.at {
            (third, second) = (second, trial);
        } else if trial.value <= third.value || third.at == best.at || third.at == second.at {
            third = trial;
        }
    }
    ends.into_iter().fold(best, |least, end| if end.value < least.value { end } else { least })
}

fn point(f: &mut impl FnMut(f64) -> f64, at: f64) -> Minimum {
    Minimum { at, value: f(at) }
}

/// The jump from `best` to the vertex of the parabola through three points, if they make one.
fn vertex(best: Minimum, second: Minimum, third: Minimum) -> Option<f64> {
    let r = (best.at - second.at) * (best.value - third.value);
    let q = (best.at - third.at) * (best.value - second.value);
    let numerator = (best.at - third.at) * q - (best.at - second.at) * r;
    let jump = -numerator / (2.0 * (q - r));
    jump.is_finite().then_some(jump)
}
