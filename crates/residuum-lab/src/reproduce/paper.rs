//! Every number that the paper prints in its experiments, with the label it stands under.

/// What a cell of a table holds, in per cent of the test images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Printed {
    /// Mean and standard deviation of three runs.
    Mean {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// A training that failed: less than this.
    Below(f64),
    /// A number without an error bar.
    Alone(f64),
}

/// Runs behind each mean.
pub const REPEATS: f64 = 3.0;

const fn mean(mean: f64, std: f64) -> Printed {
    Printed::Mean { mean, std }
}

/// What the table prints where a rule fails to train: less than 15 per cent.
pub const FAILED: Printed = Printed::Below(15.0);

/// Label of the table of the fully connected network.
pub const MNIST_LABEL: &str = "table:MNIST-pow-and-exp";
/// Its digital baseline, one for all cells.
pub const MNIST_DIGITAL: Printed = mean(98.17, 0.05);

/// A row of the table of the fully connected network under one response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MnistCell {
    /// `power` or `exponential`.
    pub response: &'static str,
    /// γ_res.
    pub shape: f64,
    /// τ.
    pub radius: f64,
    /// Analog SGD.
    pub analog: Printed,
    /// Residual Learning.
    pub residual: Printed,
}

const fn power(shape: f64, radius: f64, analog: Printed, residual: Printed) -> MnistCell {
    MnistCell { response: "power", shape, radius, analog, residual }
}

const fn exponential(shape: f64, radius: f64, analog: Printed, residual: Printed) -> MnistCell {
    MnistCell { response: "exponential", shape, radius, analog, residual }
}

/// `table:MNIST-pow-and-exp`.
pub const MNIST: [MnistCell; 18] = [
    power(0.5, 0.6, mean(96.01, 0.26), mean(96.92, 0.19)),
    power(0.5, 0.7, mean(97.40, 0.15), mean(97.05, 0.05)),
    power(0.5, 0.8, mean(97.38, 0.10), mean(96.82, 0.17)),
    power(1.0, 0.6, FAILED, mean(97.39, 0.05)),
    power(1.0, 0.7, FAILED, mean(97.33, 0.05)),
    power(1.0, 0.8, FAILED, mean(97.34, 0.09)),
    power(2.0, 0.6, FAILED, mean(96.93, 0.15)),
    power(2.0, 0.7, FAILED, mean(97.27, 0.02)),
    power(2.0, 0.8, FAILED, mean(97.18, 0.04)),
    exponential(0.5, 0.6, FAILED, mean(97.27, 0.07)),
    exponential(0.5, 0.7, FAILED, mean(97.39, 0.15)),
    exponential(0.5, 0.8, mean(94.00, 0.63), mean(97.16, 0.16)),
    exponential(1.0, 0.6, FAILED, mean(97.46, 0.08)),
    exponential(1.0, 0.7, FAILED, mean(97.49, 0.04)),
    exponential(1.0, 0.8, FAILED, mean(97.25, 0.16)),
    exponential(2.0, 0.6, FAILED, mean(97.19, 0.16)),
    exponential(2.0, 0.7, FAILED, mean(97.72, 0.07)),
    exponential(2.0, 0.8, FAILED, mean(97.06, 0.10)),
];

/// One data set and network of the tables of fine-tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CifarCell {
    /// `cifar10` or `cifar100`.
    pub set: &'static str,
    /// `resnet18`, `resnet34` or `resnet50`.
    pub network: &'static str,
    /// Digital SGD.
    pub digital: Printed,
    /// Analog SGD.
    pub analog: Printed,
    /// Residual Learning.
    pub residual: Printed,
}

const fn cifar(
    set: &'static str,
    network: &'static str,
    [digital, analog, residual]: [Printed; 3],
) -> CifarCell {
    CifarCell { set, network, digital, analog, residual }
}

/// Label of the table of the power response.
pub const CIFAR_POWER_LABEL: &str = "table:CIFAR-fine-tune-pow";
/// `table:CIFAR-fine-tune-pow`.
pub const CIFAR_POWER: [CifarCell; 6] = [
    cifar("cifar10", "resnet18", [mean(95.43, 0.13), mean(84.47, 3.40), mean(94.81, 0.09)]),
    cifar("cifar10", "resnet34", [mean(96.48, 0.02), mean(95.43, 0.12), mean(96.29, 0.12)]),
    cifar("cifar10", "resnet50", [mean(96.57, 0.10), mean(94.36, 1.16), mean(96.34, 0.04)]),
    cifar("cifar100", "resnet18", [mean(81.12, 0.25), mean(68.98, 1.01), mean(76.17, 0.23)]),
    cifar("cifar100", "resnet34", [mean(83.86, 0.12), mean(78.98, 0.55), mean(80.58, 0.11)]),
    cifar("cifar100", "resnet50", [mean(83.98, 0.11), mean(79.88, 1.26), mean(80.80, 0.22)]),
];

