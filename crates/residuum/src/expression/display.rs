//! Writing a formula back as text, with as few parentheses as the grammar needs.

use std::fmt::{Display, Formatter, Result};

use super::Expression;
use super::node::Node;
use super::operation::{FUNCTIONS, Operation};

/// How tightly a form binds; each level of the grammar is one step.
mod level {
    pub(super) const COMPARISON: u8 = 0;
    pub(super) const SUM: u8 = 1;
    pub(super) const TERM: u8 = 2;
    pub(super) const UNARY: u8 = 3;
    pub(super) const POWER: u8 = 4;
    pub(super) const ATOM: u8 = 5;
}

/// The text parses back to the same expression.
impl Display for Expression {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write(out, &self.root, level::COMPARISON, &self.variables)
    }
}

/// Writes `node` where the grammar asks for something that binds at least as tightly as `needed`.
fn write(out: &mut Formatter<'_>, node: &Node, needed: u8, variables: &[String]) -> Result {
    if binding(node) < needed {
        out.write_str("(")?;
        write(out, node, level::COMPARISON, variables)?;
        return out.write_str(")");
    }
    match node {
        Node::Number(value) => write_number(out, *value),
        Node::Variable(index) => out.write_str(&variables[*index]),
        Node::Apply(Operation::Negate, arguments) => {
            out.write_str("-")?;
            write(out, &arguments[0], level::POWER, variables)
        }
        Node::Apply(Operation::Power, arguments) => {
            write(out, &arguments[0], level::ATOM, variables)?;
            out.write_str("^")?;
            // A signed number needs no parentheses here: w^-2.
            let needed = if arguments[1].number().is_some() { level::UNARY } else { level::ATOM };
            write(out, &arguments[1], needed, variables)
        }
        Node::Apply(operation, arguments) => {
            if let Some((symbol, own)) = infix(*operation) {
                // Sums and terms group to the left; comparisons do not group.
                let left = if own == level::COMPARISON { own + 1 } else { own };
                write(out, &arguments[0], left, variables)?;
                write!(out, " {symbol} ")?;
                return write(out, &arguments[1], own + 1, variables);
            }
            let name = FUNCTIONS.iter().find(|(_, known)| known == operation).map_or("", |(name, _)| name);
            write!(out, "{name}(")?;
            for (place, argument) in arguments.iter().enumerate() {
                if place > 0 {
                    out.write_str(", ")?;
                }
                write(out, argument, level::COMPARISON, variables)?;
            }
            out.write_str(")")
        }
    }
}

fn binding(node: &Node) -> u8 {
    match node {
        Node::Number(value) if value.is_sign_negative() => level::UNARY,
        Node::Number(_) | Node::Variable(_) => level::ATOM,
        Node::Apply(Operation::Negate, _) => level::UNARY,
        Node::Apply(Operation::Power, _) => level::POWER,
        Node::Apply(operation, _) => infix(*operation).map_or(level::ATOM, |(_, own)| own),
    }
}

fn infix(operation: Operation) -> Option<(&'static str, u8)> {
    Some(match operation {
        Operation::Add => ("+", level::SUM),
        Operation::Subtract => ("-", level::SUM),
        Operation::Multiply => ("*", level::TERM),
        Operation::Divide => ("/", level::TERM),
        Operation::Less => ("<", level::COMPARISON),
        Operation::LessEqual => ("<=", level::COMPARISON),
        Operation::Greater => (">", level::COMPARISON),
        Operation::GreaterEqual => (">=", level::COMPARISON),
        Operation::Equal => ("==", level::COMPARISON),
        Operation::NotEqual => ("!=", level::COMPARISON),
        _ => return None,
    })
}

/// The shortest digits that read back as the same number, with an exponent where zeros would pile up.
fn write_number(out: &mut Formatter<'_>, value: f64) -> Result {
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) { write!(out, "{value:e}") } else { write!(out, "{value}") }
}
