//! Every field of a spec with its type, unit, default and meaning: what `residuum explain` says of a parameter, and the
//! source of `docs/reference.md`.
//!
//! A test records which fields the readers ask for and compares them with these tables, in both directions.

mod network;
mod page;
mod problem;
mod readout;
mod shared;
#[cfg(test)]
mod tests;
mod tiles;

pub use page::page;

/// What a spec is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An objective: `[problem]`.
    Problem,
    /// A network: `[network]`.
    Network,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Dotted path; fields of a shared form begin with its name.
    pub path: &'static str,
    /// Its type and what is allowed.
    pub takes: &'static str,
    /// Unit, or `–`.
    pub unit: &'static str,
    /// What holds if it is left out.
    pub default: Default,
    /// What it means.
    pub meaning: &'static str,
    /// The form of its tables, if it may be one.
    pub form: Option<&'static str>,
}

/// What holds if a field is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be given.
    Required,
    /// This value, in TOML notation.
    Value(&'static str),
    /// What the words say.
    Words(&'static str),
}

/// The fields of one table.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// Which specs have it.
    pub of: &'static [Kind],
    /// One or more sentences below the heading.
    pub text: &'static str,
    /// In the order of the page.
    pub fields: &'static [Field],
}

impl Field {
    const fn new(
        path: &'static str,
        takes: &'static str,
        unit: &'static str,
        default: Default,
        meaning: &'static str,
    ) -> Self {
        Self { path, takes, unit, default, meaning, form: None }
    }

    /// A field whose tables have a shared form.
    const fn form(self, form: &'static str) -> Self {
        Self { form: Some(form), ..self }
    }
}

/// All sections: of every spec, of problems, of networks, and the shared forms.
pub fn sections() -> Vec<Section> {
    [shared::FILE, problem::SECTIONS, network::SECTIONS, tiles::SECTIONS, readout::SECTIONS, shared::FORMS]
        .concat()
}

/// The field that a path of a spec of this kind is about.
pub fn find(kind: Kind, path: &str) -> Option<Field> {
    let path = canonical(kind, path);
    let fields = || sections().into_iter().filter(move |s| s.of.contains(&kind)).flat_map(|s| s.fields);
    let exact = |path: &str| fields().find(|field| field.path == path).copied();
    exact(&path).or_else(|| {
        let (parent, name) = path.rsplit_once('.')?;
        exact(&format!("{}.{name}", exact(parent)?.form?))
    })
}

/// The path under which the tables have a field: arrays and reads of one kind share their rows.
fn canonical(kind: Kind, path: &str) -> String {
    let mut path = path.to_string();
    while let Some((before, rest)) = path.split_once('[') {
        let after = rest.split_once(']').map_or("", |(_, after)| after);
        path = format!("{before}{after}");
    }
    let same: &[(&str, &str)] = match kind {
        Kind::Problem => &[("device.main.", "device."), ("device.residual.", "device.")],
        Kind::Network => &[
            ("device.main.", "device."),
            ("device.residual.", "device."),
            ("readout.backward.", "readout."),
            ("readout.transfer.", "readout."),
        ],
    };
    for (from, to) in same {
        if let Some(rest) = path.strip_prefix(from) {
            path = format!("{to}{rest}");
        }
    }
    // A part of a mixture is a response like any other.
    match path.strip_prefix("device.parts.") {
        Some(rest) if rest != "fraction" => format!("device.{rest}"),
        _ => path,
    }
}
