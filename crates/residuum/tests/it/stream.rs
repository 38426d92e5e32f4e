//! Streams: known answers, normal and independent.

use residuum::Key;
use residuum::numeric::erfc;
use residuum::stats::{Summary, kolmogorov_smirnov_normal};
use residuum::testing::stream::{CHUNK, LANES, Stream, minus_two_ln, pair};

/// The first outputs of the published generator from the state (1, 2, 3, 4).
#[test]
fn known_answers() {
    let mut stream = Stream([[1; LANES], [2; LANES], [3; LANES], [4; LANES]]);
    for expected in [641, 1_573_767, 3_222_811_527, 3_517_856_514, 836_907_274, 4_247_214_768] {
        assert_eq!(stream.words(), [expected; LANES]);
    }
}

/// Radius of each 16-bit half, and the cosines of all angles in order.
fn circle() -> (Vec<f64>, Vec<f64>) {
    let radii = (0..1u32 << 16).map(|k| f64::from(minus_two_ln((k as f32 + 0.5) / 65_536.0).sqrt()));
    // At the largest radius the draw is the radius times the coordinate.
    let coordinates = |pick: fn((f32, f32)) -> f32| -> Vec<f64> {
        let longest = f64::from(minus_two_ln(0.5 / 65_536.0).sqrt());
        let mut all: Vec<f64> = (0..1u32 << 16).map(|l| f64::from(pick(pair(l))) / longest).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    };
    let (first, second) = (coordinates(|p| p.0), coordinates(|p| p.1));
    for (a, b) in first.iter().zip(&second) {
        assert!((a - b).abs() < 1e-6, "both draws of a pair have one distribution");
    }
    (radii.collect(), first)
}

/// Largest distance to the normal distribution function, from all 2³² words, with every draw scaled.
fn deviation(radii: &[f64], cosines: &[f64], scale: f64) -> f64 {
    let total = (radii.len() * cosines.len()) as f64;
    // Draws are symmetric, so the left half tells all.
    (0..=80)
        .map(|i| -5.0 + f64::from(i) * 0.0625)
        .map(|x| {
            let below: usize = radii.iter().map(|r| cosines.partition_point(|c| scale * r * c <= x)).sum();
            (below as f64 / total - 0.5 * erfc(-x / std::f64::consts::SQRT_2)).abs()
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_distribution_of_all_words_is_normal() {
    let (radii, cosines) = circle();
    let mean = |values: &[f64], power| values.iter().map(|v| v.powi(power)).sum::<f64>() / 65_536.0;
    assert!(mean(&cosines, 1).abs() < 1e-7 && mean(&cosines, 3).abs() < 1e-7, "no mean, no skewness");
    let moment = |power| mean(&radii, power) * mean(&cosines, power);
    assert!((moment(2) - 1.0).abs() < 2e-5, "variance {}", moment(2));
    assert!((moment(4) - 3.0).abs() < 1e-3, "kurtosis {}", moment(4));
    let bound = 1.0 / 65_536.0;
    assert!(deviation(&radii, &cosines, 1.0) < bound);
    assert!(deviation(&radii, &cosines, 1.0003) > bound, "a width off by 3e-4 is seen");
}

#[test]
fn streams_are_normal_and_independent() {
    let n = 1 << 20;
    let draws = |index: u64| -> Vec<f64> {
        let mut stream = Stream::new(Key::new(1).fold(index));
        (0..n / CHUNK).flat_map(|_| stream.normals()).map(f64::from).collect()
    };
    let (x, y) = (draws(0), draws(1));
    let critical = 1.95 / (n as f64).sqrt();
    assert!(kolmogorov_smirnov_normal(&mut x.clone()) < critical);
    for (power, moment) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
        let s = Summary::of(x.iter().map(|v| v.powi(power)));
        assert!(s.agrees(moment, 0.0), "moment {power}: {s}");
    }
    let across = Summary::of(x.iter().zip(&y).map(|(a, b)| a * b));
    assert!(across.agrees(0.0, 0.0), "{across}");
    // Neighbouring lanes, the two draws of a word, and successive words of a lane; plain and squared.
    for lag in [1, LANES, CHUNK] {
        let lagged = Summary::of(x.iter().zip(&x[lag..]).map(|(a, b)| a * b));
        assert!(lagged.agrees(0.0, 0.0), "lag {lag}: {lagged}");
        let squares = Summary::of(x.iter().zip(&x[lag..]).map(|(a, b)| (a * a - 1.0) * (b * b - 1.0)));
        assert!(squares.agrees(0.0, 0.0), "lag {lag}, squares: {squares}");
    }
    let mut wide: Vec<f64> = x.iter().map(|v| v * 1.01).collect();
    assert!(kolmogorov_smirnov_normal(&mut wide) > critical, "a wrong width must be caught");
}

#[test]
fn the_extreme_words_give_finite_draws() {
    for word in [0, 1, 0xFFFF, 0xFFFF_0000, u32::MAX] {
        let (x, y) = pair(word);
        assert!(x.is_finite() && y.is_finite() && x.hypot(y) < 4.86, "{word:x}: {x} {y}");
    }
}
