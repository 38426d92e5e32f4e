//! A small run on the embedded digits, and a reader of event files.
#![allow(dead_code)] // each test file uses its part

pub mod tiles;
pub mod weights;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use residuum::{Key, Schedule};
use residuum_nn::data::{Batches, Pipeline, embedded};
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, Factory, mlp};
use residuum_nn::state::{Scope, Tensors};
use residuum_nn::train::{EpochRecord, Run, TrainError, Training, TrainingListener, TrainingSummary, Warning};
use residuum_nn::{Loss, Network, SampleShape, Sgd};
use tiles::Tiles;

pub const LOSS: Loss = Loss::CrossEntropy { smoothing: 0.0 };

/// Everything a run needs but its network.
#[derive(Clone)]
pub struct Setup {
    pub train: Batches,
    pub test: Batches,
    pub training: Training,
    pub description: String,
    pub seed: u64,
    pub sizes: Vec<usize>,
    pub sgd: Sgd,
    /// The rule of layers on tiles; without one they are digital.
    pub tiles: Option<Tiles>,
}

impl Setup {
    /// 46 steps of 32 samples (the last of 2) in an epoch; momentum, so that weights alone do not tell the state.
    pub fn new(epochs: u64) -> Self {
        let digits = embedded::digits().unwrap();
        let pipeline = Pipeline::new(&digits.train, &[]).unwrap();
        let rate = Schedule::Step { initial: 0.05, every: 100, factor: 0.5, warm_up: 0 };
        Self {
            train: Batches::new(digits.train, pipeline.clone(), 32, Key::new(1)).unwrap().shuffled(),
            test: Batches::new(digits.test, pipeline, 100, Key::new(2)).unwrap(),
            training: Training { learning_rate: Some(rate), ..Training::new(epochs, LOSS) },
            description: "model = \"mlp\"\nrate = 0.05\n".to_owned(),
            seed: 3,
            sizes: vec![64, 16, 10],
            sgd: Sgd { momentum: 0.5, ..Sgd::new(rate) },
            tiles: None,
        }
    }

    pub fn network(&self) -> Network {
        let mut factory: Box<dyn Factory> = match self.tiles {
            Some(tiles) => Box::new(tiles.factory(self.sgd)),
            None => Box::new(DigitalFactory(Some(self.sgd))),
        };
        let shape = SampleShape::image(8, 8, 1);
        mlp(shape, &self.sizes, Activation::Tanh, &mut *factory, Key::new(self.seed)).unwrap()
    }

    pub fn run<'a>(&'a self, network: &'a mut Network, directory: Option<&'a Path>) -> Run<'a> {
        let Self { train, test, training, description, seed, .. } = self;
        Run { network, train, test, training, key: Key::new(*seed), directory, description }
    }

    pub fn start(
        &self,
        directory: Option<&Path>,
        listener: &mut dyn TrainingListener,
    ) -> Result<Done, TrainError> {
        let mut network = self.network();
        let summary = self.run(&mut network, directory).start(listener)?;
        Ok(Done { summary, state: network.state(Scope::Everything) })
    }

    pub fn resume(&self, directory: &Path, listener: &mut dyn TrainingListener) -> Result<Done, TrainError> {
        let mut network = self.network();
        let summary = self.run(&mut network, Some(directory)).resume(listener)?;
        Ok(Done { summary, state: network.state(Scope::Everything) })
    }
}

/// A run that came to an end.
#[derive(Debug)]
pub struct Done {
    pub summary: TrainingSummary,
    pub state: Tensors,
}

impl Done {
    /// All that must be the same for every way to run the run.
    pub fn bits(&self) -> (Vec<EpochRecord>, &Tensors) {
        (self.summary.records.iter().map(EpochRecord::reproducible).collect(), &self.state)
    }
}

/// Remembers what it is told, and cancels when asked for the n-th time.
#[derive(Default)]
pub struct Spy {
    pub warnings: Vec<Warning>,
    pub resumed: Option<(u64, u64)>,
    pub epochs: Vec<u64>,
    pub losses: Vec<u64>,
    pub checkpoints: Vec<PathBuf>,
    pub cancel_at: Option<u64>,
    pub asked: std::cell::Cell<u64>,
}

impl Spy {
    pub fn cancelling_at(n: u64) -> Self {
        Self { cancel_at: Some(n), ..Self::default() }
    }
}

impl TrainingListener for Spy {
    fn resumed(&mut self, epoch: u64, position: u64) {
        self.resumed = Some((epoch, position));
    }
    fn epoch_begins(&mut self, epoch: u64, steps: u64) {
        assert_eq!(steps, 46);
        self.epochs.push(epoch);
    }
    fn step_done(&mut self, k: u64, loss: f64, samples: usize) {
        assert_eq!(samples, if k.is_multiple_of(46) { 2 } else { 32 });
        self.losses.push(loss.to_bits());
    }
    fn checkpointed(&mut self, _: u64, path: &Path) {
        self.checkpoints.push(path.to_owned());
    }
    fn warned(&mut self, warning: &Warning) {
        self.warnings.push(warning.clone());
    }
    fn cancelled(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.cancel_at.is_some_and(|n| self.asked.get() >= n)
    }
}

