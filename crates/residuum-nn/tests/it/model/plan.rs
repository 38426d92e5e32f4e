//! What a network will be, before it is built.

use residuum::Key;
use residuum_nn::SampleShape;
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, PlannedMatrix, Planner, ResNet, mlp, resnet};

#[test]
fn a_plan_has_the_layers_of_the_network() {
    let (model, image, key) = (ResNet::resnet18(10), SampleShape::image(32, 32, 3), Key::new(1));
    let mut plan = Planner::default();
    resnet(model, image, &mut plan, key).unwrap();
    let mut built = Vec::new();
    let mut network = resnet(model, image, &mut DigitalFactory(None), key).unwrap();
    network.visit_weights(&mut |layer, weights| {
        built.push(PlannedMatrix { layer: layer.into(), rows: weights.rows(), cols: weights.cols() });
    });
    assert_eq!(plan.matrices.len(), built.len());
    assert!(built.iter().all(|matrix| plan.matrices.contains(matrix)));
    assert!(plan.layers().contains(&"layer1.0.bn1") && plan.layers().contains(&"fc"));
}

#[test]
fn layers_that_fill_the_memory_are_refused_before_they_do() {
    for hidden in [1_000_000_000_000, usize::MAX / 2] {
        let sizes = [64, hidden, hidden, 10];
        let refused =
            mlp(SampleShape::image(8, 8, 1), &sizes, Activation::Tanh, &mut Planner::default(), Key::new(1));
        let message = refused.unwrap_err().to_string();
        assert!(message.starts_with("1: ") && message.contains("at most 1000000000"), "{message}");
    }
}
