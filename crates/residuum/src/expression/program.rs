//! A formula as a flat program for a stack machine: no recursion and no allocation when evaluated.

use super::node::Node;
use super::operation::{Operation, integer_exponent, integer_power};

/// Stack kept in an array; the rare formula that needs more (a derivative of a deeply nested one) gets a vector.
const SMALL: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Instruction {
    Push(f64),
    Load(usize),
    Apply(Operation),
    /// A power whose exponent is known.
    IntegerPower(i32),
}

impl Program {
    pub(super) fn compile(root: &Node) -> Self {
        let mut program = Self { instructions: Vec::new(), depth: 0 };
        program.emit(root, 0);
        program
    }

    /// Appends what leaves the value of `node` on a stack that holds `below` numbers already.
    fn emit(&mut self, node: &Node, below: usize) {
        self.depth = self.depth.max(below + 1);
        match node {
            Node::Number(value) => self.instructions.push(Instruction::Push(*value)),
            Node::Variable(index) => self.instructions.push(Instruction::Load(*index)),
            Node::Apply(Operation::Power, arguments) if fixed_power(&arguments[1]).is_some() => {
                self.emit(&arguments[0], below);
                self.instructions.extend(fixed_power(&arguments[1]));
            }
            Node::Apply(operation, arguments) => {
                for (place, argument) in arguments.iter().enumerate() {
                    self.emit(argument, below + place);
                }
                self.instructions.push(Instruction::Apply(*operation));
            }
        }
    }

    pub(super) fn run(&self, values: &[f64]) -> f64 {
        if self.depth <= SMALL {
            self.run_on(&mut [0.0; SMALL], values)
        } else {
            self.run_on(&mut vec![0.0; self.depth], values)
        }
    }

    fn run_on(&self, stack: &mut [f64], values: &[f64]) -> f64 {
        let mut top = 0;
        for instruction in &self.instructions {
            match *instruction {
                Instruction::Push(value) => {
                    stack[top] = value;
                    top += 1;
                }
                Instruction::Load(index) => {
                    stack[top] = values[index];
                    top += 1;
                }
                Instruction::IntegerPower(exponent) => {
                    stack[top - 1] = integer_power(stack[top - 1], exponent);
                }
                Instruction::Apply(operation) => {
                    let base = top - operation.arity();
                    stack[base] = operation.apply(&stack[base..top]);
                    top = base + 1;
                }
            }
        }
        stack[0]
    }
}

/// The instruction that raises to this exponent, when it is a number with a short way.
fn fixed_power(exponent: &Node) -> Option<Instruction> {
    let exponent = exponent.number()?;
    if exponent == 0.5 {
        return Some(Instruction::Apply(Operation::Sqrt));
    }
    integer_exponent(exponent).map(Instruction::IntegerPower)
}
