//! Batches: every sample once, a new order every epoch, the same bits however they are prepared.

use residuum::Key;
use residuum::stats::Z;
use residuum_data::{Batch, Batches, Dataset, Description, ImageShape, Pipeline, Transform, embedded};

/// `n` images of one pixel, which holds the index.
fn numbered(n: u8) -> Dataset {
    let shape = ImageShape::new(1, 1, 1);
    let description = Description { name: "numbered".into(), shape, classes: 256, full_scale: 1.max(n - 1) };
    Dataset::new(description, (0..n).collect(), (0..n).collect()).unwrap()
}

fn plain(n: u8, batch_size: usize) -> Batches {
    let data = numbered(n);
    let pipeline = Pipeline::new(&data, &[]).unwrap();
    Batches::new(data, pipeline, batch_size, Key::new(1)).unwrap()
}

/// Digits with everything random switched on.
fn augmented(seed: u64) -> Batches {
    let data = embedded::digits().unwrap().test;
    let transforms = [
        Transform::RandomCrop { height: 8, width: 8, padding: 2 },
        Transform::FlipHorizontal { probability: 0.5 },
        Transform::FlipVertical { probability: 0.5 },
    ];
    let pipeline = Pipeline::new(&data, &transforms).unwrap();
    Batches::new(data, pipeline, 32, Key::new(seed)).unwrap().shuffled()
}

fn labels(batches: impl Iterator<Item = Batch>) -> Vec<u32> {
    batches.flat_map(|b| b.labels).collect()
}

#[test]
fn an_epoch_holds_every_sample_once_with_its_own_image() {
    for batches in [plain(101, 7), plain(101, 7).shuffled()] {
        assert_eq!((batches.len(), batches.epoch(0).len()), (15, 15));
        let all: Vec<Batch> = batches.epoch(0).collect();
        assert_eq!(all.iter().map(|b| b.labels.len()).collect::<Vec<_>>(), [vec![7; 14], vec![3]].concat());
        for batch in &all {
            let expected: Vec<f32> = batch.labels.iter().map(|&l| l as f32 / 100.0).collect();
            assert_eq!(batch.images, expected);
        }
        let mut seen = labels(all.into_iter());
        seen.sort_unstable();
        assert_eq!(seen, (0..101).collect::<Vec<u32>>());
    }
}

#[test]
fn the_last_batch_can_be_dropped_only_when_it_is_smaller() {
    assert_eq!(plain(101, 7).drop_last().epoch(0).map(|b| b.labels.len()).collect::<Vec<_>>(), [7; 14]);
    assert_eq!(plain(98, 7).drop_last().len(), 14);
    assert_eq!(plain(3, 7).drop_last().epoch(0).count(), 0);
}

#[test]
fn order_depends_on_key_and_epoch() {
    let batches = plain(101, 7).shuffled();
    assert_eq!(labels(plain(101, 7).epoch(5)), (0..101).collect::<Vec<u32>>());
    assert_eq!(labels(batches.epoch(5)), labels(batches.clone().epoch(5)));
    assert_ne!(labels(batches.epoch(5)), labels(batches.epoch(6)));
    // The batch size cuts the order and does not change it.
    assert_eq!(labels(batches.epoch(5)), labels(plain(101, 10).shuffled().epoch(5)));
}

