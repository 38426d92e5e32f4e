//! Broken twins: on wrong hardware every group of claims must notice.

use super::context::Bench;
use super::{Options, Verdict, claims, edits, nearest, run};
use crate::progress::Silent;

const QUICK: Options = Options { seed: 3, quick: true };

/// The twin that a group cannot overlook.
fn twin_of(group: &str) -> Bench {
    match group {
        // These lemmas hold for any response, so only a wrong step can break them.
        "descent" | "lower bound" | "convergence" | "unequal gains" => Bench::Overstep,
        _ => Bench::SwappedBranches,
    }
}

#[test]
fn every_group_notices_wrong_hardware() {
    let mut groups: Vec<&str> = claims().iter().map(|claim| claim.group).collect();
    groups.dedup();
    for group in groups {
        let members: Vec<_> = claims().iter().filter(|c| c.group == group).copied().collect();
        let broken = run(&members, &QUICK, twin_of(group), &Silent).unwrap();
        assert!(broken.count(Verdict::Fails) > 0, "{group} accepts {:?}", twin_of(group));
    }
}

#[test]
fn names_are_close_or_not() {
    assert_eq!(edits("kitten", "sitting"), 3);
    assert_eq!(nearest("thm-convergense"), Some("thm-convergence"));
    assert_eq!(nearest("lipschitz"), Some("lem-lipschitz"));
    assert_eq!(nearest("quite something else entirely"), None);
}
