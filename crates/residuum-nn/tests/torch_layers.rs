//! Every layer and loss against PyTorch and against finite differences.
#![allow(clippy::unwrap_used)]

mod torch;

use residuum::Key;
use residuum_nn::layer::{
    Activation, BatchNorm2d, Conv2d, Dropout, Flatten, Geometry, GlobalAvgPool, Linear, LogSoftmax, Pool2d,
    Reduce, Residual, Sequential,
};
use residuum_nn::state::{Scope, State, Values, export};
use residuum_nn::weights::Parameter;
use residuum_nn::{Digital, Layer, Loss, Pass, Sgd, Shape, Tensor, Weights};
use serde_json::Value;
use torch::{batch, distance, fill, floats, from_torch, read, sizes, text, uniform};

/// A rate so that a step is the gradient: `w − w' = g`, up to the rounding of w.
const UNIT: f64 = 1.0;
/// Sums of at most a few hundred products of numbers of order one, in another order than PyTorch's.
const TOLERANCE: f32 = 2e-6;

fn sgd() -> Option<Sgd> {
    Some(Sgd::new(UNIT))
}

fn weights(rows: usize, cols: usize) -> Box<dyn Weights> {
    Box::new(Digital::new(rows, cols, vec![0.0; rows * cols], sgd()).unwrap())
}

fn parameter(n: usize) -> Parameter {
    Parameter::new(vec![0.0; n], sgd())
}

fn conv(inputs: usize, outputs: usize, geometry: Geometry, bias: bool) -> Conv2d {
    let cols = geometry.height * geometry.width * inputs;
    Conv2d::new(weights(outputs, cols), bias.then(|| parameter(outputs)), inputs, geometry)
}

fn norm(channels: usize, epsilon: f32) -> BatchNorm2d {
    BatchNorm2d::new(parameter(channels), parameter(channels), epsilon, BatchNorm2d::MOMENTUM)
}

fn residual(inputs: usize, outputs: usize, stride: usize) -> Residual {
    let main = Sequential::new()
        .with("conv1", conv(inputs, outputs, Geometry::square(3, stride, 1), false))
        .with("bn1", norm(outputs, 1e-5))
        .with("relu", Activation::Relu)
        .with("conv2", conv(outputs, outputs, Geometry::square(3, 1, 1), false))
        .with("bn2", norm(outputs, 1e-5));
    let downsample = (stride != 1 || inputs != outputs).then(|| {
        Sequential::new()
            .with("0", conv(inputs, outputs, Geometry::square(1, stride, 0), false))
            .with("1", norm(outputs, 1e-5))
    });
    Residual::new(main, downsample)
}

fn layer(case: &Value) -> Box<dyn Layer> {
    let options = &case["options"];
    let number = |name: &str| options[name].as_u64().unwrap() as usize;
    let has_bias = case["gradients"].get("bias").is_some();
    let pool = |reduce| {
        Box::new(Pool2d::new(reduce, Geometry::square(number("kernel"), number("stride"), number("padding"))))
    };
    let mut layer: Box<dyn Layer> = match text(&case["kind"]) {
        "linear" => Box::new(Linear::new(weights(7, 12), has_bias.then(|| parameter(7)))),
        "conv" => {
            let kernel = sizes(&options["kernel"]);
            let (stride, padding) = (number("stride"), number("padding"));
            let geometry = Geometry { height: kernel[0], width: kernel[1], stride, padding };
            Box::new(conv(4, 5, geometry, has_bias))
        }
        "norm" => Box::new(norm(4, options["epsilon"].as_f64().map_or(BatchNorm2d::EPSILON, |e| e as f32))),
        "relu" => Box::new(Activation::Relu),
        "sigmoid" => Box::new(Activation::Sigmoid),
        "tanh" => Box::new(Activation::Tanh),
        "log_softmax" => Box::new(LogSoftmax),
        "max_pool" => pool(Reduce::Max),
        "avg_pool" => pool(Reduce::Average),
        "global_pool" => Box::new(GlobalAvgPool),
        "flatten" => Box::new(Flatten),
        "residual" => Box::new(residual(4, number("outputs"), number("stride"))),
        other => panic!("no layer {other}"),
    };
    fill(layer.as_mut());
    layer
}

fn input(case: &Value) -> Tensor {
    let (scale, shift) = (case["scale"].as_f64().unwrap() as f32, case["shift"].as_f64().unwrap() as f32);
    batch(&format!("{}.input", text(&case["name"])), &sizes(&case["input_shape"]), scale, shift)
}

