//! Named tensors, and what does not fit.

use residuum::state::Tensors;

#[test]
fn tensors_keep_order_names_and_types() {
    let mut inner = Tensors::new();
    inner.vector("weights", &[1.0f32, 2.0]);
    inner.count("pulses", 7);
    let mut all = Tensors::new();
    all.matrix("first", [1, 2], &[0.5f64, -0.5]);
    all.nest("main", inner.clone());
    let names: Vec<&str> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["first", "main.weights", "main.pulses"]);
    assert_eq!(all.within("main"), inner);
    let mut numbers = [0.0f32; 2];
    all.within("main").read("weights", &mut numbers);
    assert_eq!(numbers, [1.0, 2.0]);
}

#[test]
fn what_does_not_fit_is_named() {
    let mut own = Tensors::new();
    own.vector("w", &[1.0f32; 3]);
    let fails = |given: &Tensors| given.fit(&own).unwrap_err().to_string();
    assert_eq!(fails(&Tensors::new()), "tensor w ([3]) is missing");
    let mut wide = Tensors::new();
    wide.vector("w", &[1.0f64; 3]);
    assert_eq!(fails(&wide), "tensor w must hold F32, got F64");
    let mut long = Tensors::new();
    long.vector("w", &[1.0f32; 4]);
    assert_eq!(fails(&long), "tensor w must have shape [3], got [4]");
    let mut more = own.clone();
    more.count("k", 1);
    assert_eq!(fails(&more), "tensor k ([]) is not part of this object");
}
