//! Rules on tiles.