fn errors(case: &Value) -> Tensor {
    batch(&format!("{}.errors", text(&case["name"])), &sizes(&case["output_shape"]), 1.0, 0.0)
}

fn values<'a>(state: &'a State, name: &str) -> &'a [f32] {
    match &state[name].values {
        Values::F32(values) => values,
        Values::U64(_) => panic!("{name} is a counter"),
    }
}

/// Runs one case and gives every quantity with what PyTorch says it is.
fn compare(case: &Value) -> Vec<(String, f32)> {
    let mut layer = layer(case);
    let (input, errors) = (input(case), errors(case));
    let (mut output, mut input_errors) = (Tensor::default(), Tensor::default());
    let pass = Pass::train(0, Key::new(1));
    let before = export(layer.as_mut(), Scope::Network);
    layer.forward(&input, &mut output, pass);
    assert_eq!(output.shape(), layer.output_shape(input.shape()).unwrap());
    layer.backward(&input, &output, &errors, Some(&mut input_errors), pass).unwrap();
    let after = export(layer.as_mut(), Scope::Network);
    // Put the parameters back, keep the statistics: evaluation in PyTorch came before any step.
    let mut restored = before.clone();
    restored
        .extend(case["buffers"].as_object().unwrap().keys().map(|name| (name.clone(), after[name].clone())));
    residuum_nn::state::import(layer.as_mut(), Scope::Network, &restored).unwrap();
    let mut evaluated = Tensor::default();
    layer.forward(&input, &mut evaluated, Pass::evaluate(Key::new(1)));

    let as_ours = |field: &str, shape: &str| from_torch(&sizes(&case[shape]), &floats(&case[field]));
    let mut rows = vec![
        ("output".to_owned(), distance(output.values(), as_ours("output", "output_shape").values())),
        (
            "input errors".to_owned(),
            distance(input_errors.values(), as_ours("input_errors", "input_shape").values()),
        ),
        ("evaluated".to_owned(), distance(evaluated.values(), as_ours("evaluated", "output_shape").values())),
    ];
    for (name, want) in case["gradients"].as_object().unwrap() {
        let pairs = values(&before, name).iter().zip(values(&after, name));
        let gradient: Vec<f32> = pairs.map(|(before, after)| before - after).collect();
        rows.push((name.clone(), distance(&gradient, &floats(want))));
    }
    for (name, want) in case["buffers"].as_object().unwrap() {
        rows.push((name.clone(), distance(values(&after, name), &floats(want))));
    }
    rows
}

