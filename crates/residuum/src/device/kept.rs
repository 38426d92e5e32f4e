//! The cells of an array, as its device says that their parameters are kept.
//!
//! Who needs parameters asks for those of some neighbouring cells ([`KeptCells::span`]). Numbers in single precision are handed out as they
//! lie there; from draws in 16 bits they are worked out into a [`Room`], for a row at a time, so that the kernels that
//! follow see the same arrays either way.

use super::cells::{Cells, alike, composable};
use super::draws::{Draws, KeptDraws};
use super::law::Parameters;
use super::{CellParameters, Device};
use crate::Key;
use crate::error::ParameterError;
use crate::stream::CHUNK;
use std::sync::{Mutex, PoisonError};

/// The cells of an array.
#[derive(Clone, Debug)]
pub(crate) struct KeptCells {
    kept: Kept,
    /// Whether n pulses may be applied at once: mild noise, and a step that is smooth in the state. `pulse::row::together`
    /// states the error.
    pub(crate) at_once: bool,
}

#[derive(Clone, Debug)]
enum Kept {
    F32(Box<Cells>),
    I16(Box<Rounded>),
}

/// Cells that are known by what they drew.
#[derive(Debug)]
struct Rounded {
    device: Device,
    len: usize,
    draws: KeptDraws,
    /// Buffers that are not in use, so that a warm array allocates nothing.
    rooms: Mutex<Vec<Worked>>,
}

impl Clone for Rounded {
    fn clone(&self) -> Self {
        let (device, draws) = (self.device.clone(), self.draws.clone());
        Self { device, len: self.len, draws, rooms: Mutex::default() }
    }
}

/// Parameters that were worked out, and where the references of their cells are.
#[derive(Debug, Default)]
struct Worked {
    cells: Cells,
    origins: Vec<f32>,
}

/// Where parameters may be worked out; it goes back to its array.
pub(crate) struct Room<'a> {
    here: Option<Worked>,
    home: Option<&'a Rounded>,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if let (Some(here), Some(home)) = (self.here.take(), self.home) {
            home.rooms.lock().unwrap_or_else(PoisonError::into_inner).push(here);
        }
    }
}

/// Cells `first..` of an array, at least those that were asked for.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) cells: &'a Cells,
    pub(crate) first: usize,
}

impl<'a> Span<'a> {
    /// The parameters of cells `from..to` of the array, beyond `to` those that fill up a chunk, as far as there are any.
    pub(crate) fn parameters(self, from: usize, to: usize) -> Parameters<'a> {
        Parameters::of(self.cells, from - self.first, to - self.first)
    }

    /// `w` clipped to the bounds of cell i of the array.
    #[inline(always)]
    pub(crate) fn clip(self, i: usize, w: f32) -> f32 {
        self.cells.clip(i - self.first, w)
    }
}

impl KeptCells {
    /// # Errors
    /// If a reference is to be at the symmetric point of a cell that has none.
    pub(crate) fn draw(n: usize, device: &Device, key: Key) -> Result<Self, ParameterError> {
        let kept = match device.cell_parameters {
            CellParameters::F32 => {
                let mut cells = Cells::default();
                cells.derive(device, &Draws::made(n, key), &mut Vec::new())?;
                // Two arrays less to read where nothing was shifted.
                if cells.base == cells.scale {
                    cells.base = [Vec::new(), Vec::new()];
                }
                Kept::F32(Box::new(cells))
            }
            CellParameters::I16 => {
                let names = |draws: &Draws<'_>| {
                    // There is no cell that could have no symmetric point.
                    let _ = Cells::default().derive(device, draws, &mut Vec::new());
                };
                let draws = KeptDraws::draw(n, device.stuck.map(|stuck| stuck.probability), key, names);
                let rooms = Mutex::default();
                Kept::I16(Box::new(Rounded { device: device.clone(), len: n, draws, rooms }))
            }
        };
        Ok(Self { kept, at_once: composable(device) })
    }

    /// Keeps so many values of each parameter that is the same in all cells, the most that a span may have.
    pub(crate) fn share(&mut self, most: usize) {
        if let Kept::F32(cells) = &mut self.kept {
            cells.share(most);
        }
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        match &self.kept {
            Kept::F32(cells) => cells.len(),
            Kept::I16(rounded) => rounded.len,
        }
    }

    /// Bytes of the parameters of one cell; what all cells share counts for nothing, if they do not differ anyway.
    fn bytes_per_cell(&self, differ: bool) -> usize {
        match &self.kept {
            Kept::F32(cells) => {
                let own = |array: &&Vec<f32>| !array.is_empty() && (differ || !alike(array));
                size_of::<f32>() * cells.arrays().into_iter().filter(own).count()
            }
            Kept::I16(rounded) => rounded.draws.bytes_per_cell(),
        }
    }

    /// The parameters of all cells, if they lie there as they are used.
    pub(crate) fn whole(&self) -> Option<&Cells> {
        match &self.kept {
            Kept::F32(cells) => Some(cells),
            Kept::I16(_) => None,
        }
    }

    /// Room for one [`KeptCells::span`] after the other.
    #[inline]
    pub(crate) fn room(&self) -> Room<'_> {
        match &self.kept {
            Kept::F32(_) => Room { here: None, home: None },
            Kept::I16(rounded) => {
                let free = rounded.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
                Room { here: Some(free.unwrap_or_default()), home: Some(rounded) }
            }
        }
    }

    /// Cells `from..to`, and those that fill up a chunk.
    #[inline]
    pub(crate) fn span<'a>(&'a self, from: usize, to: usize, room: &'a mut Room<'_>) -> Span<'a> {
        match &self.kept {
            Kept::F32(cells) => Span { cells, first: 0 },
            Kept::I16(rounded) => Span { cells: rounded.work_out(from, to, room), first: from },
        }
    }

    /// The same parameters, kept as they are used, those that cells share once for each.
    pub(crate) fn in_f32(&self) -> Self {
        let mut room = Room { here: None, home: None };
        let mut cells = self.span(0, self.len(), &mut room).cells.clone();
        cells.repeat();
        Self { kept: Kept::F32(Box::new(cells)), at_once: self.at_once }
    }

    /// What was drawn for each cell, by name; what the step model does not use is left out.
    pub(crate) fn named(&self) -> Vec<(String, Vec<f32>)> {
        // Not a room of the array, which would keep it.
        self.span(0, self.len(), &mut Room { here: None, home: None }).cells.named()
    }
}

impl Device {
    /// Bytes that a large tile needs for the parameters of each cell, besides four for its weight. Parameters that are the same in all cells need
    /// none.
    pub fn parameter_bytes(&self) -> usize {
        KeptCells::draw(2, self, Key::new(0)).map_or(0, |cells| cells.bytes_per_cell(self.stuck.is_some()))
    }
}

impl Rounded {
    fn work_out<'a>(&self, from: usize, to: usize, room: &'a mut Room<'_>) -> &'a Cells {
        let Worked { cells, origins } = room.here.get_or_insert_default();
        let to = (to + CHUNK).min(self.len);
        let draws = Draws::kept(from..to, &self.draws);
        // `Device::validate` leaves no reference at a point that a cell may not have.
        let derived = cells.derive(&self.device, &draws, origins);
        debug_assert!(derived.is_ok(), "{derived:?}");
        cells
    }
}
