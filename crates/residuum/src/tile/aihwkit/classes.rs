//! The device classes of AIHWKIT 1.1.0 with its own parameter names and shipped defaults.
//!
//! Left out are two that decide nothing about a device: `construction_seed`, for which a tile has its key, and
//! `count_pulses`, for which it has its ledger.

/// What all classes share; alone it is `ConstantStepDevice`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulsed {
    /// Mean step Δw_min.
    pub dw_min: f32,
    /// Spread of the step between cells.
    pub dw_min_dtod: f32,
    /// Whether that spread is log-normal.
    pub dw_min_dtod_log_normal: bool,
    /// Cycle-to-cycle noise of a step.
    pub dw_min_std: f32,
    /// Imbalance of up and down steps: weakens one direction.
    pub up_down: f32,
    /// Spread of the imbalance between cells.
    pub up_down_dtod: f32,
    /// Mean upper bound.
    pub w_max: f32,
    /// Spread of the upper bound between cells.
    pub w_max_dtod: f32,
    /// Mean lower bound.
    pub w_min: f32,
    /// Spread of the lower bound between cells.
    pub w_min_dtod: f32,
    /// Probability that a cell is stuck.
    pub corrupt_devices_prob: f32,
    /// Where stuck cells lie.
    pub corrupt_devices_range: f32,
    /// Mean value after a reset.
    pub reset: f32,
    /// Absolute spread of that value between cells.
    pub reset_dtod: f32,
    /// Noise of a reset.
    pub reset_std: f32,
    /// Mini-batches in which a weight decays by 1/e; 0 for never.
    pub lifetime: f32,
    /// Spread of the lifetime between cells.
    pub lifetime_dtod: f32,
    /// Deviation of the random walk of a mini-batch.
    pub diffusion: f32,
    /// Spread of the diffusion between cells.
    pub diffusion_dtod: f32,
    /// `nu` of the nested `drift`, the exponent; 0 for none, and then the rest of `drift` says nothing.
    pub drift_nu: f32,
    /// Whether steps and bounds of the wrong sign are turned round.
    pub enforce_consistency: bool,
    /// Whether the last column is ideal.
    pub perfect_bias: bool,
}

impl Default for Pulsed {
    fn default() -> Self {
        Self {
            dw_min: 0.001,
            dw_min_dtod: 0.3,
            dw_min_dtod_log_normal: false,
            dw_min_std: 0.3,
            up_down: 0.0,
            up_down_dtod: 0.01,
            w_max: 0.6,
            w_max_dtod: 0.3,
            w_min: -0.6,
            w_min_dtod: 0.3,
            corrupt_devices_prob: 0.0,
            corrupt_devices_range: 0.1,
            reset: 0.0,
            reset_dtod: 0.0,
            reset_std: 0.01,
            lifetime: 0.0,
            lifetime_dtod: 0.0,
            diffusion: 0.0,
            diffusion_dtod: 0.0,
            drift_nu: 0.0,
            enforce_consistency: true,
            perfect_bias: false,
        }
    }
}

/// Steps that fall linearly with the state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "AIHWKIT's switches")]
pub struct LinearStep {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Relative drop of the up step at the upper bound.
    pub gamma_up: f32,
    /// Relative drop of the down step at the lower bound.
    pub gamma_down: f32,
    /// Absolute spread of the first.
    pub gamma_up_dtod: f32,
    /// Absolute spread of the second.
    pub gamma_down_dtod: f32,
    /// Whether a slope keeps its sign where that is negative.
    pub allow_increasing: bool,
    /// Whether the mean bounds set the slope.
    pub mean_bound_reference: bool,
    /// Whether noise scales with the step.
    pub mult_noise: bool,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
    /// Whether the up step grows towards its bound.
    pub reverse_up: bool,
    /// Whether the down step grows towards its bound.
    pub reverse_down: bool,
    /// How far beyond the other bound a reversed step vanishes.
    pub reverse_offset: f32,
}

impl Default for LinearStep {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            gamma_up: 0.0,
            gamma_down: 0.0,
            gamma_up_dtod: 0.05,
            gamma_down_dtod: 0.05,
            allow_increasing: false,
            mean_bound_reference: true,
            mult_noise: true,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
            reverse_up: false,
            reverse_down: false,
            reverse_offset: 0.01,
        }
    }
}

/// Steps that vanish linearly at the cell's own bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "AIHWKIT's switches")]
pub struct SoftBounds {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Whether noise scales with the step.
    pub mult_noise: bool,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
    /// Whether the up step grows towards its bound.
    pub reverse_up: bool,
    /// Whether the down step grows towards its bound.
    pub reverse_down: bool,
    /// How far beyond the other bound a reversed step vanishes.
    pub reverse_offset: f32,
}

impl Default for SoftBounds {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            mult_noise: true,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
            reverse_up: false,
            reverse_down: false,
            reverse_offset: 0.01,
        }
    }
}

