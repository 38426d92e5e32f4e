//! Networks as lists of layers, read from a spec, against PyTorch.

#[path = "../../../residuum-nn/tests/it/torch/mod.rs"]
mod torch;

use residuum::Key;
use residuum_lab::plan::{Work, plans};
use residuum_lab::spec::{Folders, NetworkSpec};
use residuum_nn::state::{Scope, Tensors};
use residuum_nn::{Layer, Network, Pass, SampleShape, Sgd, Tensor};
use serde_json::Value;
use torch::{Trained, batch, distance, fill, floats, from_torch, read, sizes, text};

/// Relative to the largest number of a quantity, in single precision.
const TOLERANCE: f32 = 1e-5;

/// The network of a list in JSON, through the reader of specs.
fn network_spec(layers: &Value) -> NetworkSpec {
    // A digital rule on any data: only the layers matter.
    let spec = serde_json::json!({ "layers": layers });
    NetworkSpec::from_value(&spec).unwrap()
}

fn built(case: &Value) -> Network {
    let shape = sizes(&case["input_shape"]);
    let input = match shape[..] {
        [_, c] => SampleShape::flat(c),
        [_, c, l] => SampleShape::image(1, l, c),
        [_, c, h, w] => SampleShape::image(h, w, c),
        _ => panic!("{shape:?}"),
    };
    let spec = network_spec(&case["options"]["layers"]);
    let mut network = spec.build(input, 1, &mut Trained(Sgd::new(1.0)), Key::new(0)).unwrap();
    fill(&mut network);
    network
}

fn values<'a>(state: &'a Tensors, name: &str) -> &'a [f32] {
    state[name].data.as_f32().unwrap_or_else(|| panic!("{name} is a counter"))
}

/// Every quantity of a case with its distance from what PyTorch says.
fn compare(case: &Value) -> Vec<(String, f32)> {
    let mut network = built(case);
    let (scale, shift) = (case["scale"].as_f64().unwrap() as f32, case["shift"].as_f64().unwrap() as f32);
    let name = text(&case["name"]);
    let input = batch(&format!("{name}.input"), &sizes(&case["input_shape"]), scale, shift);
    let errors = batch(&format!("{name}.errors"), &sizes(&case["output_shape"]), 1.0, 0.0);
    let (mut output, mut input_errors) = (Tensor::default(), Tensor::default());
    let pass = Pass::train(0, Key::new(1));
    let before = network.state(Scope::Network);
    let layers: &mut dyn Layer = network.layers_mut();
    layers.forward(&input, &mut output, pass);
    layers.backward(&input, &output, &errors, Some(&mut input_errors), pass).unwrap();
    let after = network.state(Scope::Network);
    let mut restored = before.clone();
    for name in case["buffers"].as_object().unwrap().keys() {
        restored.insert(name.as_str(), after[name].clone());
    }
    network.load(Scope::Network, &restored).unwrap();
    let evaluated = network.forward(&input, Pass::evaluate(Key::new(1))).clone();
    let as_ours = |field: &str, shape: &str| from_torch(&sizes(&case[shape]), &floats(&case[field]));
    let mut rows = vec![
        ("output".to_owned(), distance(output.values(), as_ours("output", "output_shape").values())),
        ("errors".to_owned(), distance(input_errors.values(), as_ours("input_errors", "input_shape").values())),
        ("evaluated".to_owned(), distance(evaluated.values(), as_ours("evaluated", "output_shape").values())),
    ];
    for (name, want) in case["gradients"].as_object().unwrap() {
        let pairs = values(&before, name).iter().zip(values(&after, name));
        let gradient: Vec<f32> = pairs.map(|(before, after)| before - after).collect();
        let want = floats(want);
        let size = want.iter().fold(0.0f32, |most, w| most.max(w.abs()));
        // A bias before a normalisation has gradient 0 but for rounding, to which nothing can be relative.
        let size = if size < TOLERANCE { size } else { 1.0 };
        rows.push((name.clone(), size * distance(&gradient, &want)));
    }
    rows
}

