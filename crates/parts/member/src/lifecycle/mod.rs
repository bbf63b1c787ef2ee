//! What a cluster needs around it in the control plane: its execution namespace, its finalizer, its taints; and the order
//! in which all that goes.

mod plan;
mod taints;
#[cfg(test)]
mod tests;
