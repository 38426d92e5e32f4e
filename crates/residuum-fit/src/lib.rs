//! From measured pulses to a device: what a probe station records, as a model one can train on, with honest intervals.
//!
//! A [`Measurement`] is a set of ramps: conductance read after every pulse of one direction. [`read`] takes the formats of the
//! field; [`fit`] estimates the steps s±(g) against the state, the read noise apart from the write noise, the symmetric point
//! and its kind, and how devices differ; [`simulate`] makes ramps of a known device.
//!
//! The model is a state-space model. A read is y_t = g_t + ε_t with read noise ε of variance v_r; a pulse moves the state by
//! g_{t+1} = g_t ± s±(g_t) + η_t, the write noise η having variance v_a + v_p s². Its likelihood is that of a Kalman filter,
//! exact for straight lines and linearised at the filtered state otherwise. Regressing differences of reads on reads would be
//! biased, since both carry the same read noise; the filter is not, and the covariance −v_r of successive differences is what
//! tells the two noises apart.
//!
//! ```
//! use residuum::progress::Silent;
//! use residuum_fit::{Curve, FitOptions, CurveFamily, Truth, fit, simulate};
//! use residuum::Key;
//!
//! let truth = Truth {
//!     curve: Curve::new(CurveFamily::Line, vec![0.012, 0.002, 0.001, 0.011]),
//!     read_noise: 0.01,
//!     additive: 0.003,
//!     proportional: 0.0,
//!     range: residuum::Range { lo: -0.9, hi: 0.9 },
//! };
//! let measured = simulate(&truth, 300, 6, Key::new(1));
//! let found = fit(&measured, &FitOptions::default(), &Silent)?;
//! assert_eq!(found.model_name(), "linear");
//! assert!((found.read_noise.value - 0.01).abs() < 0.002);
//! # Ok::<(), residuum_fit::FitError>(())
//! ```

mod bootstrap;
mod curve;
mod filter;
mod fit;
mod measurement;
mod nonlinearity;
mod point;
pub mod read;
mod scoring;
mod screen;
mod simulate;
mod starts;
mod tangent;

pub use bootstrap::Estimate;
pub use curve::{Curve, CurveFamily};
pub use fit::{Candidate, DeviceFit, FitError, FitOptions, LeftOut, Spreads, fit};
pub use measurement::{Direction, Measurement, Ramp};
pub use nonlinearity::nonlinearity;
pub use point::{Crossing, FittedPoint, PointKind};
pub use read::{Format, ReadError, ReadOptions};
pub use screen::{Outlier, Screening};
pub use simulate::{Truth, simulate, simulate_devices};
