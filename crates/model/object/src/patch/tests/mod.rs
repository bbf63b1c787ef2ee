//! Patches against tables, and their laws against random documents.

mod json_patch;
mod merge;
mod overlay;
mod pointer;
