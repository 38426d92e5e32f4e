//! Symbolic differentiation, with the simplifications that keep zeros and ones from piling up.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_10};

use super::node::Node;
use super::operation::Operation::{
    self, Abs, Add, Arctan, Artanh, Cos, Cosh, Divide, Erf, Exp, Floor, Frac, Greater, If, Less, Ln, Log10,
    Max, Min, Mod, Multiply, Negate, Power, Sign, Sin, Sinh, Sqrt, Subtract, Tan, Tanh,
};

const ZERO: Node = Node::Number(0.0);
const ONE: Node = Node::Number(1.0);

/// The derivative of `node` by the variable with the given index.
pub(super) fn derivative(node: &Node, variable: usize) -> Node {
    if !node.depends_on(variable) {
        return ZERO;
    }
    let Node::Apply(operation, arguments) = node else {
        return ONE;
    };
    let slope = |argument| derivative(argument, variable);
    match arguments.as_slice() {
        [u] => of_one(*operation, node, u, slope(u)),
        [u, v] => of_two(*operation, node, [u, v], [slope(u), slope(v)]),
        _ => of_three(*operation, arguments, arguments.iter().map(slope).collect()),
    }
}

/// Chain rule: `node` is the operation on u.
fn of_one(operation: Operation, node: &Node, u: &Node, du: Node) -> Node {
    let u = u.clone();
    match operation {
        Negate => negative(du),
        Exp => product(du, node.clone()),
        Ln => quotient(du, u),
        Log10 => quotient(du, product(Node::Number(LN_10), u)),
        Sqrt => quotient(du, product(Node::Number(2.0), node.clone())),
        Abs => product(du, call(Sign, u)),
        Sin => product(du, call(Cos, u)),
        Cos => negative(product(du, call(Sin, u))),
        Tan => quotient(du, square(call(Cos, u))),
        // 1 - tanh² would cancel for large arguments.
        Tanh => quotient(du, square(call(Cosh, u))),
        Sinh => product(du, call(Cosh, u)),
        Cosh => product(du, call(Sinh, u)),
        Artanh => quotient(du, difference(ONE, square(u))),
        Arctan => quotient(du, sum(ONE, square(u))),
        Erf => product(product(Node::Number(FRAC_2_SQRT_PI), du), call(Exp, negative(square(u)))),
        Frac => du,
        // Sign, Floor, Ceil and Step are constant on each branch.
        _ => ZERO,
    }
}

/// `node` is the operation on u and v.
fn of_two(operation: Operation, node: &Node, [u, v]: [&Node; 2], [du, dv]: [Node; 2]) -> Node {
    let (u, v) = (u.clone(), v.clone());
    match operation {
        Add => sum(du, dv),
        Subtract => difference(du, dv),
        Multiply => sum(product(du, v), product(u, dv)),
        Divide if dv == ZERO => quotient(du, v),
        Divide => {
            let numerator = difference(product(du, v.clone()), product(u, dv));
            quotient(numerator, square(v))
        }
        Power if dv == ZERO => {
            let lowered = power(u, difference(v.clone(), ONE));
            product(product(v, du), lowered)
        }
        Power => {
            let by_exponent = product(dv, call(Ln, u.clone()));
            let by_base = quotient(product(v, du), u);
            product(node.clone(), sum(by_exponent, by_base))
        }
        Mod => difference(du, product(call(Floor, quotient(u, v)), dv)),
        Min => choice(Node::apply(Less, vec![u, v]), du, dv),
        Max => choice(Node::apply(Greater, vec![u, v]), du, dv),
        // Comparisons are constant on each branch.
        _ => ZERO,
    }
}

/// Clamp and If.
fn of_three(operation: Operation, arguments: &[Node], mut slopes: Vec<Node>) -> Node {
    let first = arguments[0].clone();
    let (third, second) = (slopes.swap_remove(2), slopes.swap_remove(1));
    if operation == If {
        return choice(first, second, third);
    }
    let below = Node::apply(Less, vec![first.clone(), arguments[1].clone()]);
    let above = Node::apply(Greater, vec![first, arguments[2].clone()]);
    choice(below, second, choice(above, third, slopes.swap_remove(0)))
}

fn call(function: Operation, u: Node) -> Node {
    Node::apply(function, vec![u])
}

fn square(u: Node) -> Node {
    power(u, Node::Number(2.0))
}

fn choice(condition: Node, then: Node, otherwise: Node) -> Node {
    if then == otherwise { then } else { Node::apply(If, vec![condition, then, otherwise]) }
}

fn negative(u: Node) -> Node {
    call(Negate, u)
}

fn sum(u: Node, v: Node) -> Node {
    match (u, v) {
        (Node::Number(0.0), other) | (other, Node::Number(0.0)) => other,
        (u, Node::Apply(Negate, mut inner)) => Node::apply(Subtract, vec![u, inner.swap_remove(0)]),
        (u, v) => Node::apply(Add, vec![u, v]),
    }
}

fn difference(u: Node, v: Node) -> Node {
    match (u, v) {
        (Node::Number(0.0), v) => negative(v),
        (u, Node::Number(0.0)) => u,
        (u, v) => Node::apply(Subtract, vec![u, v]),
    }
}

/// A numeric factor comes first, and merges with one that is there already.
fn product(u: Node, v: Node) -> Node {
    match (u, v) {
        (Node::Number(0.0), _) | (_, Node::Number(0.0)) => ZERO,
        (Node::Number(1.0), other) | (other, Node::Number(1.0)) => other,
        (Node::Number(-1.0), other) | (other, Node::Number(-1.0)) => negative(other),
        (Node::Number(factor), Node::Apply(Multiply, mut inner)) if inner[0].number().is_some() => {
            let rest = inner.swap_remove(1);
            product(Node::apply(Multiply, vec![Node::Number(factor), inner.swap_remove(0)]), rest)
        }
        (u, v @ Node::Number(_)) if u.number().is_none() => product(v, u),
        (u, v) => Node::apply(Multiply, vec![u, v]),
    }
}

fn quotient(u: Node, v: Node) -> Node {
    match (u, v) {
        (Node::Number(0.0), _) => ZERO,
        (u, Node::Number(1.0)) => u,
        (u, v) => Node::apply(Divide, vec![u, v]),
    }
}

fn power(u: Node, v: Node) -> Node {
    match (u, v) {
        (_, Node::Number(0.0)) => ONE,
        (u, Node::Number(1.0)) => u,
        (u, v) => Node::apply(Power, vec![u, v]),
    }
}
