//! Reads reuse their buffers.

use residuum::Key;
use residuum::readout::{IrDrop, Passes, Readout, Scratch, Settings, Shape};
use residuum::testing::readout::capacities;

#[test]
fn a_second_read_of_the_same_size_allocates_nothing() {
    let shape = Shape { rows: 5, cols: 9 };
    let mut settings = Settings::aihwkit();
    settings.output.bound = Some(1.0);
    settings.ir_drop = Some(IrDrop { strength: 1.0, conductance_ratio: 1e4 });
    settings.passes = Passes::SignsAnalog;
    let readout = Readout::new(settings).unwrap();
    let (weights, inputs) = (vec![0.4; 45], vec![0.7; 27]);
    let mut scratch = Scratch::default();
    let read_all = |key: Key, scratch: &mut Scratch| {
        readout.read(&weights, shape, &inputs, key, &mut [0.0; 15], scratch);
        readout.read_transposed(&weights, shape, &inputs[..15], key, &mut [0.0; 27], scratch);
        readout.read_column(&weights, shape, 3, key, &mut [0.0; 5], scratch);
        capacities(scratch)
    };
    let first = read_all(Key::new(1), &mut scratch);
    assert!(first.0.iter().chain(&first.1[0]).all(|&c| c > 0), "the settings use every buffer: {first:?}");
    for k in 2..9 {
        assert_eq!(read_all(Key::new(k), &mut scratch), first);
    }
}
