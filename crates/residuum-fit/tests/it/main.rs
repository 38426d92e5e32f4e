//! Integration tests, one program.
mod cases;
