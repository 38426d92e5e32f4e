//! Cost of the core's hot loops on one core, beside the least work each must do.
//!
//!     cargo bench -p residuum-bench --bench core
//!
//! The roofline is the larger of the memory traffic, measured by a loop that does nothing else, and the arithmetic: operations, divisions and
//! roots as counted in the source, at rates measured in the same run on independent numbers in registers, the most the machine can do.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Power, Tanh};
use residuum::rule::{Analog, Digital, Rates, ResidualConfig, ResidualLearning, Source};
use residuum::{ExactArray, Key, Noise, Noisy, ResponseFunction, UpdateRule, minimize};
use residuum_bench::best_of;
use residuum_bench::machine::operations_f64;

const CELLS: usize = 1 << 20;

/// What a number takes at least: operations, and divisions or roots.
#[derive(Clone, Copy)]
struct Work(f64, f64);

impl Work {
    /// A(αd; w) without its response: four multiplications, a choice of sign, three sums, two comparisons for the bounds.
    const UPDATE: Self = Self(10.0, 0.0);
    const EXP: Self = Self(37.0, 0.0);
    const LN: Self = Self(34.0, 1.0);
    const SIN_COS: Self = Self(42.0, 0.0);
    /// Ten rounds of Philox for two numbers, and their bits as numbers in [0, 1).
    const UNIFORM: Self = Self(67.0, 0.0);

    const fn and(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }

    const fn half(self) -> Self {
        Self(self.0 / 2.0, self.1 / 2.0)
    }

    fn time(self, [operation, division]: [f64; 2]) -> f64 {
        self.0 * operation + self.1 * division
    }
}

/// Box–Muller makes two normal numbers of a logarithm, a root and an angle.
const NORMAL: Work = Work::UNIFORM.and(Work::LN.and(Work::SIN_COS).and(Work(4.0, 1.0)).half());

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
    let rates = operations_f64();
    println!(
        "  one lane, f64: {:.4} ns per operation, {:.4} per division or root\n  {:<28} {floor:6.3}   the memory traffic alone",
        rates[0], rates[1], "w += αd"
    );
    let row = |name: &str, ns: f64, roofline: f64| {
        println!("  {name:<28} {ns:6.3}   {:.2} × the roofline", ns / roofline);
    };
    let responses: Vec<(&str, Work, Box<dyn ResponseFunction>)> = vec![
        ("power, shape 1", Work(1.0, 0.0), Box::new(Power::new(1.0, 1.0).expect("valid"))),
        ("power, shape 2", Work(2.0, 0.0), Box::new(Power::new(2.0, 1.0).expect("valid"))),
        ("power, shape 0.5", Work(1.0, 1.0), Box::new(Power::new(0.5, 1.0).expect("valid"))),
        (
            "power, shape 2.5",
            Work::LN.and(Work::EXP).and(Work(5.0, 0.0)),
            Box::new(Power::new(2.5, 1.0).expect("valid")),
        ),
        ("linear, κ₂ = 4", Work(2.0, 1.0), Box::new(Linear::with_condition(4.0, 1.0).expect("valid"))),
        (
            "exponential, shape 1",
            Work::EXP.and(Work(4.0, 0.0)),
            Box::new(Exponential::new(1.0, 1.0).expect("valid")),
        ),
        ("tanh", Work::EXP.and(Work(6.0, 2.0)), Box::new(Tanh::new(1.0, 0.5, 1.0, 0.0).expect("valid"))),
    ];
    for (name, work, response) in &responses {
        let mut state = vec![0.1; CELLS];
        let ns = per_cell(|| {
            response.realize(1e-3, &direction, response.range(), &mut state);
            black_box(&mut state);
        });
        row(name, ns, floor.max(work.and(Work::UPDATE).time(rates)));
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
    row("normal, f64", normal, NORMAL.time(rates));
    let uniform = best_of(9, || {
        for _ in 0..16 {
            k += 1;
            Key::new(3).fold(k).fill_uniform(&mut out);
            black_box(&mut out);
        }
    }) * 1e9
        / draws;
    row("uniform, f64", uniform, Work::UNIFORM.time(rates));

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
    let time = |name: &str, rules: &mut [&mut dyn UpdateRule], moves: Work| {
        let n = rules.len();
        let seconds = best_of(3, || {
            minimize(&oracle, rules, &Rates::new(2e-3, 4e-3), 100, Key::new(1))
                .expect("rules in f64 refuse nothing");
        });
        let (ns, n) = (seconds * 1e9 / (100.0 * 20_000.0), n as f64);
        // All rules see one noise; each has a gradient, and moves its weights.
        let work = NORMAL.and(Work(4.0 * n, 0.0)).and(moves);
        row(&format!("{name}, per rule"), ns / n, work.time(rates) / n);
    };
    let (plain, write) = (Work(2.0, 0.0), Work::UPDATE.and(Work(1.0, 0.0)));
    let two = write.and(write);
    time("Digital SGD", &mut [&mut digital], plain);
    time("Analog SGD", &mut [&mut analog], write);
    time("Residual Learning", &mut [&mut residual], two);
    time("the three together", &mut [&mut digital, &mut analog, &mut residual], plain.and(write).and(two));
}

fn per_cell(mut step: impl FnMut()) -> f64 {
    best_of(9, || (0..10).for_each(|_| step())) * 1e9 / (10.0 * CELLS as f64)
}
