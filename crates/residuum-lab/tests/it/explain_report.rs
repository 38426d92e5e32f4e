//! Amounts in the words of `explain`.

use residuum_lab::testing::explain::{bytes, duration, short};

#[test]
fn amounts_have_fitting_units() {
    assert_eq!(duration(2.5e-6), "2.5 µs");
    assert_eq!(duration(0.25), "250.0 ms");
    assert_eq!(duration(90.0), "90.0 s");
    assert_eq!(duration(3600.0), "60.0 min");
    assert_eq!(duration(36_000.0), "10.0 h");
    assert_eq!((short(0.1 * 0.4), short(0.05 / 512.0)), ("0.04".into(), "0.00009766".into()));
    assert_eq!(bytes(12), "12 B");
    assert_eq!(bytes(2_500_000), "2.5 MB");
}
