//! Neural networks whose layers live on analog tiles or in digital memory.
//!
//! There is no tape: every [`Layer`] has an explicit forward and backward, activations are batch-major NHWC [`Tensor`]s,
//! and every matrix sits behind [`Weights`]: read forward, read transposed, stepped from the errors and inputs of a
//! mini-batch. Linear and convolutional layers know nothing else about it, so a crossbar and a digital matrix look the same
//! to them: a row of the unfolded image is an input vector of the crossbar.
//!
//! ```
//! use residuum::Key;
//! use residuum_nn::model::{DigitalFactory, mlp};
//! use residuum_nn::{Loss, Sgd, SampleShape, Tensor, layer::Activation};
//!
//! let mut factory = DigitalFactory(Some(Sgd::new(0.1)));
//! let mut network = mlp(SampleShape::flat(2), &[2, 8, 2], Activation::Tanh, &mut factory, Key::new(1))?;
//! let (x, labels) = (Tensor::from_values(SampleShape::flat(2), vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]), [0, 1, 1, 0]);
//! let loss = Loss::CrossEntropy { smoothing: 0.0 };
//! for k in 0..2000 {
//!     network.train_step(&x, &labels, loss, k, Key::new(2))?;
//! }
//! assert_eq!(network.evaluate(&x, &labels, loss, Key::new(3)).correct, 4); // exclusive or
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`tensor`] | shapes and batches of activations |
//! | [`weights`] | the interface to a matrix, digital SGD |
//! | [`analog`] | weights on crossbar tiles |
//! | [`checkpoint`] | tensors with checksums and a manifest, for any run |
//! | [`layer`] | layers, containers, residual blocks |
//! | [`loss`] | cross-entropy and negative log-likelihood |
//! | [`model`] | the networks of the paper, ResNets with torchvision's names |
//! | [`state`] | named tensors: export, import, safetensors |
//! | [`gemm`], [`kernel`] | the matrix product, threads and vector loops |
//! | [`data`] | data sets (re-exported crate) |
//! | [`train`] | epochs, evaluation, metrics, checkpoints that resume bit for bit |

pub mod analog;
pub mod checkpoint;
mod checksum;
pub mod gemm;
pub mod kernel;
pub mod layer;
pub mod loss;
pub mod model;
pub mod state;
pub mod tensor;
#[doc(hidden)]
pub mod testing;
pub mod train;
pub mod weights;

pub use residuum_data as data;

pub use layer::{Layer, Mode, Pass};
pub use loss::{Loss, Targets};
pub use model::Network;
pub use tensor::{SampleShape, Tensor};
pub use weights::{DigitalWeights, Sgd, TrainStepError, Weights};