/// Label of the table of the exponential response.
pub const CIFAR_EXPONENTIAL_LABEL: &str = "table:CIFAR-fine-tune-exp";
/// `table:CIFAR-fine-tune-exp`.
pub const CIFAR_EXPONENTIAL: [CifarCell; 6] = [
    cifar("cifar10", "resnet18", [mean(95.43, 0.13), mean(94.66, 0.11), mean(94.70, 0.07)]),
    cifar("cifar10", "resnet34", [mean(96.48, 0.02), mean(96.19, 0.04), mean(96.24, 0.08)]),
    cifar("cifar10", "resnet50", [mean(96.57, 0.10), mean(96.53, 0.06), mean(96.40, 0.13)]),
    cifar("cifar100", "resnet18", [mean(81.12, 0.25), mean(73.55, 0.22), mean(74.64, 0.24)]),
    cifar("cifar100", "resnet34", [mean(83.86, 0.12), mean(78.10, 0.24), mean(79.05, 0.21)]),
    cifar("cifar100", "resnet50", [mean(83.98, 0.11), mean(81.40, 0.36), mean(79.75, 0.10)]),
];

/// A rule in a table of a later paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Its name in our spec.
    pub variant: &'static str,
    /// The rule, and the network that the number is of.
    pub title: &'static str,
    /// What is printed.
    pub accuracy: Printed,
}

const fn reported(variant: &'static str, title: &'static str, accuracy: f64) -> Reported {
    Reported { variant, title, accuracy: Printed::Alone(accuracy) }
}

/// Where the table of multi-tile Residual Learning stands.
pub const COARSE_LABEL: &str = "arXiv:2510.02516";
/// LeNet on MNIST, devices with ten states, six arrays.
pub const COARSE: [Reported; 4] = [
    reported("tiki-taka-1", "Tiki-Taka 1", 78.7),
    reported("tiki-taka-2", "Tiki-Taka 2", 95.4),
    reported("mixed-precision", "Mixed precision", 99.1),
    reported("multi-tile", "Multi-tile Residual Learning", 98.5),
];
/// Where the table of E-RIDER stands.
pub const REFERENCES_LABEL: &str = "arXiv:2602.21321";
/// FCN on MNIST, references off by mean = deviation = 0.4, four to five states.
pub const REFERENCES: [Reported; 3] = [
    reported("tiki-taka-2", "Tiki-Taka 2", 67.9),
    reported("agad", "AGAD", 92.1),
    reported("e-rider", "E-RIDER", 96.2),
];

/// Label of the accuracy curves; the plots hold no numbers, the text says the two below.
pub const MNIST_CURVES_LABEL: &str = "figure:FCN-CNN-MNIST";
/// Points of accuracy that Residual Learning stays below Digital SGD, at most, for both architectures.
pub const MNIST_DROP: f64 = 1.0;
/// Where Analog SGD ends on the convolutional network: "about" this, without an error bar.
pub const CNN_ANALOG: f64 = 80.0;

/// Label of the ablation of the mixing coefficient; it prints no numbers.
pub const ABLATION_LABEL: &str = "figure:gamma-ablation";
/// Label of the weight distributions; it prints no numbers.
pub const WEIGHTS_LABEL: &str = "figure:verification-implicit-bias";
/// Label of the table of bounds; its entries are rates, see `table-bounds`.
pub const BOUNDS_LABEL: &str = "table:mu-sc-classical-bounds";

impl Printed {
    /// As the paper prints it.
    pub fn words(self) -> String {
        match self {
            Self::Mean { mean, std } => format!("{mean:.2} ± {std:.2}"),
            Self::Below(limit) => format!("< {limit:.2}"),
            Self::Alone(value) => format!("{value:.1}"),
        }
    }

    /// A number to put in order: the mean, or the limit that was not reached.
    pub fn level(self) -> f64 {
        match self {
            Self::Mean { mean, .. } => mean,
            Self::Below(level) | Self::Alone(level) => level,
        }
    }

    /// Standard error of the mean.
    pub fn standard_error(self) -> Option<f64> {
        match self {
            Self::Mean { std, .. } => Some(std / REPEATS.sqrt()),
            Self::Below(_) | Self::Alone(_) => None,
        }
    }
}
