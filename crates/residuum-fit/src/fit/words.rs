//! What a user should read.

use residuum::Range;

use super::Candidate;
use crate::bootstrap::Estimate;
use crate::curve::Curve;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::point::{FittedPoint, PointKind};
use crate::screen::Screening;

/// Sentences on what was set aside and what is not sure.
pub(super) fn sentences(
    measured: &Measurement,
    screening: &Screening,
    point: &FittedPoint,
    fitted: &[Candidate],
    visited: Range,
) -> Vec<String> {
    let mut said = Vec::new();
    if !screening.stuck.is_empty() {
        let names: Vec<&str> = screening.stuck.iter().map(|&d| measured.devices[d].as_str()).collect();
        said.push(format!("stuck and left out: device {} (of {})", names.join(", "), measured.devices.len()));
    }
    for o in screening.outliers.iter().take(10) {
        let ramp = Ramp { device: o.device, cycle: o.cycle, direction: o.direction, reads: Vec::new() };
        said.push(format!(
            "{}: {}, read {} ({:.0} standard deviations off)",
            if o.jump { "jump, after which the reads count as another ramp" } else { "outlier left out" },
            ramp.name(&measured.devices),
            o.pulse + 1,
            o.deviations
        ));
    }
    if screening.outliers.len() > 10 {
        said.push(format!("{} more outliers and jumps, all in --json", screening.outliers.len() - 10));
    }
    for direction in [Direction::Up, Direction::Down] {
        let own: Vec<_> = screening.plateaus.iter().filter(|p| p.0 == direction).collect();
        if !own.is_empty() {
            let level = own.iter().map(|p| p.2).sum::<f64>() / own.len() as f64;
            let ramps: usize = own.iter().map(|p| p.1).sum();
            said.push(format!(
                "{ramps} {} ramps saturate: they stand at the weight {level:.3}, a hard bound; reads from there on tell the bound, \
                 not the steps",
                direction.word()
            ));
        }
    }
    if screening.shadowed > 0 {
        said.push(format!(
            "{} reads at the ends of the range are left out: a bound cuts off the write noise there, and states keep away from it",
            screening.shadowed
        ));
    }
    match point.kind {
        PointKind::Repelling => said.push(
            "the symmetric point repels: alternating pulses lead away from it, zero-shifting does not find it, and the \
             implicit penalty has its maximum there; the definition of regular responses does not exclude it, since it asks \
             nothing of the sign of G′"
                .into(),
        ),
        PointKind::None => said.push(format!(
            "up and down steps do not cross between the weights {:.2} and {:.2}: there is no symmetric point there",
            visited.lo, visited.hi
        )),
        PointKind::Several if point.everywhere => {
            said.push("up and down steps are equal everywhere within their errors: every state is a symmetric point".into());
        }
        PointKind::Several => said.push(format!(
            "up and down steps cross {} times: pulses lead to {} of these points",
            point.crossings.len(),
            point.crossings.iter().filter(|c| c.attracting).count()
        )),
        PointKind::Attracting => {}
    }
    if point.agreement < 0.95 {
        said.push(format!(
            "the kind of the symmetric point is not sure: {:.0} % of the bootstrap draws agree",
            100.0 * point.agreement
        ));
    }
    if let [best, second, ..] = fitted
        && second.criterion - best.criterion < 6.0
        && second.criterion >= best.criterion
    {
        said.push(format!(
            "{} describes the data almost as well as {}: more ramps would tell",
            second.name, best.name
        ));
    }
    said
}

/// Soft bounds that were not reached.
pub(super) fn beyond(curve: &Curve, soft: bool, visited: Range) -> Option<String> {
    let [up, down] = [Direction::Up, Direction::Down].map(|d| curve.bound(d));
    let (hi, lo) = (up?, down?);
    let share = f64::max(hi - visited.hi, visited.lo - lo) / (visited.hi - visited.lo);
    (soft && share > 0.05).then(|| {
        format!(
            "steps would vanish at the weights {lo:.2} and {hi:.2}, up to {:.0} % of the span beyond what was seen: whether the \
             device ends there, as soft bounds do, or before, was not seen",
            100.0 * share
        )
    })
}

/// Steps that may be none.
pub(super) fn unknown_step(states: Estimate) -> Option<String> {
    let why = "more ramps, or longer ones, would tell";
    if states.value.is_nan() {
        Some(format!("the step at the symmetric point is not known, so neither is the number of states: {why}"))
    } else if states.high.is_infinite() {
        Some(format!(
            "the step at the symmetric point may be 0, so there is no upper end of the number of states: {why}"
        ))
    } else {
        None
    }
}
