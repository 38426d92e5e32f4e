//! Cost of the core's hot loops on one core, beside the least work each must do.
//!
//!     cargo bench -p residuum-bench --bench core
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Power, Tanh};
use residuum::rule::{Analog, Digital, Rates, ResidualConfig, ResidualLearning, Source};
use residuum::{ExactArray, Key, Noise, Noisy, ResponseFunction, UpdateRule, minimize};
use residuum_bench::best_of;

const CELLS: usize = 1 << 20;

fn main() {
    let mut direction = vec![0.0; CELLS];
    Key::new(1).fill_normal(&mut direction);

    println!("Expected update of 2^20 cells, f64, one core: ns per cell per step (best of 9 × 10)");
    let mut state = vec![0.1; CELLS];
    let floor = per_cell(|| {
        // The least any update does: read the state and the direction, write the state.
        for (w, d) in state.iter_mut().zip(&direction) {
            *w += 1e-3 * d;
        }
        black_box(&mut state);
    });
    println!("  {:<28} {floor:6.3}   1.00 × the memory traffic alone", "w += αd (roofline)");
    let responses: Vec<(&str, Box<dyn ResponseFunction>)> = vec![
        ("power, shape 1", Box::new(Power::new(1.0, 1.0).expect("valid"))),
        ("power, shape 2", Box::new(Power::new(2.0, 1.0).expect("valid"))),
        ("power, shape 0.5", Box::new(Power::new(0.5, 1.0).expect("valid"))),
        ("power, shape 2.5", Box::new(Power::new(2.5, 1.0).expect("valid"))),
        ("linear, κ₂ = 4", Box::new(Linear::with_condition(4.0, 1.0).expect("valid"))),
        ("exponential, shape 1", Box::new(Exponential::new(1.0, 1.0).expect("valid"))),
        ("tanh", Box::new(Tanh::new(1.0, 0.5, 1.0, 0.0).expect("valid"))),
    ];
    for (name, response) in &responses {
        let mut state = vec![0.1; CELLS];
        let ns = per_cell(|| {
            response.realize(1e-3, &direction, response.range(), &mut state);
            black_box(&mut state);
        });
        println!("  {name:<28} {ns:6.3}   {:.2} × the memory traffic alone", ns / floor);
    }

    println!("\nKeyed draws in bulk, one core: ns per draw (best of 9)");
    let mut out = vec![0.0; 1 << 16];
    let draws = (out.len() * 16) as f64;
    let mut k = 0;
    let normal = best_of(9, || {
        for _ in 0..16 {
            k += 1;
            Key::new(3).fold(k).fill_normal(&mut out);
            black_box(&mut out);
        }
    }) * 1e9
        / draws;
    println!("  {:<28} {normal:6.3}", "normal, f64");
    let uniform = best_of(9, || {
        for _ in 0..16 {
            k += 1;
            Key::new(3).fold(k).fill_uniform(&mut out);
            black_box(&mut out);
        }
    }) * 1e9
        / draws;
    println!("  {:<28} {uniform:6.3}", "uniform, f64");

    println!("\nA step of the toy, 20 000 replicas, one core: ns per replica per step");
    let problem = DiagonalQuadratic::replicas(1.0, 0.5, 20_000).expect("valid");
    let oracle = Noisy::new(Arc::new(problem), Noise::Gaussian { deviation: 1.0 }).expect("valid");
    let start = vec![0.8; 20_000];
    let array = |w: &[f64]| ExactArray::uniform(w, Power::new(1.0, 1.0).expect("valid")).expect("valid");
    let mut digital = Digital::new(&start, Source::Sgd).expect("valid");
    let mut analog = Analog::sgd(array(&start));
    let mut residual =
        ResidualLearning::new(array(&start), array(&vec![0.0; 20_000]), ResidualConfig::default())
            .expect("valid");
    let time = |name: &str, rules: &mut [&mut dyn UpdateRule]| {
        let n = rules.len();
        let seconds = best_of(3, || {
            minimize(&oracle, rules, &Rates::new(2e-3, 4e-3), 100, Key::new(1))
                .expect("rules in f64 refuse nothing");
        });
        println!("  {name:<28} {:6.3} per rule", seconds * 1e9 / (100.0 * 20_000.0 * n as f64));
    };
    time("Digital SGD", &mut [&mut digital]);
    time("Analog SGD", &mut [&mut analog]);
    time("Residual Learning", &mut [&mut residual]);
    time("the three together", &mut [&mut digital, &mut analog, &mut residual]);
}

fn per_cell(mut step: impl FnMut()) -> f64 {
    best_of(9, || (0..10).for_each(|_| step())) * 1e9 / (10.0 * CELLS as f64)
}
