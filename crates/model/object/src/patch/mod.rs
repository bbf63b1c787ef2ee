//! Changes to objects, as values: JSON Patch, JSON merge patch, and laying a typed edit over an untyped object.
//!
//! `serve` applies what clients send: [`JsonPatch`] (RFC 6902) and [`merge`] (RFC 7386). Overrides are JSON patches
//! too. Whoever edits an object through a typed view carries the edit back with [`overlay`], so that fields the view
//! does not know survive. [`Pointer`] (RFC 6901) is how all of them name a place.
//!
//! Invariants: a change either applies as a whole or leaves its input as it was; fields that are not changed keep
//! their order; no patch makes an object deeper than [`DEPTH_LIMIT`](crate::parse::DEPTH_LIMIT).

mod apply;
mod json_patch;
mod merge;
mod overlay;
mod pointer;
#[cfg(test)]
mod tests;

pub use self::{
    apply::{ApplyError, MAX_COPIED_BYTES, Problem, Replace},
    json_patch::{DecodeError, JsonPatch, MAX_OPERATIONS, Operation},
    merge::{diff, merge},
    overlay::overlay,
    pointer::{ParsePointerError, Pointer},
};
