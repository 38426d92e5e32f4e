//! Verdicts on the tables of later papers, and the pulses of a calibration.

use residuum::stats::Summary;
use residuum_lab::reproduce::PaperVerdict;
use residuum_lab::testing::reproduce::{bound_pulses, law_pulses, lead, lead_verdict};

#[test]
fn a_lead_must_be_beyond_chance_and_as_large_as_the_papers() {
    // Differences 3, 2, 4: mean 3, standard error 1/√3.
    let found = lead(&[97.0, 96.0, 98.0], &[94.0, 94.0, 94.0]);
    assert!((found.mean - 3.0).abs() < 1e-12 && (found.se - 1.0 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(lead_verdict(found, 3.1), PaperVerdict::Agrees);
    // Too small for the paper's, but a lead; no lead beyond chance; behind.
    assert_eq!(lead_verdict(found, 7.0).words(), "same ordering, differs by −4.00 points");
    let noisy = Summary::of([6.0, -4.0, 7.0]);
    assert_eq!(lead_verdict(noisy, 3.1).words(), "differs by −0.10 points");
    assert_eq!(lead_verdict(Summary::of([-1.0, -1.0, -1.0]), 1.0).words(), "differs by −2.00 points");
    // One seed has no error bar: a point of tolerance is all.
    assert_eq!(lead_verdict(Summary::of([2.2]), 3.1), PaperVerdict::Agrees);
    assert_eq!(lead_verdict(Summary::of([2.0]), 3.1).words(), "same ordering, differs by −1.10 points");
}

/// Each pulse of soft bounds contracts the distance to the symmetric point by 1 − Δw/τ, up or down.
#[test]
fn pulses_in_turn_contract_as_the_law_says() {
    let (step, mut w) = (0.02_f64, 0.4_f64);
    let mut pulses = 0;
    while w > 0.1 {
        // In units of τ; up first, then down.
        w += if pulses % 2 == 0 { step * (1.0 - w) } else { -step * (1.0 + w) };
        pulses += 1;
    }
    // Pulses in turn end half a pulse to either side: of 0.1, a tenth, which is five pulses more or less, and one to round up.
    assert!((f64::from(pulses) - law_pulses(0.1)).abs() <= 6.0, "{pulses}");
    assert!(law_pulses(0.1) < bound_pulses(0.1) && bound_pulses(0.1) < 1.5 * law_pulses(0.1));
}
