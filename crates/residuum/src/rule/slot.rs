//! Numbers of a rule's state, as a checkpoint sees them.

/// A part of the state that can be read out and written back.
#[derive(Debug)]
pub enum Slot<'a> {
    /// f32 numbers.
    Floats(&'a mut [f32]),
    /// f64 numbers.
    Doubles(&'a mut [f64]),
    /// A counter.
    Count(&'a mut u64),
    /// Small counters.
    Counts(&'a mut [u32]),
}

/// A visitor that puts `prefix.` before each name.
pub(crate) fn within<'v>(
    prefix: &'v str,
    visit: &'v mut dyn FnMut(&str, Slot<'_>),
) -> impl FnMut(&str, Slot<'_>) + 'v {
    move |name, slot| visit(&format!("{prefix}.{name}"), slot)
}
