//! Every layer and loss against PyTorch and against finite differences.

use super::torch;

use residuum::Key;
use residuum_nn::layer::{
    Activation, BatchNorm2d, Conv2d, Dropout, Flatten, Geometry, GlobalAvgPool, LinearLayer, LogSoftmax,
    Pool2d, Reduce, Residual, Sequential,
};
use residuum_nn::state::{Data, Scope, Tensors, export, import};
use residuum_nn::weights::Parameter;
use residuum_nn::{DigitalWeights, Layer, Loss, Pass, SampleShape, Sgd, Targets, Tensor, Weights};
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
    Box::new(DigitalWeights::new(rows, cols, vec![0.0; rows * cols], sgd()).unwrap())
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
        "linear" => Box::new(LinearLayer::new(weights(7, 12), has_bias.then(|| parameter(7)))),
        "conv" => {
            let kernel = sizes(&options["kernel"]);
            let [stride, padding] = ["stride", "padding"].map(|name| [number(name); 2]);
            let geometry = Geometry { height: kernel[0], width: kernel[1], stride, padding, dilation: [1; 2] };
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

fn values<'a>(state: &'a Tensors, name: &str) -> &'a [f32] {
    state[name].data.as_f32().unwrap_or_else(|| panic!("{name} is a counter"))
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
    for name in case["buffers"].as_object().unwrap().keys() {
        restored.insert(name.as_str(), after[name].clone());
    }
    import(layer.as_mut(), Scope::Network, &restored).unwrap();
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

/// What a layer's backward pass is compared with: d⟨errors, output⟩ along a direction of the input or of one parameter.
struct Slopes {
    what: String,
    numeric: f64,
    analytic: f64,
    bound: f64,
}

/// Central differences with step h against the backward pass. The difference errs by h²/6 times the third derivative along
/// the direction (of order one here, so a few h² of the gradient's size) and by rounding, ε · Σ|e y|/h.
fn slopes(layer: &mut dyn Layer, input: &Tensor, h: f32, pass: Pass) -> Vec<Slopes> {
    let start = export(layer, Scope::Network);
    let mut output = Tensor::default();
    layer.forward(input, &mut output, pass);
    let mut errors = output.clone();
    errors.values_mut().copy_from_slice(&uniform("errors", output.values().len()));
    let mut input_errors = Tensor::default();
    layer.backward(input, &output, &errors, Some(&mut input_errors), pass).unwrap();
    let after = export(layer, Scope::Network);

    let mut objective = |state: &Tensors, input: &Tensor| {
        import(layer, Scope::Network, state).unwrap();
        layer.forward(input, &mut output, pass);
        let terms = output.values().iter().zip(errors.values()).map(|(y, e)| f64::from(*y) * f64::from(*e));
        terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
    };
    let mut check = |what: &str, gradient: &[f32], moved: &dyn Fn(f32, &[f32]) -> (Tensors, Tensor)| {
        let direction = uniform(what, gradient.len());
        let [(up, size), (down, _)] = [h, -h].map(|step| {
            let (state, input) = moved(step, &direction);
            objective(&state, &input)
        });
        let numeric = (up - down) / (2.0 * f64::from(h));
        let analytic = gradient.iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let magnitude: f64 = gradient.iter().map(|g| f64::from(g.abs())).sum();
        let bound = 4.0 * f64::from(f32::EPSILON) * size / f64::from(h) + 4.0 * f64::from(h * h) * magnitude;
        Slopes { what: what.to_owned(), numeric, analytic, bound }
    };
    let shift = |values: &mut [f32], step: f32, direction: &[f32]| {
        values.iter_mut().zip(direction).for_each(|(v, d)| *v += step * d);
    };
    let mut rows = vec![check("input", input_errors.values(), &|step, direction| {
        let mut moved = input.clone();
        shift(moved.values_mut(), step, direction);
        (start.clone(), moved)
    })];
    for name in start.names().filter(|name| name.ends_with("weight") || name.ends_with("bias")) {
        let pairs = values(&start, name).iter().zip(values(&after, name));
        let gradient: Vec<f32> = pairs.map(|(before, after)| before - after).collect();
        rows.push(check(name, &gradient, &|step, direction| {
            let mut state = start.clone();
            if let Some(Data::F32(values)) = state.get_mut(name).map(|entry| &mut entry.data) {
                shift(values, step, direction);
            }
            (state, input.clone())
        }));
    }
    rows
}

/// Different numbers at least 2/n apart and 1/n from zero, so that a small step crosses no kink of ReLU or max.
fn spaced(shape: SampleShape, batch: usize) -> Tensor {
    let n = batch * shape.len();
    let key: Vec<f32> = uniform("order", n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| key[a].total_cmp(&key[b]));
    let mut values = vec![0.0; n];
    for (rank, index) in order.into_iter().enumerate() {
        values[index] = (2 * rank + 1) as f32 / n as f32 - 1.0;
    }
    Tensor::from_values(shape, values)
}

#[test]
fn backward_passes_are_derivatives() {
    let cases = read("layers.json");
    let pass = Pass::train(0, Key::new(1));
    let mut seen = 0;
    let mut examine = |name: &str, rows: Vec<Slopes>| {
        for Slopes { what, numeric, analytic, bound } in rows {
            assert!((numeric - analytic).abs() <= bound, "{name} {what}: {numeric} {analytic} ± {bound}");
            assert!(analytic.abs() > bound, "{name} {what}: a wrong sign would pass, {analytic} ± {bound}");
            seen += 1;
        }
    };
    for case in cases["layers"].as_array().unwrap() {
        let kind = text(&case["kind"]);
        let input = input(case);
        // The kinks inside a residual block cannot be kept apart; PyTorch's numbers and those of its parts cover it.
        if kind == "residual" {
            continue;
        }
        let (input, h) = if ["relu", "max_pool"].contains(&kind) {
            (spaced(input.shape(), input.batch()), 1.0 / 512.0)
        } else {
            (input, 1.0 / 128.0)
        };
        examine(text(&case["name"]), slopes(layer(case).as_mut(), &input, h, pass));
    }
    let input = batch("dropout", &[4, 30], 1.0, 0.0);
    examine("dropout", slopes(&mut Dropout::new(0.4).unwrap(), &input, 1.0 / 128.0, pass));
    assert!(seen > 35, "{seen}");
}

#[test]
fn dropout_keeps_its_share_and_sleeps_in_evaluation() {
    let n = 100_000;
    let (mut dropout, mut output) = (Dropout::new(0.3).unwrap(), Tensor::default());
    let ones = Tensor::from_values(SampleShape::flat(n), vec![1.0; n]);
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
            "mean_square" => {
                let scores = Tensor::from_values(SampleShape::flat(5), floats(&case["scores"]));
                let (targets, mut errors) = (floats(&case["targets"]), Tensor::default());
                let outcome = Loss::MeanSquare.evaluate(&scores, Targets::Values(&targets), Some(&mut errors));
                assert!((outcome.loss - case["loss"].as_f64().unwrap()).abs() < 1e-6);
                assert!(distance(errors.values(), &floats(&case["errors"])) < 1e-6);
                continue;
            }
            other => panic!("no loss {other}"),
        };
        let scores = Tensor::from_values(SampleShape::flat(5), floats(&case["scores"]));
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
