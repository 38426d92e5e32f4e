//! AIHWKIT's parameters from JSON.

use residuum::tile::aihwkit::{
    Class, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds, SoftBoundsPmax,
    SoftBoundsReference,
};
use serde_json::Value;

/// A struct of this type with the fields of a JSON object, the shipped value where the object has none.
macro_rules! read {
    ($config:expr, $type:ident { $($field:ident),* } $($given:ident)*) => {{
        let mut class = $type::default();
        $(class.$given = $given;)*
        $(set(&mut class.$field, &$config[stringify!($field)]);)*
        class
    }};
}

trait Field {
    fn read(value: &Value) -> Option<Self>
    where
        Self: Sized;
}

impl Field for f32 {
    fn read(value: &Value) -> Option<Self> {
        value.as_f64().map(|v| v as Self)
    }
}

impl Field for i32 {
    fn read(value: &Value) -> Option<Self> {
        value.as_i64().and_then(|v| v.try_into().ok())
    }
}

impl Field for bool {
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Field for Vec<f32> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(f32::read).collect()
    }
}

fn set<T: Field>(field: &mut T, value: &Value) {
    if let Some(value) = T::read(value) {
        *field = value;
    }
}

/// The class is known by the parameters it has.
pub fn class(config: &Value) -> Class {
    let has = |name: &str| config.get(name).is_some();
    let mut pulsed = read!(
        config,
        Pulsed {
            dw_min,
            dw_min_dtod,
            dw_min_dtod_log_normal,
            dw_min_std,
            up_down,
            up_down_dtod,
            w_max,
            w_max_dtod,
            w_min,
            w_min_dtod,
            corrupt_devices_prob,
            corrupt_devices_range,
            reset,
            reset_dtod,
            reset_std,
            lifetime,
            lifetime_dtod,
            diffusion,
            diffusion_dtod,
            enforce_consistency,
            perfect_bias
        }
    );
    set(&mut pulsed.drift_nu, &config["drift"]["nu"]);
    if has("piecewise_up") {
        Class::PiecewiseStep(
            read!(config, PiecewiseStep { piecewise_up, piecewise_down, write_noise_std, apply_write_noise_on_set } pulsed),
        )
    } else if has("pow_gamma") && has("reference_std") {
        Class::PowStepReference(read!(config, PowStepReference {
            pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, reference_mean, reference_std,
            subtract_symmetry_point, n_estimation_steps
        } pulsed))
    } else if has("pow_gamma") {
        Class::PowStep(read!(config, PowStep {
            pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, write_noise_std, apply_write_noise_on_set
        } pulsed))
    } else if has("A_up") {
        Class::ExpStep(read!(config, ExpStep {
            A_up, A_down, gamma_up, gamma_down, a, b, dw_min_std_add, dw_min_std_slope, write_noise_std,
            apply_write_noise_on_set
        } pulsed))
    } else if has("gamma_up") {
        Class::LinearStep(read!(config, LinearStep {
            gamma_up, gamma_down, gamma_up_dtod, gamma_down_dtod, allow_increasing, mean_bound_reference, mult_noise,
            write_noise_std, apply_write_noise_on_set, reverse_up, reverse_down, reverse_offset
        } pulsed))
    } else if has("p_max") {
        Class::SoftBoundsPmax(read!(config, SoftBoundsPmax {
            p_max, alpha, range_min, range_max, mult_noise, write_noise_std, apply_write_noise_on_set, reverse_up,
            reverse_down, reverse_offset
        } pulsed))
    } else if has("reference_std") {
        Class::SoftBoundsReference(read!(config, SoftBoundsReference {
            mult_noise, write_noise_std, apply_write_noise_on_set, slope_up_dtod, slope_down_dtod, reference_mean, reference_std,
            subtract_symmetry_point
        } pulsed))
    } else if has("mult_noise") {
        Class::SoftBounds(read!(config, SoftBounds {
            mult_noise, write_noise_std, apply_write_noise_on_set, reverse_up, reverse_down, reverse_offset
        } pulsed))
    } else {
        Class::ConstantStep(pulsed)
    }
}
