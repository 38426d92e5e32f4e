//! Broken twins: on wrong hardware every group of claims must notice.

use residuum::progress::Silent;
use residuum_claims::testing::{Bench, run};
use residuum_claims::{Claim, VerifyError, VerifyOptions, claims, verify};

const QUICK: VerifyOptions = VerifyOptions { seed: 3, quick: true };

/// The twin that a group cannot overlook.
fn twin_of(group: &str) -> Bench {
    match group {
        // These lemmas hold for any response, so only a wrong step can break them.
        "descent" | "lower bound" | "convergence" | "unequal gains" => Bench::Overstep,
        _ => Bench::SwappedBranches,
    }
}

/// Claims whose checks fail on a bench.
fn failing(members: &[Claim], bench: Bench) -> Vec<&'static str> {
    let broken = run(members, &QUICK, bench, &Silent).unwrap();
    broken.claims.iter().filter(|claim| !claim.passed()).map(|claim| claim.claim.id).collect()
}

#[test]
fn every_group_notices_wrong_hardware() {
    let mut groups: Vec<&str> = claims().iter().map(|claim| claim.group).collect();
    groups.dedup();
    for group in groups {
        // The first claim that notices speaks for its group.
        let noticed = claims().iter().filter(|c| c.group == group).any(|claim| {
            let broken = run(&[*claim], &QUICK, twin_of(group), &Silent).unwrap();
            !broken.passed()
        });
        assert!(noticed, "{group} accepts {:?}", twin_of(group));
    }
}

/// Claims that state a bound, an inequality of a lemma, or a floor.
const BOUNDS: [&str; 12] = [
    "lem-lipschitz",
    "lem-coercivity",
    "lem-quadratic-growth",
    "lem-effective-descent",
    "lem-main-descent",
    "one-step-contraction",
    "thm-convergence",
    "lem-mean-square",
    "lem-confinement",
    "thm-lower-bound",
    "mistake-1",
    "calibration-pulses",
];

fn named(ids: &[&str]) -> Vec<Claim> {
    claims().iter().filter(|claim| ids.contains(&claim.id)).copied().collect()
}

/// A bound divided by a hundred, a floor multiplied by it, a lemma moved by a quarter of its terms: none goes unnoticed.
#[test]
fn every_bound_that_is_claimed_tighter_fails() {
    assert_eq!(failing(&named(&BOUNDS), Bench::TighterBounds), BOUNDS);
}

/// The laws that stand beside loose bounds are tight: 10 % off is noticed.
#[test]
fn every_tight_law_that_is_shifted_fails() {
    let laws = ["thm-convergence", "thm-lower-bound", "calibration-pulses"];
    assert_eq!(failing(&named(&laws), Bench::ShiftedLaws), laws);
}

#[test]
fn names_are_close_or_not() {
    let nearest = |name: &str| match verify(&[name.into()], &QUICK, &Silent) {
        Err(VerifyError::Unknown { given, nearest }) if given == name => nearest,
        other => panic!("{other:?}"),
    };
    assert_eq!(nearest("thm-convergense"), Some("thm-convergence"));
    assert_eq!(nearest("lipschitz"), Some("lem-lipschitz"));
    assert_eq!(nearest("quite something else entirely"), None);
}
