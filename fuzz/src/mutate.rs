//! Small changes of bytes and of text.

/// Draws from a seed.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`, which must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers that readers stumble over.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "1e300",
    "-1e300",
    "1e-300",
    "1e-320",
    "1.7976931348623157e308",
    "nan",
    "inf",
    "-inf",
    "255",
    "256",
    "65536",
    "99999999",
    "4294967295",
    "4294967296",
    "2147483648",
    "1000000000000",
    "2305843009213693952",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "1_000",
    "007",
    "1e",
    "00.5",
    "",
];

/// Bytes of lengths and offsets that readers stumble over.
const WORDS: &[[u8; 8]] = &[
    [0; 8],
    [255; 8],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 1],
    [255, 255, 255, 127, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 128],
    [0, 0, 0, 0, 0, 0, 0, 32],
    [0, 0, 0, 128, 0, 0, 0, 0],
];

/// Changes a case in one to four places; `other` lends pieces, `words` are of the reader's language.
pub(crate) fn change(case: &mut Vec<u8>, other: &[u8], words: &[&str], draws: &mut Draws) {
    for _ in 0..=draws.below(4) {
        let at = draws.below(case.len() + 1);
        match draws.below(12) {
            0 if at < case.len() => case[at] ^= 1 << draws.below(8),
            1 if at < case.len() => case[at] = [0, 1, 0x7F, 0x80, 0xFF, b'\n', b'"', b','][draws.below(8)],
            2 => {
                let end = case.len().min(at + 1 + draws.below(16));
                case.drain(at..end);
            }
            3 => {
                let end = case.len().min(at + 1 + draws.below(32));
                let piece = case[at..end].to_vec();
                let to = draws.below(case.len() + 1);
                case.splice(to..to, piece);
            }
            4 => case.truncate(at),
            5 if !other.is_empty() => {
                let from = draws.below(other.len());
                let piece = &other[from..other.len().min(from + 1 + draws.below(64))];
                let end = case.len().min(at + draws.below(2) * piece.len());
                case.splice(at..end, piece.iter().copied());
            }
            6 => {
                let word = WORDS[draws.below(WORDS.len())];
                let word = &word[..[1, 2, 4, 8][draws.below(4)]];
                let end = case.len().min(at + word.len());
                case.splice(at..end, word.iter().copied());
            }
            7 | 8 => {
                // A number in the text becomes another.
                if let Some((from, to)) = token(case, at, |b| b.is_ascii_digit() || b"+-._eE".contains(&b)) {
                    case.splice(from..to, NUMBERS[draws.below(NUMBERS.len())].bytes());
                }
            }
            9 if !words.is_empty() => {
                let word = words[draws.below(words.len())];
                match token(case, at, |b| b.is_ascii_alphanumeric() || b == b'_') {
                    Some((from, to)) if draws.below(2) == 0 => drop(case.splice(from..to, word.bytes())),
                    _ => drop(case.splice(at..at, word.bytes())),
                }
            }
            10 => {
                // A line twice, or not at all.
                let from = case[..at].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
                let to = case[at..].iter().position(|b| *b == b'\n').map_or(case.len(), |i| at + i + 1);
                let line = case[from..to].to_vec();
                if draws.below(2) == 0 {
                    case.splice(from..from, line);
                } else {
                    case.drain(from..to);
                }
            }
            _ => {
                let byte = draws.below(256) as u8;
                case.insert(at, byte);
            }
        }
    }
}

/// The run of bytes of one kind at or after a place.
fn token(case: &[u8], at: usize, is: impl Fn(u8) -> bool) -> Option<(usize, usize)> {
    let first = at + case[at..].iter().position(|b| is(*b))?;
    let from = case[..first].iter().rposition(|b| !is(*b)).map_or(0, |i| i + 1);
    let to = case[first..].iter().position(|b| !is(*b)).map_or(case.len(), |i| first + i);
    Some((from, to))
}
