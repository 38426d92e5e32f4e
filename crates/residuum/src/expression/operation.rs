//! The operations a formula is made of: their names, arities and values.

use crate::numeric::erf;

/// An operation on one to three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Exp,
    Ln,
    Log10,
    Sqrt,
    Abs,
    Sign,
    Sin,
    Cos,
    Tan,
    Tanh,
    Sinh,
    Cosh,
    Artanh,
    Arctan,
    Erf,
    Floor,
    Ceil,
    Frac,
    Step,
    Mod,
    Min,
    Max,
    Clamp,
    If,
}

/// Functions by name, in the order in which they are listed to the user.
pub(super) const FUNCTIONS: [(&str, Operation); 25] = [
    ("exp", Operation::Exp),
    ("ln", Operation::Ln),
    ("log10", Operation::Log10),
    ("sqrt", Operation::Sqrt),
    ("abs", Operation::Abs),
    ("sign", Operation::Sign),
    ("sin", Operation::Sin),
    ("cos", Operation::Cos),
    ("tan", Operation::Tan),
    ("tanh", Operation::Tanh),
    ("sinh", Operation::Sinh),
    ("cosh", Operation::Cosh),
    ("artanh", Operation::Artanh),
    ("arctan", Operation::Arctan),
    ("erf", Operation::Erf),
    ("floor", Operation::Floor),
    ("ceil", Operation::Ceil),
    ("frac", Operation::Frac),
    ("step", Operation::Step),
    ("mod", Operation::Mod),
    ("min", Operation::Min),
    ("max", Operation::Max),
    ("pow", Operation::Power),
    ("clamp", Operation::Clamp),
    ("if", Operation::If),
];

/// Other spellings of functions, understood but not listed.
const ALIASES: [(&str, Operation); 2] = [("atanh", Operation::Artanh), ("atan", Operation::Arctan)];

impl Operation {
    pub(super) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().chain(&ALIASES).find(|(known, _)| *known == name).map(|(_, operation)| *operation)
    }

    pub(super) fn arity(self) -> usize {
        match self {
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Power
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual
            | Self::Equal
            | Self::NotEqual
            | Self::Mod
            | Self::Min
            | Self::Max => 2,
            Self::Clamp | Self::If => 3,
            _ => 1,
        }
    }

    /// The value on as many arguments as the arity says. Folding and evaluation both come here, so they
    /// agree bit for bit.
    pub(super) fn apply(self, x: &[f64]) -> f64 {
        match self {
            Self::Negate => -x[0],
            Self::Add => x[0] + x[1],
            Self::Subtract => x[0] - x[1],
            Self::Multiply => x[0] * x[1],
            Self::Divide => x[0] / x[1],
            Self::Power => power(x[0], x[1]),
            Self::Less => indicator(x[0] < x[1]),
            Self::LessEqual => indicator(x[0] <= x[1]),
            Self::Greater => indicator(x[0] > x[1]),
            Self::GreaterEqual => indicator(x[0] >= x[1]),
            Self::Equal => indicator(x[0] == x[1]),
            Self::NotEqual => indicator(x[0] != x[1]),
            Self::Exp => x[0].exp(),
            Self::Ln => x[0].ln(),
            Self::Log10 => x[0].log10(),
            Self::Sqrt => x[0].sqrt(),
            Self::Abs => x[0].abs(),
            Self::Sign => sign(x[0]),
            Self::Sin => x[0].sin(),
            Self::Cos => x[0].cos(),
            Self::Tan => x[0].tan(),
            Self::Tanh => x[0].tanh(),
            Self::Sinh => x[0].sinh(),
            Self::Cosh => x[0].cosh(),
            Self::Artanh => x[0].atanh(),
            Self::Arctan => x[0].atan(),
            Self::Erf => erf(x[0]),
            Self::Floor => x[0].floor(),
            Self::Ceil => x[0].ceil(),
            Self::Frac => x[0] - x[0].floor(),
            Self::Step => step(x[0]),
            Self::Mod => modulo(x[0], x[1]),
            Self::Min => least(x[0], x[1]),
            Self::Max => greatest(x[0], x[1]),
            Self::Clamp => least(greatest(x[0], x[1]), x[2]),
            Self::If => choose(x[0], x[1], x[2]),
        }
    }
}

/// Largest integer exponent taken by multiplication; beyond, `powf` is more accurate.
const MAX_INTEGER_EXPONENT: f64 = 64.0;

/// `exponent` as an integer, if [`integer_power`] is the way to take it.
pub(super) fn integer_exponent(exponent: f64) -> Option<i32> {
    (exponent.fract() == 0.0 && exponent.abs() <= MAX_INTEGER_EXPONENT).then_some(exponent as i32)
}

fn power(base: f64, exponent: f64) -> f64 {
    match integer_exponent(exponent) {
        Some(integer) => integer_power(base, integer),
        None if exponent == 0.5 => base.sqrt(),
        None => base.powf(exponent),
    }
}

/// By repeated squaring. The standard `powi` does the same, but leaves its rounding to the platform.
pub(super) fn integer_power(base: f64, exponent: i32) -> f64 {
    let mut square = base;
    let mut product = 1.0;
    let mut rest = exponent.unsigned_abs();
    while rest > 0 {
        if rest % 2 == 1 {
            product *= square;
        }
        square *= square;
        rest /= 2;
    }
    if exponent < 0 { 1.0 / product } else { product }
}

fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Unlike `signum`, zero at zero.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

fn step(x: f64) -> f64 {
    if x.is_nan() { x } else { indicator(x >= 0.0) }
}

fn modulo(x: f64, period: f64) -> f64 {
    let rest = x % period;
    if rest != 0.0 && (rest < 0.0) != (period < 0.0) { rest + period } else { rest }
}

/// Unlike `f64::min`, lets NaN through: a broken argument must not be papered over.
fn least(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// Unlike `f64::max`, lets NaN through.
fn greatest(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

fn choose(condition: f64, then: f64, otherwise: f64) -> f64 {
    if condition.is_nan() {
        condition
    } else if condition == 0.0 {
        otherwise
    } else {
        then
    }
}
