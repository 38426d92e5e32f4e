//! Analog SGD drifts: the mean iterate against the zero of T, for growing noise.
//!
//!     cargo run --release -p residuum --example drift
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::objective::DiagonalQuadratic;
use residuum::response::Power;
use residuum::rule::Analog;
use residuum::stats::Summary;
use residuum::theory::fixed_point::predict_drift;
use residuum::theory::magnitude::Sampling;
use residuum::{ExactArray, Key, Noise, Noisy, Rates, UpdateRule, minimize};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let response = Power::new(1.0, 1.0)?;
    println!("{:>5} {:>22} {:>10} {:>10}", "σ", "measured", "zero of T", "W̃*");
    for deviation in [0.1, 0.5, 1.0, 2.0] {
        let noise = Noise::Gaussian { deviation };
        let one = Noisy::new(Arc::new(DiagonalQuadratic::replicas(1.0, 0.5, 1)?), noise.clone())?;
        let theory = predict_drift(&one, &Uniform::new(response), Sampling::new(Key::new(0)))?;

        let many = Noisy::new(Arc::new(DiagonalQuadratic::replicas(1.0, 0.5, 1000)?), noise)?;
        let mut rule = Analog::sgd(ExactArray::uniform(&[0.8; 1000], response)?);
        minimize(&many, &mut [&mut rule], &Rates::learning(0.005), 4000, Key::new(1))?;
        let mean = Summary::of(rule.effective_weights().iter().copied());
        let (zero, leading) = (theory.fixed_point[0], theory.penalized_minimizer[0]);
        println!("{deviation:>5} {:>12.4} ± {:.4} {zero:>12.4} {leading:>10.4}", mean.mean, mean.se);
    }
    Ok(())
}
