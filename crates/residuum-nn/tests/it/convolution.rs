//! Convolutions beside their definition.

use residuum::Key;
use residuum_nn::layer::{Conv2d, Geometry, Layer as _};
use residuum_nn::{DigitalWeights, Pass, SampleShape, Tensor};

/// Outputs of two filters over two images, by the layer and by the sum that defines them.
fn outputs(geometry: Geometry, channels: usize) -> [Vec<f32>; 2] {
    let shape = SampleShape::image(13, 17, channels);
    let draw = |name: &str, n: usize| {
        let mut values = vec![0.0; n];
        Key::new(1).named(name).fill_uniform(&mut values);
        values.into_iter().map(|u| u as f32 - 0.5).collect::<Vec<f32>>()
    };
    let mut images = Tensor::zeros(2, shape);
    images.values_mut().copy_from_slice(&draw("images", 2 * shape.len()));
    let window = geometry.positions() * channels;
    let kernel = draw("kernel", 2 * window);
    let weights = DigitalWeights::new(2, window, kernel.clone(), None).unwrap();
    let mut layer = Conv2d::new(Box::new(weights), None, channels, geometry);
    let out = layer.output_shape(shape).unwrap();
    let mut by_layer = Tensor::default();
    layer.forward(&images, &mut by_layer, Pass::evaluate(Key::new(2)));
    let Geometry { height, width, stride, padding, dilation } = geometry;
    let mut by_sum = Vec::new();
    for image in 0..2 {
        for (y, x) in (0..out.height).flat_map(|y| (0..out.width).map(move |x| (y, x))) {
            for filter in kernel.chunks(window) {
                let mut weights = filter.iter();
                let mut sum = 0.0;
                for (dy, dx) in (0..height).flat_map(|dy| (0..width).map(move |dx| (dy, dx))) {
                    let row = (y * stride[0] + dy * dilation[0]).checked_sub(padding[0]);
                    let col = (x * stride[1] + dx * dilation[1]).checked_sub(padding[1]);
                    for c in 0..channels {
                        let weight = weights.next().unwrap();
                        if let (Some(row @ ..13), Some(col @ ..17)) = (row, col) {
                            sum += weight * images.sample(image)[(row * 17 + col) * channels + c];
                        }
                    }
                }
                by_sum.push(sum);
            }
        }
    }
    [by_layer.values().to_vec(), by_sum]
}

/// Rows of a window of 3, 5 and 7 values without padding are unfolded in a way of their own.
#[test]
fn convolutions_are_their_sums() {
    let far = |[a, b]: [Vec<f32>; 2]| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()))
    };
    let mut least = f32::INFINITY;
    for width in 1..=7 {
        for (height, stride, padding) in [(3, [1, 1], [0, 0]), (2, [2, 3], [0, 0]), (3, [2, 1], [1, 0])] {
            for (dilation, channels) in [([1, 1], 1), ([2, 1], 1), ([1, 2], 1), ([1, 1], 3)] {
                let geometry = Geometry { height, width, stride, padding, dilation };
                // Some 60 terms of at most a quarter, in another order.
                let distance = far(outputs(geometry, channels));
                assert!(distance < 1e-5, "{distance}: {geometry:?}, {channels} channels");
                // The broken twin: the window turned over.
                let [mut by_layer, by_sum] = outputs(geometry, channels);
                by_layer.reverse();
                least = least.min(far([by_layer, by_sum]));
            }
        }
    }
    assert!(least > 0.1, "{least}");
}
