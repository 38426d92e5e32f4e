//! Timing a training step, here and in Python.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use residuum::Key;
use residuum_nn::{Loss, Network, Tensor};

use super::data::Samples;

/// Samples per second of the best round.
#[derive(Clone, Copy)]
pub struct Speed {
    /// By the CPU time of the thread that trains, where the system tells it, or else by the clock.
    pub by_cpu: f64,
    /// By the clock on the wall.
    pub by_clock: f64,
}

/// The speed of some work on `samples` samples, repeated for so many seconds in rounds of half a second, the first of which warms up; and
/// the kilobytes by which memory grew after the first round.
pub fn repeat(samples: usize, seconds: f64, mut work: impl FnMut()) -> (Speed, Option<i64>) {
    (0..3).for_each(|_| work());
    let (mut best, mut resident, start) = ([f64::INFINITY; 2], None, Instant::now());
    while start.elapsed().as_secs_f64() < seconds {
        let (mut times, before, begun) = (0, cpu_seconds(), Instant::now());
        while times == 0 || begun.elapsed().as_secs_f64() < 0.5 {
            work();
            times += 1;
        }
        let elapsed = begun.elapsed().as_secs_f64();
        let cpu = cpu_seconds().zip(before).map_or(elapsed, |(after, before)| after - before);
        best = [best[0].min(cpu / f64::from(times)), best[1].min(elapsed / f64::from(times))];
        resident = resident.or_else(resident_kilobytes);
    }
    let grown = resident_kilobytes().zip(resident).map(|(after, before)| after - before);
    let [by_cpu, by_clock] = best.map(|seconds| samples as f64 / seconds);
    (Speed { by_cpu, by_clock }, grown)
}

/// The speed of training steps.
pub fn training(
    network: &mut Network,
    samples: &Samples,
    batch: usize,
    loss: Loss,
    seconds: f64,
) -> (Speed, Option<i64>) {
    let batches: Vec<(Tensor, &[u32])> = samples.batches(batch).collect();
    let mut k = 0;
    repeat(batch, seconds, || {
        let (input, labels) = &batches[k as usize % batches.len()];
        network.train_step(input, labels, loss, k, Key::new(3)).expect("the rates are small");
        k += 1;
    })
}

/// Seconds that this thread has been running, if the system tells.
fn cpu_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// Memory of this process, if the system tells.
fn resident_kilobytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("VmRSS"))?.split_whitespace().nth(1)?.parse().ok()
}

/// Samples per second of the same step in the Python that `variable` names, if it does.
pub fn ask(
    variable: &str,
    script: &str,
    case: &[&str; 2],
    threads: usize,
    seconds: f64,
    data: &Path,
) -> Option<f64> {
    let python = std::env::var_os(variable)?;
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools");
    let output = Command::new(python)
        .arg(tools.join(script))
        .args(case)
        .arg(threads.to_string())
        .arg(seconds.to_string())
        .arg(data)
        .output()
        .expect("the Python must run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8_lossy(&output.stdout);
    Some(line.trim().parse().expect("the script prints one number"))
}
