//! Private items that the tests of this crate need. No part of the API: anything here may change or go at any time.
//!
//! The tests are a program of their own (`tests/it`), so that the library is compiled once and not again for them.

/// Of `device_report`.
pub mod device_report {
    /// A number as the report writes it.
    pub fn number(x: f64) -> String {
        crate::device_report::number(x)
    }
}

/// Of `explain`.
pub mod explain {
    pub use crate::explain::report::{bytes, duration, short};
}

/// Of `report`.
pub mod report {
    pub use crate::report::layers::{BINS, Bins, pooled};
}

/// Of `reproduce`.
pub mod reproduce {
    pub use crate::reproduce::ablation::saturates;
    pub use crate::reproduce::calibration::{bound_pulses, law_pulses};
    pub use crate::reproduce::cifar::resnet_hours;
    pub use crate::reproduce::later::{lead, lead_verdict};
    pub use crate::reproduce::mnist::{cnn_verdict, drop_verdict};
    pub use crate::reproduce::networks::{NetworkPoints, Wanted, obtain};
    pub use crate::reproduce::verdict::{Measured, same_order, written};
    pub use crate::reproduce::weights::WeightHistogram;
}

/// Of `spec`.
pub mod spec {
    pub use crate::spec::aihwkit::device;
    pub use crate::spec::difference::Difference;
    pub use crate::spec::node::Node;
    pub use crate::spec::record::every;
}

/// Of `sweep`.
pub mod sweep {
    pub use crate::sweep::estimate::wall;
    pub use crate::sweep::network::{At, histogram_rows, layer_rows};
    pub use crate::sweep::trial::manifest_of;
}
