"""What the mathematics predicts: where Analog SGD ends, what Residual Learning leaves, which rates the theorem allows."""

from ._residuum import (
    coefficients,
    drift_zeros,
    gradient_magnitude,
    implicit_penalty,
    mean_drift,
    practical_rates,
    predict_drift,
    stationary_law,
    zero_shift_cycle,
)

__all__ = [
    "coefficients",
    "drift_zeros",
    "gradient_magnitude",
    "implicit_penalty",
    "mean_drift",
    "practical_rates",
    "predict_drift",
    "stationary_law",
    "zero_shift_cycle",
]
