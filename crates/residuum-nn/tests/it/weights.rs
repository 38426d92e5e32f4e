//! What layers ask of weights: which products, in which order, of which sizes, with which keys.

use std::sync::{Arc, Mutex};

use residuum::{Key, ParameterError, State, StateError, Tensors};
use residuum_nn::layer::{Conv2d, Flatten, Geometry, LinearLayer, Sequential};
use residuum_nn::{
    DigitalWeights, Layer, Loss, Network, Pass, SampleShape, Sgd, Tensor, TrainStepError, Weights,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read,
    ReadTransposed,
    Step(u64),
}

/// What was called on which weights, with how many numbers and which key.
type Log = Arc<Mutex<Vec<(&'static str, Call, usize, usize, Key)>>>;

/// DigitalWeights weights that write down what they are asked.
#[derive(Debug)]
struct Recorded(&'static str, DigitalWeights, Log);

impl Recorded {
    fn boxed(name: &'static str, rows: usize, cols: usize, log: &Log) -> Box<dyn Weights> {
        let values = (0..rows * cols).map(|i| Key::new(7).normal_at(i as u64) as f32 * 0.1).collect();
        Box::new(Self(name, DigitalWeights::new(rows, cols, values, Some(Sgd::new(0.1))).unwrap(), log.clone()))
    }

    fn note(&self, call: Call, first: usize, second: usize, key: Key) {
        self.2.lock().unwrap().push((self.0, call, first, second, key));
    }
}

impl Weights for Recorded {
    fn rows(&self) -> usize {
        self.1.rows()
    }

    fn cols(&self) -> usize {
        self.1.cols()
    }

    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        self.note(Call::Read, inputs.len(), outputs.len(), key);
        self.1.read(inputs, outputs, key);
    }

    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], key: Key) {
        self.note(Call::ReadTransposed, errors.len(), outputs.len(), key);
        self.1.read_transposed(errors, outputs, key);
    }

    fn step(&mut self, k: u64, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), TrainStepError> {
        self.note(Call::Step(k), errors.len(), inputs.len(), key);
        self.1.step(k, errors, inputs, key)
    }

    fn effective_weights(&self, out: &mut [f32]) {
        self.1.effective_weights(out);
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        self.1.set_weights(weights)
    }
}

impl State for Recorded {
    fn tensors(&self) -> Tensors {
        self.1.tensors()
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        self.1.load(from)
    }
}

const IMAGE: SampleShape = SampleShape::image(6, 6, 2);

fn network(log: &Log) -> Network {
    let layers = Sequential::new()
        .with("wide", Conv2d::new(Recorded::boxed("wide", 3, 18, log), None, 2, Geometry::square(3, 1, 0)))
        .with("narrow", Conv2d::new(Recorded::boxed("narrow", 4, 3, log), None, 3, Geometry::square(1, 1, 0)))
        .with("flatten", Flatten)
        .with("head", LinearLayer::new(Recorded::boxed("head", 10, 64, log), None));
    Network::new(layers, IMAGE).unwrap()
}

fn images(batch: usize) -> Tensor {
    let values = (0..batch * IMAGE.len()).map(|i| Key::new(3).uniform_at(i as u64) as f32).collect();
    Tensor::from_values(IMAGE, values)
}

#[test]
fn a_step_reads_up_then_down_and_learns_after_each_way_down() {
    let log = Log::default();
    let mut network = network(&log);
    let loss = Loss::CrossEntropy { smoothing: 0.0 };
    network.train_step(&images(5), &[0, 1, 2, 3, 4], loss, 11, Key::new(1)).unwrap();
    let calls = std::mem::take(&mut *log.lock().unwrap());
    let seen: Vec<_> = calls.iter().map(|c| (c.0, c.1, c.2, c.3)).collect();
    let windows = 5 * 16;
    assert_eq!(
        seen,
        [
            ("wide", Call::Read, windows * 18, windows * 3),
            ("narrow", Call::Read, windows * 3, windows * 4),
            ("head", Call::Read, 5 * 64, 5 * 10),
            ("head", Call::ReadTransposed, 5 * 10, 5 * 64),
            ("head", Call::Step(11), 5 * 10, 5 * 64),
            ("narrow", Call::ReadTransposed, windows * 4, windows * 3),
            ("narrow", Call::Step(11), windows * 4, windows * 3),
            // Nobody is below the first layer to hear of errors.
            ("wide", Call::Step(11), windows * 3, windows * 18),
        ]
    );
    network.train_step(&images(5), &[0, 1, 2, 3, 4], loss, 12, Key::new(1)).unwrap();
    let mut keys: Vec<String> =
        calls.iter().chain(log.lock().unwrap().iter()).map(|c| format!("{:?}", c.4)).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 16, "no two operations of two steps share a key");
}

#[test]
fn evaluation_reads_in_pieces_with_keys_of_their_own() {
    let log = Log::default();
    let image = SampleShape::image(32, 32, 3);
    let weights = Recorded::boxed("stem", 8, 147, &log);
    let mut conv = Conv2d::new(weights, None, 3, Geometry::square(7, 1, 3));
    let values = (0..16 * image.len()).map(|i| Key::new(3).uniform_at(i as u64) as f32).collect();
    let input = Tensor::from_values(image, values);
    let (mut whole, mut pieces) = (Tensor::default(), Tensor::default());
    conv.forward(&input, &mut whole, Pass::train(0, Key::new(1)));
    log.lock().unwrap().clear();
    conv.forward(&input, &mut pieces, Pass::evaluate(Key::new(1)));
    let calls = log.lock().unwrap();
    assert!(calls.len() > 1, "16 images of 1024 windows of 147 values are more than one piece");
    assert_eq!(calls.iter().map(|c| c.2).sum::<usize>(), 16 * 1024 * 147);
    assert!(calls.windows(2).all(|pair| pair[0].4 != pair[1].4));
    // Sums of 147 terms below 1 may be cut at other places.
    assert!(whole.values().iter().zip(pieces.values()).all(|(w, p)| (w - p).abs() <= 147.0 * f32::EPSILON));
    assert!(whole.values().iter().any(|w| w.abs() > 0.1));
}
