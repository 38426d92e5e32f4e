//! Transforms: against PyTorch, against the definition, and as random as they say.

use residuum::Key;
use residuum::stats::Z;
use residuum_data::{Dataset, Description, ImageShape, Pipeline, Transform};
use serde_json::Value;

fn image(shape: ImageShape, bytes: Vec<u8>, full_scale: u8) -> Dataset {
    let description = Description { name: "made".into(), shape, classes: 1, full_scale };
    Dataset::new(description, bytes, vec![0]).unwrap()
}

/// One image of one channel with the values 1, 2, 3, … over full scale.
fn counted(height: usize, width: usize) -> Dataset {
    let bytes: Vec<u8> = (1..=(height * width) as u8).collect();
    image(ImageShape::new(height, width, 1), bytes, 100)
}

fn apply(data: &Dataset, transforms: &[Transform], key: Key) -> Vec<f32> {
    let pipeline = Pipeline::new(data, transforms).unwrap();
    let mut out = vec![f32::NAN; pipeline.output().values()];
    pipeline.apply(data.image(0), key, &mut out);
    out
}

/// In units of the bytes.
fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().map(|v| (v * 100.0).round() as u8).collect()
}

fn golden() -> Vec<Value> {
    let text = include_str!("../../../../golden/torch/resize.json");
    serde_json::from_str::<Value>(text).unwrap()["cases"].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// The largest difference to PyTorch over all cases when the image is prepared by `change`.
fn worst_difference(change: impl Fn(&mut Vec<u8>)) -> f64 {
    let mut worst = 0.0_f64;
    for case in golden() {
        let (from, to) = (numbers(&case["from"]), numbers(&case["to"]));
        let shape = ImageShape::new(from[0] as usize, from[1] as usize, from[2] as usize);
        let mut bytes: Vec<u8> = numbers(&case["image"]).iter().map(|&v| v as u8).collect();
        change(&mut bytes);
        let resize = Transform::Resize { height: to[0] as usize, width: to[1] as usize };
        let ours = apply(&image(shape, bytes, 255), &[resize], Key::new(0));
        let stride = case["stride"].as_u64().unwrap() as usize;
        let theirs = numbers(&case["values"]);
        assert_eq!(theirs.len(), ours.len().div_ceil(stride));
        for (a, b) in ours.iter().step_by(stride).zip(theirs) {
            worst = worst.max((f64::from(*a) - b).abs());
        }
    }
    worst
}

#[test]
fn resizing_agrees_with_pytorch() {
    // Three roundings of numbers below one, and a coordinate of at most 32 rounded in f32.
    let tolerance = (3.0 + 32.0) * f64::from(f32::EPSILON);
    let worst = worst_difference(|_| ());
    assert!(worst < tolerance, "{worst:e}");
    // The twin: one wrong pixel.
    assert!(worst_difference(|bytes| bytes[0] ^= 1) > tolerance);
}

#[test]
fn resizing_a_constant_or_to_the_same_size_changes_nothing() {
    let flat = image(ImageShape::new(3, 5, 1), vec![51; 15], 255);
    assert!(apply(&flat, &[Transform::Resize { height: 7, width: 4 }], Key::new(0)).iter().all(|&v| v == 0.2));
    let same = apply(&counted(4, 6), &[Transform::Resize { height: 4, width: 6 }], Key::new(0));
    assert_eq!(same, apply(&counted(4, 6), &[], Key::new(0)));
}

#[test]
fn bytes_are_divided_by_full_scale_and_normalized_by_channel() {
    let data = image(ImageShape::new(1, 2, 2), vec![0, 4, 16, 8], 16);
    assert_eq!(apply(&data, &[], Key::new(0)), [0.0, 0.25, 1.0, 0.5]);
    let normalize = Transform::Normalize { mean: vec![0.5, 0.25], deviation: vec![0.5, 2.0] };
    assert_eq!(apply(&data, &[normalize], Key::new(0)), [-1.0, 0.0, 1.0, 0.125]);
    assert_eq!(apply(&data, &[Transform::ReverseChannels], Key::new(0)), [0.25, 0.0, 0.5, 1.0]);
}

#[test]
fn flips_mirror_whole_pixels() {
    let colours = image(ImageShape::new(2, 3, 2), (1..=12).collect(), 100);
    let horizontal = apply(&colours, &[Transform::FlipHorizontal { probability: 1.0 }], Key::new(0));
    assert_eq!(bytes(&horizontal), [5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8]);
    let vertical = apply(&colours, &[Transform::FlipVertical { probability: 1.0 }], Key::new(0));
    assert_eq!(bytes(&vertical), [7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6]);
    let odd = apply(&counted(3, 1), &[Transform::FlipVertical { probability: 1.0 }], Key::new(0));
    assert_eq!(bytes(&odd), [3, 2, 1]);
    let never = apply(&colours, &[Transform::FlipVertical { probability: 0.0 }], Key::new(0));
    assert_eq!(bytes(&never), (1..=12).collect::<Vec<u8>>());
}

#[test]
fn a_flip_happens_as_often_as_it_says() {
    let (data, n) = (counted(1, 2), 20_000);
    let frequency = |probability| {
        let pipeline = Pipeline::new(&data, &[Transform::FlipHorizontal { probability }]).unwrap();
        let mut out = [0.0; 2];
        let flipped = |sample: &u64| {
            pipeline.apply(data.image(0), Key::new(5).fold(*sample), &mut out);
            out[0] > out[1]
        };
        (0..n).filter(flipped).count() as f64 / n as f64
    };
    let standard_error = (0.3_f64 * 0.7 / n as f64).sqrt();
    assert!((frequency(0.3) - 0.3).abs() < Z * standard_error);
    // The twin: the complement.
    assert!((frequency(0.7) - 0.3).abs() > Z * standard_error);
}

#[test]
fn every_window_of_a_crop_is_right_and_equally_likely() {
    let (data, padding, height, width) = (counted(3, 4), 2, 3, 4);
    // The definition: all windows of the padded image.
    let padded = |row: usize, column: usize| -> u8 {
        let inside = (2..5).contains(&row) && (2..6).contains(&column);
        if inside { ((row - 2) * 4 + column - 2 + 1) as u8 } else { 0 }
    };
    let mut windows = Vec::new();
    for (top, left) in (0..5).flat_map(|t| (0..5).map(move |l| (t, l))) {
        let cells = (0..height).flat_map(|r| (0..width).map(move |c| (top + r, left + c)));
        windows.push(cells.map(|(r, c)| padded(r, c)).collect::<Vec<u8>>());
    }
    let pipeline = Pipeline::new(&data, &[Transform::RandomCrop { height, width, padding }]).unwrap();
    let n = 25_000;
    let mut counts = vec![0.0; windows.len()];
    let mut out = vec![0.0; 12];
    for sample in 0..n {
        pipeline.apply(data.image(0), Key::new(8).fold(sample), &mut out);
        let window = windows.iter().position(|w| *w == bytes(&out)).expect("a window of the padded image");
        counts[window] += 1.0;
    }
    let expected = n as f64 / windows.len() as f64;
    let pearson =
        |counts: &[f64]| counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum::<f64>();
    // Mean 24 and variance 48 of χ² with 24 degrees of freedom.
    let limit = 24.0 + Z * 48.0_f64.sqrt();
    assert!(pearson(&counts) < limit, "{counts:?}");
    // The twin: windows that never touch the last column of places.
    let (kept, lost): (Vec<usize>, Vec<usize>) = (0..25).partition(|w| w % 5 < 4);
    lost.iter().zip(kept).for_each(|(&l, k)| counts[k] += std::mem::take(&mut counts[l]));
    assert!(pearson(&counts) > limit);
}

#[test]
fn a_crop_may_be_larger_or_smaller_than_the_image() {
    let whole = Transform::RandomCrop { height: 5, width: 5, padding: 1 };
    let out = bytes(&apply(&counted(3, 3), &[whole], Key::new(0)));
    assert_eq!(out[..12], [0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4]);
    let single = Transform::RandomCrop { height: 1, width: 1, padding: 3 };
    let mut seen: Vec<u8> = (0..2000)
        .flat_map(|k| bytes(&apply(&counted(2, 2), std::slice::from_ref(&single), Key::new(k))))
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

#[test]
fn steps_draw_independently_and_sizes_follow_each_other() {
    let data = counted(2, 2);
    let flips = [Transform::FlipVertical { probability: 0.5 }, Transform::FlipHorizontal { probability: 0.5 }];
    let mut seen: Vec<Vec<u8>> = (0..200).map(|k| bytes(&apply(&data, &flips, Key::new(k)))).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4, "all four combinations of two flips");
    let steps = [
        Transform::Resize { height: 9, width: 9 },
        Transform::RandomCrop { height: 3, width: 5, padding: 0 },
        Transform::Resize { height: 2, width: 1 },
    ];
    assert_eq!(Pipeline::new(&data, &steps).unwrap().output(), ImageShape::new(2, 1, 1));
    assert!(apply(&data, &steps, Key::new(0)).iter().all(|v| (0.01..=0.04).contains(v)));
}

#[test]
fn misuse_is_named() {
    let data = counted(2, 2);
    let complaint = |transform| Pipeline::new(&data, &[transform]).unwrap_err().to_string();
    let normalize = |mean, deviation| Transform::Normalize { mean, deviation };
    assert_eq!(complaint(normalize(vec![0.0; 3], vec![1.0])), "mean must have 1 entries, got 3");
    assert_eq!(complaint(normalize(vec![0.0], vec![0.0])), "deviation must be positive and finite, got 0");
    let flip = Transform::FlipHorizontal { probability: 1.5 };
    assert_eq!(complaint(flip), "flip probability must be in [0, 1], got 1.5");
    let crop = Transform::RandomCrop { height: 5, width: 1, padding: 1 };
    assert_eq!(complaint(crop), "crop height must be at most the image's with its padding, got 5");
    assert_eq!(complaint(Transform::Resize { height: 2, width: 0 }), "resize width must be positive, got 0");
}
