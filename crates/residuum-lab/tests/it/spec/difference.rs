//! Differences between two specs, one by one.

use residuum_lab::testing::spec::Node;

fn node(text: &str) -> Node {
    Node::parse(text).unwrap()
}

fn paths(a: &str, b: &str) -> Vec<String> {
    node(a).differences(&node(b)).iter().map(|d| d.path.join(".")).collect()
}

#[test]
fn fields_differ_one_by_one_and_named_tables_as_a_whole() {
    let a = "title = \"x\"\nseeds = 1\n[rule]\nkind = \"a\"\nrate = 1\n[device]\nresponse = \"p\"\nradius = 0.6\nn = { k = 1 }";
    let b = "title = \"y\"\nseeds = 2\n[rule]\nkind = \"b\"\nrate = 2\n[device]\nresponse = \"p\"\nradius = 0.7\nn = { k = 1 }\n\
             [readout]\nbits = 5\nnoise = 0.1";
    assert_eq!(paths(a, b), ["rule", "device.radius", "readout.bits", "readout.noise"]);
    assert!(paths(a, a).is_empty());
    // A table that names what it is about cannot be taken apart.
    assert_eq!(paths("", "[readout]\npreset = \"x\"\nbits = 5"), ["readout"]);
}

#[test]
fn every_difference_leads_from_one_document_to_the_other() {
    let a = node("steps = 5\nx = [1, 2.5, \"q\\\"\"]\n[device]\nresponse = \"p\"\nradius = 0.6\nold = true");
    let b = node("steps = 5\nx = [1]\n[device]\nresponse = \"p\"\nradius = 1e-9\n[readout]\nbits = 5");
    let differences = a.differences(&b);
    let mut c = a.clone();
    for d in &differences {
        c = c.with(&d.path, d.sides[1].as_ref());
    }
    assert!(c.differences(&b).is_empty());
    for d in &differences {
        c = c.with(&d.path, d.sides[0].as_ref());
    }
    assert_eq!(c.to_toml(), a.to_toml());
    assert!(node(&a.to_toml()).differences(&a).is_empty());
}

#[test]
fn trials_are_chosen_by_name() {
    let file = "x = { y = 1 }\n[[cell]]\nname = \"r\"\nx = { y = 2 }\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nz = 3";
    let trial = |name| node(file).trial(name, None);
    assert_eq!(trial(Some("r-b")).unwrap().to_toml(), "x = { y = 2 }\nz = 3\n");
    assert_eq!(trial(None).unwrap_err().to_string(), "trial must be one of r-a, r-b, got none");
    assert!(trial(Some("c")).is_err());
    assert_eq!(node("seeds = 1").trial(None, None).unwrap().to_toml(), "seeds = 1\n");
    let seeded =
        node("training = { seeds = 3, epochs = 2 }").with_seeds_of(&node("training = { seeds = [1, 2] }"));
    assert_eq!(seeded.to_toml(), "training = { seeds = [1, 2], epochs = 2 }\n");
}
