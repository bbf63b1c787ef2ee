//! Reports on a member: health, version, kinds, room.

mod plan;
#[cfg(test)]
mod tests;
