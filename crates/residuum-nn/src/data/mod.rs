//! Data sets: where they come from, how they are read, and in which order a training run meets them.
