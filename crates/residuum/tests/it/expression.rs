//! Expressions: values, derivatives, errors.

mod error;

use std::f64::consts::{E, PI};

use proptest::prelude::*;
use residuum::expression::{Expression, MAX_LENGTH};
use residuum::numeric::erf;

fn parse(text: &str) -> Expression {
    Expression::parse(text, &["w", "i"]).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(text: &str) -> String {
    Expression::parse(text, &["w"]).expect_err(text).to_string()
}

#[test]
fn formulas_have_the_values_of_the_standard_library() {
    let w = 0.37f64;
    let i = 5.0f64;
    let table = [
        ("1 + 2*3 - 4/8", 6.5),
        ("-w^2", -(w * w)),
        ("(-w)^2", w * w),
        ("2^3^2", 512.0),
        ("2**-1", 0.5),
        ("--w", w),
        ("2*-w", -2.0 * w),
        ("10 - 4 - 3", 3.0),
        ("16/4/2", 2.0),
        (".5 + 1e-3 + 2.E2", 200.501),
        ("pi*e", PI * E),
        ("phi", (5f64.sqrt() - 1.0) / 2.0),
        ("w^0.5", w.sqrt()),
        ("w^3", w * w * w),
        ("w^-2", 1.0 / (w * w)),
        ("w^2.5", w.powf(2.5)),
        ("i^w", i.powf(w)),
        ("(-2)^i", -32.0),
        ("w^100", w.powf(100.0)),
        ("pow(w, i)", w.powi(5)),
        ("exp(w)", w.exp()),
        ("ln(w)", w.ln()),
        ("log10(w)", w.log10()),
        ("sqrt(w)", w.sqrt()),
        ("abs(-w)", w),
        ("sign(-w) + 10*sign(0) + 100*sign(i)", 99.0),
        ("sin(w) + cos(i)", w.sin() + i.cos()),
        ("tan(w)", w.tan()),
        ("tanh(w)", w.tanh()),
        ("sinh(w)", w.sinh()),
        ("cosh(w)", w.cosh()),
        ("artanh(w) - atanh(w)", 0.0),
        ("artanh(w)", w.atanh()),
        ("arctan(i) - atan(i)", 0.0),
        ("arctan(i)", i.atan()),
        ("erf(w)", erf(w)),
        ("floor(-w) + 10*ceil(w)", 9.0),
        ("frac(-0.25)", 0.75),
        ("mod(-1, i)", 4.0),
        ("mod(1, -i)", -4.0),
        ("mod(12, i)", 2.0),
        ("min(w, i) + max(w, i)", w + i),
        ("clamp(i, 0, 1) + clamp(-i, 0, 1) + clamp(w, 0, 1)", 1.0 + w),
        ("step(-1e-9) + 10*step(0) + 100*step(w)", 110.0),
        ("if(w < 0.5, 2, 3)", 2.0),
        ("if(w >= 0.5, ln(-1), 3)", 3.0),
        ("(i == 5) + 2*(i != 5) + 4*(i <= 5) + 8*(i > 5)", 5.0),
        ("w < 1", 1.0),
    ];
    for (text, expected) in table {
        let value = parse(text).eval(&[w, i]);
        assert!(
            (value - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
            "{text}: {value} not {expected}"
        );
    }
}

#[test]
fn broken_arguments_stay_visible() {
    for text in ["ln(-1)", "0/0", "min(w, ln(-1))", "max(ln(-1), w)", "clamp(ln(-1), 0, 1)", "if(ln(-1), 1, 2)"]
    {
        assert!(parse(text).eval(&[0.5, 0.0]).is_nan(), "{text}");
    }
    assert_eq!(parse("1/w").eval(&[0.0, 0.0]), f64::INFINITY);
}

#[test]
fn derivatives_agree_with_central_differences() {
    let formulas = [
        "3",
        "w",
        "i",
        "w^2",
        "w^3 - 2*w + i",
        "-w^2",
        "(1 - w/4)^1.5",
        "w^0.5",
        "1/w",
        "w/(1 + w)",
        "(w + i)/(w - 3)",
        "2^w",
        "w^w",
        "w^i",
        "i^w",
        "pow(w, 3)",
        "exp(-w^2/2)",
        "ln(1 + w)",
        "log10(w)",
        "sqrt(1 + w^2)",
        "abs(w - 1)",
        "sign(w)*w",
        "sin(3*w)*cos(w)",
        "tan(w/2)",
        "tanh(2*w)",
        "sinh(w)",
        "cosh(w*i)",
        "artanh(w/4)",
        "arctan(3*w)",
        "erf(2*w - 1)",
        "floor(w)*w",
        "ceil(w)*w^2",
        "frac(3*w)",
        "step(w - 1)*w^2",
        "mod(5*w, 1)",
        "mod(7, 1 + w)",
        "min(w, w^2)",
        "max(sin(w), cos(w))",
        "clamp(2*w, 0.5, 3)",
        "clamp(w^2, w/2, 1)",
        "if(w < 1, w^2, 2*w - 1)",
        "if((w > 0.5)*(w < 2), exp(w), i)",
        "(w < 1)*w",
        "exp(tanh(w^2)/(1 + erf(w)))",
    ];
    for text in formulas {
        let formula = parse(text);
        let derivative = formula.derivative("w");
        for w in [0.123, 0.456, 0.789, 1.31, 1.77, 2.23] {
            let h = 1e-5;
            let at = |w: f64| formula.eval(&[w, 1.7]);
            let expected = (at(w + h) - at(w - h)) / (2.0 * h);
            let got = derivative.eval(&[w, 1.7]);
            assert!(
                (got - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                "{text} at {w}: {got} not {expected} by {derivative}"
            );
        }
    }
}

#[test]
fn derivatives_are_simplified_and_written_plainly() {
    let table = [
        ("3*w + 1", "3"),
        ("i", "0"),
        ("-w", "-1"),
        ("w^2", "2 * w"),
        ("w^3", "3 * w^2"),
        ("2*(3*w^2)", "12 * w"),
        ("1 - w/2", "-0.5"),
        ("exp(w)", "exp(w)"),
        ("cos(w)", "-sin(w)"),
        ("w*i", "i"),
        ("floor(w)", "0"),
        ("abs(w)", "sign(w)"),
        ("max(w, 0)", "if(w > 0, 1, 0)"),
        ("if(w < 0, w, w)", "1"),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text).derivative("w").to_string(), expected, "{text}");
    }
}

#[test]
fn constants_fold_and_display_is_sparing_with_parentheses() {
    let table = [
        ("2*3*w", "6 * w"),
        ("(w + 1) + (i + 2)", "w + 1 + (i + 2)"),
        ("(w - 1) - (i - 2)", "w - 1 - (i - 2)"),
        ("(w*2)/(i/3)", "w * 2 / (i / 3)"),
        ("(-2)^w", "(-2)^w"),
        ("-2^w", "-2^w"),
        ("w^-2", "w^-2"),
        ("w^(i^2)", "w^(i^2)"),
        ("(w^i)^2", "(w^i)^2"),
        ("pow(w, 2)", "w^2"),
        ("atan(w)", "arctan(w)"),
        ("(w < 1) * 2", "(w < 1) * 2"),
        ("if(1 < 2, w, i)", "w"),
        ("1e300*w + 1e-7", "1e300 * w + 1e-7"),
        ("1/0", "1 / 0"),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text).to_string(), expected, "{text}");
    }
    assert_eq!(parse("2 + sin(0)").constant(), Some(2.0));
    assert_eq!(parse("0*w").constant(), None);
}

