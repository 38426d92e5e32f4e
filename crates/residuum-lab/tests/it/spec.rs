//! Parts of the reader of specs.

mod aihwkit;
mod difference;
mod hardware;
mod node;
mod overlay;
mod record;
