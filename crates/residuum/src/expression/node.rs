//! The tree of a formula.

use super::operation::Operation;

/// A formula as a tree. Operations have as many arguments as their arity says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A finite number.
    Number(f64),
    /// A variable, by its place in the caller's list.
    Variable(usize),
    /// An operation on subtrees.
    Apply(Operation, Vec<Node>),
}

impl Node {
    /// An operation with its constant parts evaluated.
    ///
    /// Results that are not finite stay as they were written, since no number in the text could stand for them.
    pub(super) fn apply(operation: Operation, mut arguments: Vec<Self>) -> Self {
        let numbers: Option<Vec<f64>> = arguments.iter().map(Self::number).collect();
        if let Some(value) = numbers.map(|numbers| operation.apply(&numbers)).filter(|value| value.is_finite())
        {
            return Self::Number(value);
        }
        match (operation, arguments.as_mut_slice()) {
            (Operation::Negate, [Self::Apply(Operation::Negate, inner)]) => inner.swap_remove(0),
            (Operation::If, [Self::Number(condition), _, _]) => {
                let taken = if *condition == 0.0 { 2 } else { 1 };
                arguments.swap_remove(taken)
            }
            _ => Self::Apply(operation, arguments),
        }
    }

    /// The value, if the tree is a number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the variable occurs in the tree.
    pub(super) fn depends_on(&self, variable: usize) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Variable(index) => *index == variable,
            Self::Apply(_, arguments) => arguments.iter().any(|argument| argument.depends_on(variable)),
        }
    }
}