#[test]
fn errors_say_what_where_and_what_instead() {
    let known = "w, pi, e, phi, exp, ln, log10, sqrt, abs, sign, sin, cos, tan, tanh, sinh, cosh, artanh, arctan, erf, \
                 floor, ceil, frac, step, mod, min, max, pow, clamp, if";
    let table = [
        ("(1 - w/tau)", format!("unknown name \"tau\" at column 8 (known: {known})")),
        ("tahn(w)", format!("unknown name \"tahn\" at column 1, did you mean \"tanh\"? (known: {known})")),
        ("1 + W", format!("unknown name \"W\" at column 5, did you mean \"w\"? (known: {known})")),
    ];
    for (text, expected) in table {
        assert_eq!(message(text), expected);
    }
    let value = "expected a number, a name or a parenthesis";
    let table = [
        ("", "formula must not be empty".to_string()),
        (" \t", "formula must not be empty".to_string()),
        ("(w", "parenthesis at column 1 is never closed".to_string()),
        ("2*sin(w", "parenthesis at column 6 is never closed".to_string()),
        ("w)", "parenthesis at column 2 closes nothing".to_string()),
        ("()", format!("unexpected \")\" at column 2, {value}")),
        ("2w", "unexpected \"w\" at column 2, expected an operator".to_string()),
        ("1.2.3", "unexpected \".3\" at column 4, expected an operator".to_string()),
        ("2e", "unexpected \"e\" at column 2, expected an operator".to_string()),
        ("w $ 1", "unexpected \"$\" at column 3, expected an operator".to_string()),
        ("(w, 1)", "unexpected \",\" at column 3, expected an operator or \")\"".to_string()),
        ("min(w 1)", "unexpected \"1\" at column 7, expected an operator, \",\" or \")\"".to_string()),
        ("w + ", format!("formula ends at column 4, {value}")),
        ("w * / 2", format!("unexpected \"/\" at column 5, {value}")),
        ("mod(w)", "function \"mod\" at column 1 must have 2 argument(s), got 1".to_string()),
        ("1 + sin()", "function \"sin\" at column 5 must have 1 argument(s), got 0".to_string()),
        ("if(w, 1)", "function \"if\" at column 1 must have 3 argument(s), got 2".to_string()),
        ("sin w", "function \"sin\" at column 1 must be followed by its arguments in parentheses".to_string()),
        ("w(1 - w)", "\"w\" at column 1 is not a function; write w*(...) to multiply".to_string()),
        (
            "0 < w < 1",
            "comparisons must not be chained, got a second one at column 7; multiply two comparisons instead"
                .to_string(),
        ),
        ("1e999", "number \"1e999\" at column 1 must be below 1.8e308".to_string()),
    ];
    for (text, expected) in table {
        assert_eq!(message(text), expected, "{text:?}");
    }
    assert!(message("1 + µ").starts_with("unknown name \"µ\" at column 5 (known: "));
}

