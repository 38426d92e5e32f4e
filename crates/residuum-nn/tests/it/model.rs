//! Models before they are built.

mod build;
mod plan;