/// The names of all checkpoints, oldest first.
pub fn checkpoints(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(directory.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The records of `metrics.jsonl` without their times; every line must be whole.
pub fn metrics(directory: &Path) -> Vec<EpochRecord> {
    let text = fs::read_to_string(directory.join("metrics.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str::<EpochRecord>(line).unwrap().reproducible()).collect()
}

/// A value of an event file.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Scalar(f32),
    /// `[min, max, num, sum, sum_squares]`, limits, counts.
    Histogram(Vec<f64>, Vec<f64>, Vec<f64>),
}

/// One message of an event file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Event {
    pub wall_time: f64,
    pub step: u64,
    pub version: String,
    pub values: BTreeMap<String, Shown>,
}

/// Reads an event file; every record must be framed and checked as TFRecord says.
pub fn events(directory: &Path) -> Vec<Event> {
    read_events(&fs::read(directory.join("events.out.tfevents.residuum")).unwrap()).unwrap()
}

pub fn read_events(mut bytes: &[u8]) -> Result<Vec<Event>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(take(&mut bytes, 8)?.try_into().unwrap()) as usize;
        check(&(length as u64).to_le_bytes(), take(&mut bytes, 4)?)?;
        let data = take(&mut bytes, length)?;
        check(data, take(&mut bytes, 4)?)?;
        all.push(event(data)?);
    }
    Ok(all)
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8], String> {
    let (head, tail) = bytes.split_at_checked(n).ok_or("the file ends within a record")?;
    *bytes = tail;
    Ok(head)
}

/// CRC-32C bit by bit, masked.
fn check(data: &[u8], stored: &[u8]) -> Result<(), String> {
    let mut crc = !0_u32;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    let crc = !crc;
    let masked = crc.rotate_right(15).wrapping_add(0xA282_EAD8);
    if masked.to_le_bytes() == stored { Ok(()) } else { Err("a checksum does not hold".to_owned()) }
}

/// The fields of a message: number and contents, where numbers of any width are their bytes.
fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, String> {
    fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = take(bytes, 1)?[0];
            value |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return Ok(value);
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let contents = match tag & 7 {
            0 => varint(&mut bytes)?.to_le_bytes().to_vec(),
            1 => take(&mut bytes, 8)?.to_vec(),
            2 => {
                let length = varint(&mut bytes)? as usize;
                take(&mut bytes, length)?.to_vec()
            }
            5 => take(&mut bytes, 4)?.to_vec(),
            wire => return Err(format!("wire type {wire}")),
        };
        fields.push((tag >> 3, contents));
    }
    Ok(fields)
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

fn event(data: &[u8]) -> Result<Event, String> {
    let mut event = Event::default();
    for (field, contents) in fields(data)? {
        match field {
            1 => event.wall_time = doubles(&contents)[0],
            2 => event.step = u64::from_le_bytes(contents.try_into().unwrap()),
            3 => event.version = String::from_utf8(contents).unwrap(),
            5 => {
                for (_, value) in fields(&contents)? {
                    let (mut tag, mut shown) = (String::new(), None);
                    for (field, contents) in fields(&value)? {
                        match field {
                            1 => tag = String::from_utf8(contents).unwrap(),
                            2 => {
                                let value = f32::from_le_bytes(contents.try_into().unwrap());
                                shown = Some(Shown::Scalar(value));
                            }
                            5 => shown = Some(histogram(&contents)?),
                            other => return Err(format!("field {other} of a value")),
                        }
                    }
                    event.values.insert(tag, shown.ok_or("a value without contents")?);
                }
            }
            other => return Err(format!("field {other} of an event")),
        }
    }
    Ok(event)
}

fn histogram(contents: &[u8]) -> Result<Shown, String> {
    let (mut numbers, mut limits, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (field, contents) in fields(contents)? {
        match field {
            1..=5 => numbers.extend(doubles(&contents)),
            6 => limits = doubles(&contents),
            7 => counts = doubles(&contents),
            other => return Err(format!("field {other} of a histogram")),
        }
    }
    Ok(Shown::Histogram(numbers, limits, counts))
}

/// The same events without what depends on time.
pub fn timeless(events: Vec<Event>) -> Vec<Event> {
    let timeless = |mut event: Event| {
        event.wall_time = 0.0;
        event.values.remove("time/samples_per_second");
        event
    };
    events.into_iter().map(timeless).collect()
}
