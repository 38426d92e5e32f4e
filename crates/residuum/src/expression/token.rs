//! Splitting a formula into numbers, names and symbols.

use super::error::ExpressionError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Name,
    Symbol,
}

/// A piece of the text, with the column of its first character.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) column: usize,
}

impl Token {
    pub(super) fn is(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }
}

/// Symbols of two characters; every other character that is not a digit, letter or blank stands for itself.
const PAIRS: [&str; 5] = ["**", "<=", ">=", "==", "!="];

pub(super) fn tokenize(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if chars[at].is_whitespace() {
            at += 1;
            continue;
        }
        let rest = &chars[at..];
        let column = at + 1;
        let numeric = number_length(rest);
        let (length, is_name) = if numeric > 0 {
            (numeric, false)
        } else if is_name_start(rest[0]) {
            (count(rest, |c| is_name_start(c) || c.is_numeric()), true)
        } else {
            let pair: String = rest.iter().take(2).collect();
            (if PAIRS.contains(&pair.as_str()) { 2 } else { 1 }, false)
        };
        let text: String = rest[..length].iter().collect();
        let kind = match text.parse::<f64>() {
            Ok(value) if numeric > 0 && value.is_finite() => Kind::Number(value),
            Ok(_) if numeric > 0 => return Err(ExpressionError::NumberTooLarge { text, column }),
            _ if is_name => Kind::Name,
            _ => Kind::Symbol,
        };
        tokens.push(Token { kind, text, column });
        at += length;
    }
    Ok(tokens)
}

/// Characters of the number that starts here: 12, 1.5, .5, 2., 1e-3; zero when none does.
fn number_length(chars: &[char]) -> usize {
    let whole = count(chars, |c| c.is_ascii_digit());
    let mut length = whole;
    if chars.get(whole) == Some(&'.') {
        let fraction = count(&chars[whole + 1..], |c| c.is_ascii_digit());
        if whole + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if length > 0 && matches!(chars.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.get(length + 1), Some('+' | '-')));
        let digits = count(&chars[(length + 1 + sign).min(chars.len())..], |c| c.is_ascii_digit());
        // Without digits the letter is a name, and the parser will ask for an operator before it.
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn count(chars: &[char], accept: impl Fn(char) -> bool) -> usize {
    chars.iter().take_while(|&&c| accept(c)).count()
}
