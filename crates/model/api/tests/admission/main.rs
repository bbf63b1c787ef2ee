//! What admission makes of objects: YAML in; what is stored, or who refuses it and for which fields, out.

mod acceptance;
mod bindings;
mod case;
mod clusters;
mod defaults;
mod interpreters;
mod pitfalls;
mod policies;
mod scaling;
mod services;
mod works;

#[path = "../round_trip/arbitrary.rs"]
mod arbitrary;
mod properties;
