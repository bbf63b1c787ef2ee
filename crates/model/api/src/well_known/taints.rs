//! Keys of the taints that the control plane puts on clusters.

/// The cluster says that it is not ready.
pub const NOT_READY: &str = "cluster.karmada.io/not-ready";

/// The cluster does not answer.
pub const UNREACHABLE: &str = "cluster.karmada.io/unreachable";

/// Somebody keeps new work away from the cluster (`cordon`).
pub const UNSCHEDULABLE: &str = "cluster.karmada.io/unschedulable";