/// Pearson's statistic of how often each sample comes first, in its normal approximation.
fn first_place_excess(first: impl Fn(u64) -> usize, samples: usize, epochs: u64) -> f64 {
    let mut counts = vec![0.0; samples];
    (0..epochs).for_each(|e| counts[first(e)] += 1.0);
    let expected = epochs as f64 / samples as f64;
    let statistic: f64 = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
    let freedom = (samples - 1) as f64;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn every_sample_is_equally_likely_to_come_first() {
    let batches = plain(50, 50).shuffled();
    let excess = first_place_excess(|e| batches.epoch(e).order()[0], 50, 20_000);
    assert!(excess.abs() < Z, "{excess}");
    // The twin: an order in which the first sample never keeps its place.
    let stuck = |e| match batches.epoch(e).order()[0] {
        0 => 1,
        other => other,
    };
    let excess = first_place_excess(stuck, 50, 20_000);
    assert!(excess > Z, "{excess}");
}

#[test]
fn prefetched_batches_have_the_same_bits() {
    let batches = augmented(3);
    for depth in [0, 1, 4, 100] {
        let mut prefetched = batches.prefetch(2, depth);
        let mut batch = Batch::default();
        for expected in batches.epoch(2) {
            assert!(prefetched.next_into(&mut batch));
            assert_eq!(batch, expected);
        }
        assert!(!prefetched.next_into(&mut batch));
        assert_eq!(batch.labels.len(), 355 % 32, "the end leaves the last batch alone");
        assert!(prefetched.next().is_none());
    }
    assert_ne!(batches.epoch(2).next(), augmented(4).epoch(2).next());
}

#[test]
fn an_epoch_can_be_left_early_and_taken_up_in_the_middle() {
    let batches = augmented(3);
    let mut prefetched = batches.prefetch(0, 1);
    prefetched.next();
    assert_eq!(prefetched.len(), 11);
    drop(prefetched); // ends the thread, which waits for room
    let whole: Vec<Batch> = batches.epoch(0).collect();
    assert_eq!(batches.epoch(0).starting_at(5).collect::<Vec<_>>(), whole[5..]);
    assert_eq!(batches.epoch(0).starting_at(13).count(), 0);
}

#[test]
fn a_sample_is_transformed_alike_wherever_it_stands_and_anew_every_epoch() {
    let batches = augmented(3);
    let values = |batches: &Batches, epoch: u64, sample: usize| {
        let at = batches.epoch(epoch).order().iter().position(|&s| s == sample).unwrap();
        let images: Vec<f32> = batches.epoch(epoch).flat_map(|b| b.images).collect();
        images[at * 64..(at + 1) * 64].to_vec()
    };
    let data = batches.dataset().clone();
    let single = Batches::new(data, batches.pipeline().clone(), 1, Key::new(3)).unwrap();
    let mut changed = 0;
    for sample in [0, 17, 354] {
        assert_eq!(values(&batches, 1, sample), values(&single, 1, sample));
        changed += usize::from(values(&batches, 1, sample) != values(&batches, 2, sample));
    }
    assert!(changed > 0);
}

#[test]
fn misuse_is_named() {
    let digits = embedded::digits().unwrap().test;
    let pipeline = Pipeline::new(&digits, &[]).unwrap();
    let error = Batches::new(digits, pipeline.clone(), 0, Key::new(0)).unwrap_err();
    assert_eq!(error.to_string(), "batch_size must be positive, got 0");
    let error = Batches::new(numbered(3), pipeline, 1, Key::new(0)).unwrap_err();
    assert_eq!(error.to_string(), "an image of the data set must have 64 entries, got 1");
}

#[test]
fn stored_inputs_take_the_place_of_images_and_keep_the_order() {
    let images = plain(101, 7).shuffled();
    let inputs: Vec<f32> = (0..101_u8).flat_map(|i| [f32::from(i), -f32::from(i)]).collect();
    let stored = images.clone().with_inputs(inputs.clone().into()).unwrap();
    assert_eq!(stored.input_shape(), ImageShape::new(1, 1, 2));
    for (image, input) in images.epoch(3).zip(stored.prefetch(3, 2)) {
        assert_eq!(image.labels, input.labels);
        let expected = input.labels.iter().flat_map(|&l| [l as f32, -(l as f32)]);
        assert_eq!(input.images, expected.collect::<Vec<_>>());
    }
    for wrong in [0, 100, 201] {
        let inputs: Vec<f32> = inputs[..wrong].to_vec();
        let error = images.clone().with_inputs(inputs.into()).unwrap_err();
        assert!(error.to_string().contains("the inputs of all samples"), "{error}");
    }
}
