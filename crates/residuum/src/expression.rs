//! Formulas given as text: parsed once, evaluated fast, differentiated symbolically.
//!
//! The grammar, from loosest to tightest:
//!
//! ```text
//! formula    = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]       1 if true, else 0
//! sum        = term { ("+" | "-") term }
//! term       = unary { ("*" | "/") unary }
//! unary      = "-" unary | power                                       so -w^2 is -(w^2)
//! power      = atom [ ("^" | "**") unary ]                             so 2^3^2 is 2^9
//! atom       = number | name | name "(" formula { "," formula } ")" | "(" formula ")"
//! ```
//!
//! Names are the caller's variables, the constants `pi`, `e` and `phi` = (√5 - 1)/2, and the functions
//! `exp ln log10 sqrt abs sign sin cos tan tanh sinh cosh artanh arctan erf floor ceil frac step` of one argument
//! (`atanh`, `atan` are accepted too), `mod(a, b)`, `min(a, b)`, `max(a, b)`, `pow(a, b)`, `clamp(x, low, high)`
//! and `if(condition, then, otherwise)`. `step(x)` is 0 below zero and 1 from zero on, `sign(0)` is 0,
//! `frac(x)` is x - floor(x), `mod` has the sign of its second argument, and a condition holds when it is not 0.
//! A variable hides a constant of the same name.

mod derivative;
mod display;
pub(crate) mod error;
mod node;
mod operation;
mod parser;
mod program;
mod token;

pub use error::ExpressionError;

use node::Node;
use program::Program;

/// Longest formula accepted, in characters. It bounds the height of the tree, which is walked recursively.
pub const MAX_LENGTH: usize = 1000;
/// Deepest nesting of parentheses, signs and exponents accepted.
pub const MAX_DEPTH: usize = 64;

/// A formula in named variables.
///
/// ```
/// use residuum::expression::Expression;
/// let q_plus = Expression::parse("(1 - w/2)^1.5", &["w"])?;
/// assert_eq!(q_plus.eval(&[1.0]), 0.5f64.powf(1.5));
/// assert_eq!(q_plus.derivative("w").eval(&[1.0]), -0.75 * 0.5f64.sqrt());
/// # Ok::<(), residuum::expression::ExpressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    variables: Vec<String>,
    root: Node,
    program: Program,
}

impl Expression {
    /// Reads `text` as a formula in `variables`, whose order is the order of the values given to [`eval`](Self::eval).
    pub fn parse(text: &str, variables: &[&str]) -> Result<Self, ExpressionError> {
        let root = parser::parse(text, variables)?;
        Ok(Self::new(variables.iter().map(ToString::to_string).collect(), root))
    }

    fn new(variables: Vec<String>, root: Node) -> Self {
        let program = Program::compile(&root);
        Self { variables, root, program }
    }

    /// The names of the variables, in the order of their values.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The value of the formula, when no variable occurs in it.
    pub fn constant(&self) -> Option<f64> {
        let varies = (0..self.variables.len()).any(|index| self.root.depends_on(index));
        (!varies).then(|| self.program.run(&vec![0.0; self.variables.len()]))
    }

    /// The value at the given values of the variables; outside a function's domain NaN or infinite, as in
    /// IEEE arithmetic.
    ///
    /// # Panics
    /// When there are not as many values as variables.
    pub fn eval(&self, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.variables.len(), "one value is needed for each of {:?}", self.variables);
        self.program.run(values)
    }

    /// The derivative by one variable, lightly simplified.
    ///
    /// Piecewise functions are differentiated branch by branch: jumps and kinks contribute nothing, and at a
    /// breakpoint the branch that gives the value gives the slope. Repeated differentiation can grow fast.
    ///
    /// # Panics
    /// When `variable` is not one of [`variables`](Self::variables).
    pub fn derivative(&self, variable: &str) -> Self {
        let index = self.variables.iter().position(|name| name == variable);
        let index =
            index.unwrap_or_else(|| panic!("variable must be one of {:?}, got {variable:?}", self.variables));
        Self::new(self.variables.clone(), derivative::derivative(&self.root, index))
    }
}
