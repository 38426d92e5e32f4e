//! A manifest makes its trial again.

use residuum_lab::plan::{Plan, Work, plans, replan};
use residuum_lab::spec::Folders;
use residuum_lab::store::{StoredParameter, TrialManifest};
use residuum_lab::train::CATALOGUE;

fn manifest(plan: &Plan) -> TrialManifest {
    residuum_lab::testing::sweep::manifest_of(plan)
}

/// Every trial of every shipped experiment comes back from its list of parameters.
#[test]
fn a_manifest_makes_its_trial_again() {
    let folders = Folders::new("../../experiments");
    let mut networks = 0;
    for shipped in CATALOGUE {
        for plan in plans(shipped.text, &folders, None, shipped.name).unwrap() {
            let again = replan(&manifest(&plan), &folders).unwrap_or_else(|e| panic!("{}: {e}", plan.name));
            assert_eq!(again.id(), plan.id(), "{}", plan.name);
            networks += usize::from(matches!(again.work, Work::Network(_)));
        }
    }
    assert!(networks > 50);
    // Broken twin: a value that the spec does not have is noticed.
    let plan = &plans(CATALOGUE[0].text, &folders, None, "one").unwrap()[0];
    let mut odd = manifest(plan);
    let Some(first) = odd.spec.iter().find(|p| !p.given).cloned() else { panic!("no default") };
    odd.spec.push(StoredParameter { value: "\"odd\"".into(), ..first });
    assert!(replan(&odd, &folders).unwrap_err().message.contains("must be valid in a spec"));
}