#[test]
fn limits_hold_at_the_limit_and_refuse_beyond() {
    let nested = |levels: usize| format!("{}w{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(parse(&nested(63)).eval(&[2.0, 0.0]), 2.0);
    assert_eq!(message(&nested(64)), "formula must nest at most 64 levels deep, exceeded at column 65");
    assert!(message(&"-".repeat(900)).contains("at most 64 levels"));
    assert!(message(&"2^".repeat(400)).contains("at most 64 levels"));
    assert_eq!(message(&"(".repeat(100_000)), "formula must have at most 1000 characters, got 100000");
    // The longest chain there can be is walked recursively.
    let chain = parse(&format!("w{}", "*w".repeat(499)));
    assert_eq!(chain.derivative("w").eval(&[1.0, 0.0]), 500.0);
    let sum = parse(&format!("w{}", "+w".repeat(499)));
    assert_eq!(sum.derivative("w").constant(), Some(500.0));
    // A derivative may need a larger stack than any formula that can be written.
    let tower = parse(&format!("{}w{}", "w*(1 + ".repeat(60), ")".repeat(60)));
    let (h, w) = (1e-6, 0.5);
    let difference = (tower.eval(&[w + h, 0.0]) - tower.eval(&[w - h, 0.0])) / (2.0 * h);
    assert!((tower.derivative("w").eval(&[w, 0.0]) - difference).abs() < 1e-7);
}

#[test]
fn variables_hide_constants_and_keep_their_order() {
    let formula = Expression::parse("e + 10*pi", &["pi", "e"]).expect("two variables");
    assert_eq!(formula.eval(&[2.0, 3.0]), 23.0);
    assert_eq!(formula.variables(), ["pi", "e"]);
    assert_eq!(formula.derivative("pi").constant(), Some(10.0));
}

#[test]
#[should_panic(expected = "variable must be one of")]
fn a_derivative_by_a_stranger_is_a_bug() {
    let _ = parse("w").derivative("x");
}

#[test]
fn expressions_travel_between_threads() {
    let formula = parse("w^2");
    let value = std::thread::scope(|scope| scope.spawn(|| formula.eval(&[3.0, 0.0])).join());
    assert_eq!(value.expect("the thread ends"), 9.0);
}

fn formulas() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("w".to_string()),
        Just("i".to_string()),
        Just("pi".to_string()),
        (0.0..10.0f64).prop_map(|x| x.to_string()),
        (0u32..4).prop_map(|n| n.to_string()),
        (-320..300i32).prop_map(|n| format!("1e{n}")),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let infix = prop::sample::select(vec!["+", "-", "*", "/", "^", "**"]);
        let comparison = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
        let one = prop::sample::select(vec!["-", "--", "sin", "exp", "sqrt", "erf", "floor", "abs", "ln"]);
        let two = prop::sample::select(vec!["min", "max", "mod", "pow"]);
        prop_oneof![
            (inner.clone(), infix.clone(), inner.clone()).prop_map(|(a, op, b)| format!("{a}{op}{b}")),
            (inner.clone(), infix, inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (inner.clone(), comparison, inner.clone()).prop_map(|(a, op, b)| format!("(({a}) {op} {b})")),
            (one, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (two, inner.clone(), inner.clone()).prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("if({a}, {b}, {c})")),
        ]
    })
    .prop_filter("within the length limit", |text| text.len() <= MAX_LENGTH)
}

proptest! {
    #[test]
    fn display_parses_back_to_the_same_expression(text in formulas(), w in -3.0..3.0f64) {
        for formula in [parse(&text), parse(&text).derivative("w")] {
            let shown = formula.to_string();
            if shown.chars().count() <= MAX_LENGTH {
                let again = parse(&shown);
                prop_assert_eq!(&again, &formula, "{} shown as {}", text, shown);
                let (first, second) = (formula.eval(&[w, 2.0]), again.eval(&[w, 2.0]));
                prop_assert!(first == second || (first.is_nan() && second.is_nan()));
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in prop::collection::vec(prop::sample::select(
        vec!["w", "1", ".", "e", "+", "-", "*", "^", "(", ")", ",", "<", "=", "!", " ", "sin", "if", "µ"]), 0..40))
    {
        let text = text.concat();
        if let Ok(formula) = Expression::parse(&text, &["w"]) {
            prop_assert_eq!(Expression::parse(&formula.to_string(), &["w"]), Ok(formula));
        }
    }
}
