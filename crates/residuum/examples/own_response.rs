//! A response of your own: five methods, and everything else follows.
//!
//!     cargo run --release -p residuum --example own_response
#![allow(clippy::print_stdout)]

use residuum::response::Regularity;
use residuum::{Range, ResponseFunction};

/// Conductance that saturates like 1/(1 + w²) upwards and mirrors it downwards.
#[derive(Debug)]
struct Saturating;

impl ResponseFunction for Saturating {
    fn q_plus(&self, w: f64) -> f64 {
        1.0 / (1.0 + (1.0 + w).powi(2)) + 0.5
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.q_plus(-w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        -2.0 * (1.0 + w) / (1.0 + (1.0 + w).powi(2)).powi(2)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        -self.q_plus_derivative(-w)
    }
    fn range(&self) -> Range {
        Range { lo: -1.0, hi: 1.0 }
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        "q₊ = ½ + 1/(1 + (1 + w)²), q₋(w) = q₊(−w)".into()
    }
}

fn main() {
    let response = Saturating;
    let bounds = response.bounds(response.range());
    println!("{}", response.describe());
    println!("κ₂ = {:.4}, L_S = {:.4}", bounds.hardware_condition(), bounds.lipschitz);
    println!(
        "R'(w⋄) = {:.4}, R_c(0.5) = {:.6}",
        response.asymmetry_ratio_derivative(0.0),
        response.asymmetry_potential(0.5)
    );
    println!("{}", Regularity::of(&response, response.range()));
}
