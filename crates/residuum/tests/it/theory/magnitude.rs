//! The variance of gradient noise.

use std::sync::Arc;

use residuum::objective::LeastSquares;
use residuum::stats::Summary;
use residuum::theory::magnitude::noise_variance;
use residuum::{GradientOracle, Key, Noise, Noisy};

#[test]
fn noise_variance_is_that_of_the_draws() {
    let (mut x, mut y) = (vec![0.0; 24], vec![0.0; 8]);
    Key::new(1).fill_normal(&mut x);
    Key::new(2).fill_normal(&mut y);
    let objective = Arc::new(LeastSquares::new(x, y, 0.1).unwrap());
    let recorded = Noise::Recorded { values: vec![0.5, -0.5, 1.0, -1.0].into(), columns: 1 };
    for noise in [
        Noise::MiniBatch { batch: 2 },
        Noise::Gaussian { deviation: 0.7 },
        Noise::TwoPoint { deviation: 0.7, probability: 0.2 },
        recorded,
    ] {
        let problem = Noisy::new(objective.clone(), noise).unwrap();
        let at = problem.objective().minimizer().unwrap().to_vec();
        let mut gradient = vec![0.0; 3];
        let drawn = Summary::of((0..20_000).map(|k| {
            problem.sample(k, &at, Key::new(3), &mut gradient);
            gradient.iter().map(|g| g * g).sum::<f64>()
        }));
        assert!(drawn.agrees(noise_variance(&problem), 0.0), "{:?}: {drawn}", problem.noise());
        // The twin: the variance of one coordinate alone is not the total.
        assert!(!drawn.agrees(noise_variance(&problem) / 3.0, 0.0));
    }
}
