//! The built-in experiments.

/// A spec by name.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The word after `residuum run`.
    pub name: &'static str,
    /// The spec.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../experiments/", $name, ".toml")) }),*]
    };
}

/// Every experiment with networks in `experiments/`.
pub const CATALOGUE: &[Shipped] = shipped![
    "digits",
    "coarse-states",
    "wrong-references",
    "rule-presets",
    "symmetric-point",
    "mnist-fcn",
    "mnist-cnn",
    "mnist-table",
    "cifar10-resnet",
    "cifar100-resnet",
    "cifar10-pretrain",
    "cifar10-finetune",
    "cifar10-features",
    "cifar10-small",
    "ablation",
    "lenet5",
    "resnet-small",
];
