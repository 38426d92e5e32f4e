//! What `explain` says of the memory of a step, against what the layers are known to hold.

use std::path::Path;

use residuum_lab::explain::Explanation;
use residuum_lab::plan::plans;
use residuum_lab::spec::Folders;

fn activations(model: &str, batch: u64) -> u64 {
    let text = format!(
        r#"
        [network]
        model = "{model}"
        [data]
        set = "fashion-mnist-subset"
        [rule]
        kind = "digital"
        learning_rate = 0.1
        [training]
        epochs = 1
        batch_size = {batch}
        "#
    );
    let plans = plans(&text, &Folders::new("."), None, "memory").unwrap();
    Explanation::new(&plans, Path::new("."), 1).cost.unwrap().memory.activations
}

/// 784-256-128-10 with sigmoids: flatten, linear, sigmoid, linear, sigmoid, linear, log-softmax.
#[test]
fn of_the_fcn_by_hand() {
    let input = 784;
    let between_layers = 784 + 256 + 256 + 128 + 128 + 10;
    // Two tensors take turns: the largest errors are those on both sides of the first sigmoid.
    let errors = 256 + 256;
    let scores_and_their_errors = 2 * 10;
    let numbers = input + between_layers + errors + scores_and_their_errors;
    assert_eq!(activations("fcn", 10), 4 * 10 * numbers);
    assert_eq!(activations("fcn", 3), 4 * 3 * numbers);
}

/// Convolution, tanh, pool, twice; then tanh, flatten, 512-128-10 with a tanh, log-softmax.
#[test]
fn of_the_cnn_by_hand() {
    let input = 28 * 28;
    let (first, pooled) = (24 * 24 * 16, 12 * 12 * 16);
    let (second, features) = (8 * 8 * 32, 4 * 4 * 32);
    let between_layers = 2 * first + pooled + 2 * second + 3 * features + 2 * 128 + 10;
    // Windows of 5×5 over one channel, and over sixteen; nobody wants errors below the first.
    let unfolded = 24 * 24 * 25 + 2 * (8 * 8 * 25 * 16);
    let winners = pooled + features;
    let errors = 2 * first;
    let numbers = input + between_layers + unfolded + winners + errors + 2 * 10;
    assert_eq!(activations("cnn", 10), 4 * 10 * numbers);
    // Broken twin: sizes of layers with weights alone, as if a kernel were used once, are far too small.
    let weights_alone = 25 + 16 + 400 + 32 + 512 + 128 + 128 + 10;
    assert!(numbers > 40 * weights_alone);
}
