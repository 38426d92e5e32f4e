//! Time and energy of operations.

use residuum::rule::Operations;
use residuum_lab::spec::HardwareSpec;

#[test]
fn time_and_energy_are_sums_of_their_parts() {
    let hardware = HardwareSpec {
        pulse_time: 1.0,
        train_slots: 2.0,
        read_time: 10.0,
        forward_energy: 3.0,
        backward_energy: 5.0,
        tile_cells: 4.0,
        pulse_energy: 7.0,
        input_energy: 11.0,
        output_energy: 13.0,
        digital_energy: 17.0,
        byte_energy: 19.0,
        digital_rate: 0.5,
    };
    let none = Operations::default();
    let time = |operations| hardware.time(&operations);
    assert_eq!(time(Operations { read_rounds: 3, ..none }), 30.0);
    assert_eq!(time(Operations { write_rounds: 3, ..none }), 6.0);
    assert_eq!(time(Operations { digital: 3, ..none }), 6.0);
    let energy = |operations| hardware.energy(&operations, 0);
    assert_eq!(energy(Operations { forward_cells: 8, ..none }), 6.0);
    assert_eq!(energy(Operations { backward_cells: 8, ..none }), 10.0);
    assert_eq!(energy(Operations { digital_to_analog: 1, analog_to_digital: 1, ..none }), 24.0);
    assert_eq!(energy(Operations { digital: 1, bytes: 1, ..none }), 36.0);
    assert_eq!(hardware.energy(&none, 2), 14.0);
}
