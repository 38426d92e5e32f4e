//! Private items that the tests of this crate need. No part of the API: anything here may change or go at any time.
//!
//! The tests are a program of their own (`tests/it`), so that the library is compiled once and not again for them.

/// Of `expression`.
pub mod expression {
    pub use crate::expression::error::closest;
}

/// Of `key`.
pub mod key {
    /// Ten rounds of Philox 4×32.
    pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
        crate::key::philox(counter, key)
    }
}

/// Of `normal32`.
pub mod normal32 {
    pub use crate::normal32::{CHUNK, LANES, PAIRS, box_muller, centered_uniforms, cos_sin_turn, ln, normals};
}

/// Of `objective`.
pub mod objective {
    pub use crate::objective::noise::folded_normal;
}

/// Of `readout`.
pub mod readout {
    pub use crate::readout::product::{Forward, LANES, REPAYS, ReadDirection, Transposed, Workspace, product};

    /// What the buffers of a scratch, and those of each of its blocks, hold without another allocation.
    pub fn capacities(scratch: &crate::readout::Scratch) -> ([usize; 2], Vec<[usize; 7]>) {
        scratch.capacities()
    }
}

/// Of `response`.
pub mod response {
    pub use crate::response::breaks::{Break, Kind, worst};
    pub use crate::response::scan::{CELLS, lowest, nearest_root, points, tails};
}

/// Of `rule`.
pub mod rule {
    pub use crate::rule::warm_start::Warming;
}

/// Of `stream`.
pub mod stream {
    pub use crate::stream::{CHUNK, LANES, Stream, minus_two_ln, pair};
}

/// Of `tile`.
pub mod tile {
    use crate::tile::Tile;
    pub use crate::tile::pulse::group::RowFire;
    pub use crate::tile::pulse::lines::{Lines, Meeting, SIGN};

    /// Whether trains are taken at once or pulse by pulse, whatever the device would say.
    pub fn take_at_once(tile: &mut Tile, at_once: bool) {
        tile.cells.at_once = at_once;
    }

    /// The same tile with the same parameters, kept in f32.
    pub fn in_f32(tile: &Tile) -> Tile {
        let mut single = tile.clone();
        single.cells = tile.cells.in_f32();
        single
    }

    /// The trains of the last update.
    pub fn lines(tile: &Tile) -> &Lines {
        &tile.lines
    }

    /// The state of cell `i` after one pulse from `w` with noise `xi`.
    pub fn one_pulse(tile: &Tile, i: usize, up: bool, w: f32, xi: f32) -> f32 {
        crate::tile::pulse::one(tile.device(), tile.cells.span(i, i + 1, &mut tile.cells.room()), i, up, w, xi)
    }

    /// The size of the next step of cell `i` from `w`, without noise.
    pub fn step_size(tile: &Tile, i: usize, up: bool, w: f32) -> f32 {
        let mut room = tile.cells.room();
        let span = tile.cells.span(i, i + 1, &mut room);
        tile.device().step_size(span.cells, i - span.first, up, w)
    }
}
