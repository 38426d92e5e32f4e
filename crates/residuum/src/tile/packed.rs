//! Cells that lie apart, brought together as one stretch and put back: what a column is, and where few cells are pulsed.

use super::cells::{Cells, side};
use super::column_lines::{BAND, Lines};
use super::counted::{LONGEST, Stretch};
use super::device::Device;
use super::laws::Parameters;
use super::rows::Band;
use crate::simd::{self, Kernel};

/// Where a cell is found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Its parameters, among the cells of a site.
    pub(super) cell: usize,
    /// Its weight, in a band.
    pub(super) weight: usize,
}

/// A device and its cells, those of a band from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) device: &'a Device,
    pub(super) cells: &'a Cells,
    /// Cell of the array that is number 0 here.
    pub(super) first: usize,
}

impl Site<'_> {
    /// Lets the cells at `places` be changed as if they were a stretch: parameters, what a read sees, hidden state. `up` says in
    /// which direction each will be changed; nothing else is looked up, as every look at a column is one at memory far away.
    pub(super) fn together(
        &self,
        places: &[Place],
        up: impl Fn(usize) -> bool,
        weights: &mut [f32],
        hidden: Option<&mut [f32]>,
        change: impl FnOnce(&Stretch<'_>, &mut [f32], Option<&mut [f32]>),
    ) {
        let (cells, n) = (self.cells, places.len());
        let gather = |from: &[f32], index: fn(&Place) -> usize| {
            let mut out = [0.0; LONGEST];
            // A parameter that the step model does not have is empty.
            if !from.is_empty() {
                for (out, place) in out.iter_mut().zip(places) {
                    *out = from[index(place)];
                }
            }
            out
        };
        let directed = |pair: &[Vec<f32>; 2]| {
            let mut out = [0.0; LONGEST];
            if !pair[0].is_empty() {
                for (k, (out, place)) in out.iter_mut().zip(places).enumerate() {
                    *out = pair[side(up(k))][place.cell];
                }
            }
            out
        };
        let (scale, shape) = (directed(&cells.scale), directed(&cells.shape));
        let base = if cells.base[0].is_empty() { scale } else { directed(&cells.base) };
        let [max, min, inverse_range] =
            [&cells.max, &cells.min, &cells.inverse_range].map(|from| gather(from, |place| place.cell));
        let parameters = Parameters {
            scale: [&base[..n]; 2],
            shape: [&shape[..n]; 2],
            max: &max[..n],
            min: &min[..n],
            inverse_range: &inverse_range[..n],
        };
        let stretch = Stretch { device: self.device, parameters, scale: [&scale[..n]; 2] };
        let mut seen = gather(weights, |place| place.weight);
        let mut state = hidden.as_deref().map(|hidden| gather(hidden, |place| place.weight));
        change(&stretch, &mut seen[..n], state.as_mut().map(|s| &mut s[..n]));
        let scatter = |from: &[f32], to: &mut [f32]| {
            for (value, place) in from.iter().zip(places) {
                to[place.weight] = *value;
            }
        };
        scatter(&seen, weights);
        if let (Some(hidden), Some(state)) = (hidden, state) {
            scatter(&state, hidden);
        }
    }
}

/// Cells that column writes pulse, collected until there are enough for one go.
pub(super) struct Packed<'a> {
    site: Site<'a>,
    lines: &'a [Lines],
    len: usize,
    places: [Place; LONGEST],
    origins: [Origin; LONGEST],
    counts: [i32; LONGEST],
}

/// Where noise comes from.
#[derive(Clone, Copy, Default)]
struct Origin {
    /// Index in the lines.
    line: usize,
    /// Row of the array.
    row: usize,
}

impl<'a> Packed<'a> {
    pub(super) fn new(site: Site<'a>, lines: &'a [Lines]) -> Self {
        let (places, origins, counts) =
            ([Place::default(); LONGEST], [Origin::default(); LONGEST], [0; LONGEST]);
        Self { site, lines, len: 0, places, origins, counts }
    }

    /// Adds the cells of a column that are pulsed, whose lines are number `line` and whose first row is `row` of the array;
    /// `place` says where row number i lies.
    pub(super) fn add(
        &mut self,
        counts: &[i32],
        (line, row): (usize, usize),
        place: impl Fn(usize) -> Place,
        band: &mut Band<'_>,
    ) {
        for (i, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            if self.len == LONGEST {
                self.send(band);
            }
            self.places[self.len] = place(i);
            self.origins[self.len] = Origin { line, row: row + i };
            self.counts[self.len] = *count;
            self.len += 1;
        }
    }

    /// Sends the pulses collected so far; whoever drew them has counted them.
    pub(super) fn send(&mut self, band: &mut Band<'_>) {
        let len = std::mem::take(&mut self.len);
        if len == 0 {
            return;
        }
        let directions = self.counts;
        let (places, origins, counts) = (&self.places[..len], &self.origins[..len], &mut self.counts[..len]);
        let (lines, at_once) = (self.lines, self.site.cells.at_once);
        let pulse = |n: u32, counts: &[i32], xi: &mut [f32]| {
            simd::dispatch(Draw {
                lines,
                origins,
                wanted: |k: usize| counts[k].unsigned_abs() > n,
                pulse: Some(n),
                xi,
            });
        };
        let shown = |xi: &mut [f32]| {
            simd::dispatch(Draw { lines, origins, wanted: |_| true, pulse: None, xi });
        };
        let up = |k: usize| directions[k] > 0;
        self.site.together(places, up, band.weights, band.hidden.as_deref_mut(), |stretch, seen, hidden| {
            stretch.send(at_once, counts, seen, hidden, pulse, shown);
        });
    }
}

/// Noise of the cells that want it: that of a pulse, or what a read sees.
struct Draw<'a, W> {
    lines: &'a [Lines],
    origins: &'a [Origin],
    wanted: W,
    pulse: Option<u32>,
    xi: &'a mut [f32],
}

impl<W: Fn(usize) -> bool> Kernel for Draw<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Cells of one column and one chunk of draws are neighbours.
        let mut drawn = None;
        let mut draws = [0.0; BAND];
        for (k, Origin { line, row }) in self.origins.iter().enumerate() {
            if (self.wanted)(k) {
                let chunk = Some((*line, row / BAND));
                if drawn != chunk {
                    draws = self.lines[*line].noise(self.pulse, row / BAND);
                    drawn = chunk;
                }
                self.xi[k] = draws[row % BAND];
            }
        }
    }
}