#[test]
fn layers_agree_with_pytorch() {
    let cases = read("layers.json");
    let mut seen = 0;
    for case in cases["layers"].as_array().unwrap() {
        for (what, distance) in compare(case) {
            assert!(distance < TOLERANCE, "{} {what}: {distance}", case["name"]);
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn another_layer_would_be_caught() {
    let cases = read("layers.json");
    let find =
        |name: &str| cases["layers"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap().clone();
    let worst = |case: &Value| compare(case).into_iter().map(|row| row.1).fold(0.0, f32::max);
    let mut epsilon = find("norm_epsilon");
    epsilon["options"]["epsilon"] = 1e-5.into();
    assert!(worst(&epsilon) > 100.0 * TOLERANCE);
    let mut tanh = find("tanh");
    tanh["kind"] = "sigmoid".into();
    assert!(worst(&tanh) > 1000.0 * TOLERANCE);
    let mut pool = find("max_pool_2");
    pool["kind"] = "avg_pool".into();
    assert!(worst(&pool) > 1000.0 * TOLERANCE);
}

/// d⟨errors, output⟩/d(input along `direction`) by central differences, and as the backward pass says.
///
/// With step h the difference errs by h²/6 · f''' and by the rounding ε·Σ|e y|/h; h = 2⁻⁷ balances them for functions
/// whose derivatives are of order one.
fn slopes(layer: &mut dyn Layer, input: &Tensor, pass: Pass) -> (f64, f64, f64) {
    const H: f32 = 1.0 / 128.0;
    let direction = uniform("direction", input.values().len());
    let mut output = Tensor::default();
    layer.forward(input, &mut output, pass);
    let mut errors = output.clone();
    errors.values_mut().copy_from_slice(&uniform("errors", output.values().len()));
    let mut objective = |sign: f32| {
        let mut moved = input.clone();
        moved.values_mut().iter_mut().zip(&direction).for_each(|(x, d)| *x += sign * H * d);
        layer.forward(&moved, &mut output, pass);
        let terms = output.values().iter().zip(errors.values()).map(|(y, e)| f64::from(*y) * f64::from(*e));
        terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
    };
    let ((up, size), (down, _)) = (objective(1.0), objective(-1.0));
    let numeric = (up - down) / (2.0 * f64::from(H));
    layer.forward(input, &mut output, pass);
    let mut input_errors = Tensor::default();
    layer.backward(input, &output, &errors, Some(&mut input_errors), pass).unwrap();
    let analytic: f64 =
        input_errors.values().iter().zip(&direction).map(|(e, d)| f64::from(*e) * f64::from(*d)).sum();
    let magnitude: f64 = input_errors.values().iter().map(|e| f64::from(e.abs())).sum();
    let bound = 4.0 * f64::from(f32::EPSILON) * size / f64::from(H) + 4.0 * f64::from(H * H) * magnitude;
    (numeric, analytic, bound)
}

#[test]
fn backward_passes_are_derivatives() {
    let cases = read("layers.json");
    for case in cases["layers"].as_array().unwrap() {
        // Kinks closer than the step are no derivative: ReLU and max have them, and PyTorch's numbers cover those.
        if ["relu", "max_pool", "residual"].contains(&text(&case["kind"])) {
            continue;
        }
        let (numeric, analytic, bound) =
            slopes(layer(case).as_mut(), &input(case), Pass::train(0, Key::new(1)));
        assert!((numeric - analytic).abs() <= bound, "{}: {numeric} {analytic} ± {bound}", case["name"]);
        assert!((numeric + analytic).abs() > bound || analytic.abs() < bound, "the bound sees a wrong sign");
    }
    let mut dropout = Dropout::new(0.4).unwrap();
    let input = batch("dropout", &[4, 30], 1.0, 0.0);
    let (numeric, analytic, bound) = slopes(&mut dropout, &input, Pass::train(3, Key::new(1)));
    assert!((numeric - analytic).abs() <= bound, "dropout: {numeric} {analytic} ± {bound}");
}

#[test]
fn dropout_keeps_its_share_and_sleeps_in_evaluation() {
    let n = 100_000;
    let (mut dropout, mut output) = (Dropout::new(0.3).unwrap(), Tensor::default());
    let ones = Tensor::from_values(Shape::flat(n), vec![1.0; n]);
    dropout.forward(&ones, &mut output, Pass::train(0, Key::new(5)));
    let dropped = output.values().iter().filter(|v| **v == 0.0).count() as f64;
    let deviation = (n as f64 * 0.3 * 0.7).sqrt();
    assert!((dropped - 0.3 * n as f64).abs() < residuum::stats::Z * deviation, "{dropped}");
    assert!((dropped - 0.5 * n as f64).abs() > residuum::stats::Z * deviation, "the test has no power");
    assert!(output.values().iter().all(|v| *v == 0.0 || *v == 1.0 / 0.7));
    let first = output.clone();
    dropout.forward(&ones, &mut output, Pass::train(1, Key::new(5)));
    assert_ne!(first, output, "another step drops others");
    dropout.forward(&ones, &mut output, Pass::evaluate(Key::new(5)));
    assert_eq!(output, ones);
    assert!(Dropout::new(1.0).is_err());
}

#[test]
fn losses_agree_with_pytorch() {
    let cases = read("layers.json");
    for case in cases["losses"].as_array().unwrap() {
        let loss = match text(&case["name"]) {
            "nll" => Loss::NegativeLogLikelihood,
            "cross_entropy" => Loss::CrossEntropy { smoothing: 0.0 },
            "smoothed" => Loss::CrossEntropy { smoothing: 0.1 },
            other => panic!("no loss {other}"),
        };
        let scores = Tensor::from_values(Shape::flat(5), floats(&case["scores"]));
        let labels: Vec<u32> = sizes(&case["labels"]).into_iter().map(|l| l as u32).collect();
        let mut errors = Tensor::default();
        let outcome = loss.evaluate(&scores, &labels, Some(&mut errors));
        assert!((outcome.loss - case["loss"].as_f64().unwrap()).abs() < 1e-6, "{}", case["name"]);
        assert!(distance(errors.values(), &floats(&case["errors"])) < 1e-6, "{}", case["name"]);
        let rotated: Vec<u32> = labels.iter().map(|l| (l + 1) % 5).collect();
        assert!((loss.evaluate(&scores, &rotated, None).loss - outcome.loss).abs() > 1e-3);
    }
    assert!(Loss::CrossEntropy { smoothing: 1.5 }.validate().is_err());
}
