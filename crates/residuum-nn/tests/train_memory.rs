//! A run of many epochs takes no more memory than one of few.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

#[path = "it/train_common/mod.rs"]
mod train_common;

use std::fs;

use residuum_nn::train::{CheckpointPolicy, EpochRecord, Training, TrainingListener};
use train_common::Setup;
use train_common::tiles::Tiles;

/// Notes the resident memory after every epoch, and may leak on purpose.
#[derive(Default)]
struct Watch {
    kilobytes: Vec<usize>,
    leak: usize,
    kept: Vec<Vec<u8>>,
}

impl TrainingListener for Watch {
    fn step_done(&mut self, _: u64, _: f64, _: usize) {
        self.kept.push(vec![1; self.leak]);
    }
    fn evaluated(&mut self, _: &EpochRecord) {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        self.kilobytes.push(line.split_whitespace().nth(1).unwrap().parse().unwrap());
    }
}

/// One test, so that nothing else moves the memory of the process.
#[test]
fn memory_is_bounded() {
    let checkpoint =
        CheckpointPolicy { every_steps: Some(230), epoch_ends: false, ..CheckpointPolicy::default() };
    let training = Training { checkpoint, histograms: true, ..Setup::new(60).training };
    let setup = Setup { training, sizes: vec![64, 128, 10], ..Setup::new(60) };
    let growth = |tiles: Option<Tiles>, leak: usize| {
        let setup = Setup { tiles, ..setup.clone() };
        let folder = tempfile::tempdir().unwrap();
        let mut watch = Watch { leak, ..Watch::default() };
        setup.start(Some(folder.path()), &mut watch).unwrap();
        watch.kilobytes[59].saturating_sub(watch.kilobytes[19])
    };
    // 40 epochs of 46 steps. A kilobyte a step, a fortieth of its state, would be 1 840.
    let (tight, leaking) = (growth(None, 0), growth(None, 1024));
    let tiles = growth(Some(Tiles::Residual), 0);
    assert!(tight < 900 && tiles < 900, "{tight} kB digitally, {tiles} kB on tiles");
    assert!(leaking > 900, "{leaking} kB");
}
