//! Recursive descent over the grammar given in the parent module.

use std::f64::consts::{E, PI};

use super::error::{ExpressionError, closest};
use super::node::Node;
use super::operation::{FUNCTIONS, Operation};
use super::token::{Kind, Token, tokenize};
use super::{MAX_DEPTH, MAX_LENGTH};

/// `phi` is (√5 - 1)/2, the fractional part of the golden ratio: the most irrational rotation.
const CONSTANTS: [(&str, f64); 3] = [("pi", PI), ("e", E), ("phi", 0.618_033_988_749_894_9)];

const VALUE: &str = "a number, a name or a parenthesis";
const OPERATOR: &str = "an operator";

pub(super) fn parse(text: &str, variables: &[&str]) -> Result<Node, ExpressionError> {
    let length = text.chars().count();
    if length > MAX_LENGTH {
        return Err(ExpressionError::TooLong { length, limit: MAX_LENGTH });
    }
    let tokens = tokenize(text)?;
    if tokens.is_empty() {
        return Err(ExpressionError::Empty);
    }
    let mut parser = Parser { tokens, next: 0, depth: 0, length, variables };
    let root = parser.formula()?;
    match parser.peek() {
        None => Ok(root),
        Some(token) if token.is(")") => Err(ExpressionError::Unopened { column: token.column }),
        Some(_) => Err(parser.unexpected(OPERATOR)),
    }
}

struct Parser<'a> {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    length: usize,
    variables: &'a [&'a str],
}

impl Parser<'_> {
    fn formula(&mut self) -> Result<Node, ExpressionError> {
        let left = self.sum()?;
        let Some(comparison) = self.comparison() else {
            return Ok(left);
        };
        let node = Node::apply(comparison, vec![left, self.sum()?]);
        let column = self.peek().map(|token| token.column);
        match (self.comparison(), column) {
            (Some(_), Some(column)) => Err(ExpressionError::Chained { column }),
            _ => Ok(node),
        }
    }

    fn comparison(&mut self) -> Option<Operation> {
        self.take_one_of(&[
            ("<", Operation::Less),
            ("<=", Operation::LessEqual),
            (">", Operation::Greater),
            (">=", Operation::GreaterEqual),
            ("==", Operation::Equal),
            ("!=", Operation::NotEqual),
        ])
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        let mut node = self.term()?;
        while let Some(operation) = self.take_one_of(&[("+", Operation::Add), ("-", Operation::Subtract)]) {
            node = Node::apply(operation, vec![node, self.term()?]);
        }
        Ok(node)
    }

    fn term(&mut self) -> Result<Node, ExpressionError> {
        let mut node = self.unary()?;
        while let Some(operation) = self.take_one_of(&[("*", Operation::Multiply), ("/", Operation::Divide)]) {
            node = Node::apply(operation, vec![node, self.unary()?]);
        }
        Ok(node)
    }

    /// Every way to nest passes here, so this is where depth is counted.
    fn unary(&mut self) -> Result<Node, ExpressionError> {
        if self.depth == MAX_DEPTH {
            let column = self.peek().map_or(self.length, |token| token.column);
            return Err(ExpressionError::TooDeep { column, limit: MAX_DEPTH });
        }
        self.depth += 1;
        let node = if self.take("-") {
            Node::apply(Operation::Negate, vec![self.unary()?])
        } else {
            let base = self.atom()?;
            if self.take("^") || self.take("**") {
                Node::apply(Operation::Power, vec![base, self.unary()?])
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node, ExpressionError> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.unexpected(VALUE));
        };
        match token.kind {
            Kind::Number(value) => {
                self.next += 1;
                Ok(Node::Number(value))
            }
            Kind::Name => {
                self.next += 1;
                self.name(token)
            }
            Kind::Symbol if token.is("(") => {
                self.next += 1;
                let node = self.formula()?;
                self.close(token.column, "an operator or \")\"")?;
                Ok(node)
            }
            Kind::Symbol => Err(self.unexpected(VALUE)),
        }
    }

    fn name(&mut self, Token { text: name, column, .. }: Token) -> Result<Node, ExpressionError> {
        let opening = self.peek().filter(|token| token.is("(")).map(|token| token.column);
        let variable = self.variables.iter().position(|variable| *variable == name).map(Node::Variable);
        let constant =
            CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| Node::Number(*value));
        match (Operation::named(&name), variable.or(constant), opening) {
            (Some(function), _, Some(opening)) => self.call(function, name, column, opening),
            (_, Some(_), Some(_)) => Err(ExpressionError::NotAFunction { name, column }),
            (_, Some(node), None) => Ok(node),
            (Some(_), None, None) => Err(ExpressionError::NotCalled { function: name, column }),
            (None, None, _) => Err(self.unknown(name, column)),
        }
    }

    fn call(
        &mut self,
        operation: Operation,
        function: String,
        column: usize,
        opening: usize,
    ) -> Result<Node, ExpressionError> {
        self.next += 1;
        let mut arguments = Vec::new();
        if !self.peek().is_some_and(|token| token.is(")")) {
            arguments.push(self.formula()?);
            while self.take(",") {
                arguments.push(self.formula()?);
            }
        }
        self.close(opening, "an operator, \",\" or \")\"")?;
        let (expected, given) = (operation.arity(), arguments.len());
        if given == expected {
            Ok(Node::apply(operation, arguments))
        } else {
            Err(ExpressionError::Arguments { function, column, expected, given })
        }
    }

    fn close(&mut self, opening: usize, expected: &'static str) -> Result<(), ExpressionError> {
        if self.take(")") {
            Ok(())
        } else if self.peek().is_none() {
            Err(ExpressionError::Unclosed { column: opening })
        } else {
            Err(self.unexpected(expected))
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(symbol));
        self.next += usize::from(found);
        found
    }

    fn take_one_of(&mut self, symbols: &[(&str, Operation)]) -> Option<Operation> {
        symbols.iter().find(|(symbol, _)| self.take(symbol)).map(|(_, operation)| *operation)
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        match self.peek().cloned() {
            Some(Token { text: found, column, .. }) => ExpressionError::Unexpected { found, column, expected },
            None => ExpressionError::UnexpectedEnd { column: self.length, expected },
        }
    }

    fn unknown(&self, name: String, column: usize) -> ExpressionError {
        let constants = CONSTANTS.iter().map(|(known, _)| *known);
        let functions = FUNCTIONS.iter().map(|(known, _)| *known);
        let known = self.variables.iter().copied().chain(constants).chain(functions);
        ExpressionError::UnknownName {
            suggestion: closest(&name, known.clone()).map(str::to_owned),
            known: known.map(str::to_owned).collect(),
            name,
            column,
        }
    }
}
