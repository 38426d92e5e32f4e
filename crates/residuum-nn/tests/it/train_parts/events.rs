//! Event files, byte by byte.

use residuum_nn::testing::train::EventSummary;

/// Bytes assembled by hand from the definitions above.
#[test]
fn a_scalar_has_the_bytes_of_its_definition() {
    let record = EventSummary::default().scalar("a", 0.5).record(300, 2.0);
    let data = [
        &[0x09, 0, 0, 0, 0, 0, 0, 0, 0x40][..], // wall_time
        &[0x10, 0xAC, 0x02],                    // step 300 = 0b10_0101100
        &[0x2A, 10, 0x0A, 8, 0x0A, 1, b'a', 0x15, 0x00, 0x00, 0x00, 0x3F], // summary { value { tag, 0.5 } }
    ]
    .concat();
    assert_eq!(record[..8], 24_u64.to_le_bytes());
    assert_eq!(record[12..36], data);
    assert_eq!(record.len(), 8 + 4 + 24 + 4);
}