/// Soft bounds of a cell read against a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftBoundsReference {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Whether noise scales with the step.
    pub mult_noise: bool,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
    /// Spread of the up slope, which moves the upper bound.
    pub slope_up_dtod: f32,
    /// Spread of the down slope, which moves the lower bound.
    pub slope_down_dtod: f32,
    /// Mean of what a read subtracts.
    pub reference_mean: f32,
    /// Its spread between cells.
    pub reference_std: f32,
    /// Whether the cell's symmetric point is subtracted besides.
    pub subtract_symmetry_point: bool,
}

impl Default for SoftBoundsReference {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            mult_noise: false,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
            slope_up_dtod: 0.0,
            slope_down_dtod: 0.0,
            reference_mean: 0.0,
            reference_std: 0.0,
            subtract_symmetry_point: false,
        }
    }
}

/// Steps 1 − A e^{±γz}, z = 2a·w/(b₊ − b₋) + b.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(non_snake_case, reason = "AIHWKIT's names")]
pub struct ExpStep {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Amplitude of the up step.
    pub A_up: f32,
    /// Amplitude of the down step.
    pub A_down: f32,
    /// Rate of the up step.
    pub gamma_up: f32,
    /// Rate of the down step.
    pub gamma_down: f32,
    /// Stretch of the state.
    pub a: f32,
    /// Shift of the state.
    pub b: f32,
    /// Part of complex noise that is always there, in weight units.
    pub dw_min_std_add: f32,
    /// Part of complex noise that grows with the state.
    pub dw_min_std_slope: f32,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
}

impl Default for ExpStep {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            A_up: 0.00081,
            A_down: 0.36833,
            gamma_up: 12.44625,
            gamma_down: 12.78785,
            a: 0.244,
            b: 0.2425,
            dw_min_std_add: 0.0,
            dw_min_std_slope: 0.0,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
        }
    }
}

/// Steps that are a power of the distance from the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowStep {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Mean exponent.
    pub pow_gamma: f32,
    /// Spread of the exponent between cells.
    pub pow_gamma_dtod: f32,
    /// Imbalance of the exponents.
    pub pow_up_down: f32,
    /// Spread of that imbalance.
    pub pow_up_down_dtod: f32,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
}

impl Default for PowStep {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            pow_gamma: 1.0,
            pow_gamma_dtod: 0.1,
            pow_up_down: 0.0,
            pow_up_down_dtod: 0.0,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
        }
    }
}

/// Power steps of a cell read against a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowStepReference {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Mean exponent.
    pub pow_gamma: f32,
    /// Spread of the exponent between cells.
    pub pow_gamma_dtod: f32,
    /// Imbalance of the exponents.
    pub pow_up_down: f32,
    /// Spread of that imbalance.
    pub pow_up_down_dtod: f32,
    /// Mean of what a read subtracts.
    pub reference_mean: f32,
    /// Its spread between cells.
    pub reference_std: f32,
    /// Whether the cell's symmetric point is subtracted besides.
    pub subtract_symmetry_point: bool,
    /// Pulses that search for it; −1 for as many as it takes, up to 10 000.
    pub n_estimation_steps: i32,
}

impl Default for PowStepReference {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            pow_gamma: 1.0,
            pow_gamma_dtod: 0.1,
            pow_up_down: 0.0,
            pow_up_down_dtod: 0.0,
            reference_mean: 0.0,
            reference_std: 0.0,
            subtract_symmetry_point: false,
            n_estimation_steps: -1,
        }
    }
}

/// Soft bounds from the number of pulses; `dw_min`, `up_down`, `w_min` and `w_max` of `pulsed` are derived and not read.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "AIHWKIT's switches")]
pub struct SoftBoundsPmax {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Pulses from one end of the range to the other.
    pub p_max: f32,
    /// Rate of the approach.
    pub alpha: f32,
    /// Lower end.
    pub range_min: f32,
    /// Upper end.
    pub range_max: f32,
    /// Whether noise scales with the step.
    pub mult_noise: bool,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
    /// Whether the up step grows towards its bound.
    pub reverse_up: bool,
    /// Whether the down step grows towards its bound.
    pub reverse_down: bool,
    /// How far beyond the other bound a reversed step vanishes.
    pub reverse_offset: f32,
}

impl Default for SoftBoundsPmax {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            p_max: 1000.0,
            alpha: 0.0005,
            range_min: -1.0,
            range_max: 1.0,
            mult_noise: true,
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
            reverse_up: false,
            reverse_down: false,
            reverse_offset: 0.01,
        }
    }
}

/// Steps interpolated between nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseStep {
    /// What all classes share.
    pub pulsed: Pulsed,
    /// Relative up step at equally spaced nodes from the lower to the upper bound.
    pub piecewise_up: Vec<f32>,
    /// Relative down step at the same nodes.
    pub piecewise_down: Vec<f32>,
    /// What a read sees, in steps around the state.
    pub write_noise_std: f32,
    /// Whether setting weights draws write noise.
    pub apply_write_noise_on_set: bool,
}

impl Default for PiecewiseStep {
    fn default() -> Self {
        Self {
            pulsed: Pulsed::default(),
            piecewise_up: vec![1.0],
            piecewise_down: vec![1.0],
            write_noise_std: 0.0,
            apply_write_noise_on_set: true,
        }
    }
}