#[test]
fn lists_of_layers_agree_with_pytorch() {
    let cases = read("lists.json");
    let mut seen = 0;
    for case in cases["layers"].as_array().unwrap() {
        for (what, distance) in compare(case) {
            assert!(distance < TOLERANCE, "{} {what}: {distance}", case["name"]);
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn another_list_would_be_caught() {
    let cases = read("lists.json");
    let find =
        |name: &str| cases["layers"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap().clone();
    let worst = |case: &Value| compare(case).into_iter().map(|row| row.1).fold(0.0, f32::max);
    let mut dilated = find("list_conv_dilated");
    dilated["options"]["layers"][0]["padding"] = 1.into();
    dilated["options"]["layers"][0]["dilation"] = 1.into();
    assert!(worst(&dilated) > 1000.0 * TOLERANCE);
    let mut joined = find("list_add");
    joined["options"]["layers"][0]["branches"][1][1] = "tanh".into();
    assert!(worst(&joined) > 1000.0 * TOLERANCE);
    let mut norm = find("list_layer_norm_line");
    norm["options"]["layers"][0]["epsilon"] = 1e-5.into();
    assert!(worst(&norm) > 100.0 * TOLERANCE);
}

fn errors_of(layers: &str) -> String {
    let text = format!(
        "[network]\n{layers}\n[data]\nset = \"digits\"\n[rule]\nkind = \"digital\"\nlearning_rate = 0.1\n\
         [training]\nepochs = 1\nbatch_size = 10\n"
    );
    plans(&text, &Folders::new("."), None, "lists").unwrap_err().to_string()
}

#[test]
fn a_list_that_does_not_fit_is_refused_with_its_line() {
    for (layers, expected) in [
        (
            "layers = [\n\"flatten\",\n{ kind = \"linear\", outputs = 5 },\n{ kind = \"conv2d\", kernel = 3 },\n]",
            "line 5: network.layers: layer 2: a convolution must be given at least 3×3 positions",
        ),
        (
            "layers = [\n{ kind = \"linear\", outputs = 5 },\n\"relu\"]",
            "line 3: network.layers: layer 0: a linear layer must be given a vector: put a flatten before it",
        ),
        (
            "layers = [\"flatten\", { kind = \"linear\", outputs = 7 }]",
            "layer 1 must give 1×1×10, one value for each class, but gives 1×1×7",
        ),
        ("layers = [\"flatten\", \"linear\", \"relu\", \"linear\"]", "layer 1 must say its outputs"),
        ("layers = [\"flatten\", \"relu\"]", "must have a layer with weights"),
        ("layers = [\"flaten\"]", "network.layers[0].kind must be one of linear, conv2d"),
        (
            "layers = [{ kind = \"relu\", outputs = 3 }]",
            "network.layers[0].outputs has no effect with kind = \"relu\"",
        ),
        ("model = \"mlp\"\nlayers = [\"linear\"]", "network.layers must not stand beside model"),
        (
            "layers = [{ kind = \"conv2d\", outputs = 3, kernel = 3, groups = 2 }, \"flatten\", \"linear\"]",
            "channels and outputs (3) that 2 groups divide",
        ),
        (
            "layers = [{ kind = \"residual\", main = [{ kind = \"conv2d\", outputs = 3, kernel = 3 }] }, \"flatten\", \"linear\"]",
            "whose shortcut (8×8×1) meets its main path (6×6×3)",
        ),
        (
            "layers = [{ kind = \"linear\", name = \"a\", outputs = 3 }, { kind = \"linear\", name = \"a\" }]",
            "line 2: network.layers: layer",
        ),
        (
            "layers = [\"flatten\", { kind = \"max_pool\", kernel = 2, padding = 2 }, \"linear\"]",
            ".padding must be at most half the kernel of a pool",
        ),
    ] {
        let error = errors_of(layers);
        assert!(error.contains(expected), "{layers}\n{error}\n{expected}");
    }
}

#[test]
fn a_layer_says_whether_it_is_on_tiles() {
    let spec = |layers: &str| {
        format!(
            "[network]\nlayers = {layers}\n[data]\nset = \"digits\"\n[device]\npreset = \"idealized\"\n[rule]\nkind = \"analog\"\n\
             learning_rate = 0.1\n[training]\nepochs = 1\nbatch_size = 10\n"
        )
    };
    let on_tiles = |layers: &str| {
        let plans = plans(&spec(layers), &Folders::new("."), None, "lists").unwrap();
        let Work::Network(trial) = &plans[0].work else { panic!("a network") };
        let names = trial.network.model.layers(10).matrices();
        names.into_iter().filter(|name| trial.network.analog.includes(name)).collect::<Vec<_>>()
    };
    assert_eq!(
        on_tiles("[\"flatten\", { kind = \"linear\", outputs = 8, analog = false }, \"relu\", \"linear\"]"),
        ["3"]
    );
    assert_eq!(on_tiles("[\"flatten\", { kind = \"linear\", outputs = 8 }, \"relu\", \"linear\"]"), ["1", "3"]);
    let block = |analog: &str| {
        format!(
            "[{{ kind = \"residual\", name = \"b\", {analog} main = [{{ kind = \"conv2d\", name = \"c1\", outputs = 1, kernel = 3, padding = 1 }}, \
             {{ kind = \"conv2d\", name = \"c2\", outputs = 1, kernel = 3, padding = 1 }}] }}, \"flatten\", \"linear\"]"
        )
    };
    assert_eq!(on_tiles(&block("analog = \"c2\",")), ["b.c2", "2"]);
    assert_eq!(on_tiles(&block("analog = false,")), ["2"]);
    let error =
        plans(&spec(&block("analog = \"c3\",")), &Folders::new("."), None, "lists").unwrap_err().to_string();
    assert!(error.contains("analog = \"c3\" of layer b must match a layer with weights, got none"), "{error}");
}
