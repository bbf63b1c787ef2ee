//! Names that are computed: bindings, works, execution spaces and the keys they refer to each other by.
//!
//! Other tools and existing installations compute the same names, so every rule here is part of the API.

/// Namespace of the control plane's own objects.
pub const SYSTEM_NAMESPACE: &str = "karmada-system";

/// Namespace of what the control plane keeps about its members: leases and secrets.
pub const CLUSTER_NAMESPACE: &str = "karmada-cluster";

/// Before the name of a cluster: the namespace that holds its works.
pub const EXECUTION_SPACE_PREFIX: &str = "karmada-es-";

/// The account in a member that impersonates users on the way through the cluster proxy; also its role and binding.
pub const IMPERSONATOR_ACCOUNT: &str = "karmada-impersonator";

/// After the name of a cluster: the secret with the token of its impersonator.
const IMPERSONATION_SUFFIX: &str = "-impersonator";

/// Where the name of a cluster stands in an agent's name: whoever registers agents with the reference, and may do everything.
const AGENT_REGISTRAR: &str = "rbac-generator";

/// Before the name of a cluster: the service of its estimator, unless configured otherwise.
pub const ESTIMATOR_PREFIX: &str = "karmada-scheduler-estimator";

/// The binding of the template of that kind and name: `nginx-deployment`.
///
/// Neither group nor namespace is part of it: templates of equal kinds and names in two groups share a binding.
#[must_use]
pub fn binding_name(kind: &str, name: &str) -> String {
    format!("{}-{kind}", dotted(name)).to_lowercase()
}

/// The work for the template of that kind, name and namespace: `nginx-687f7fb96f`. The namespace is empty for
/// cluster-wide templates.
#[must_use]
pub fn work_name(kind: &str, name: &str, namespace: &str) -> String {
    let name = dotted(name).to_lowercase();
    let key = if namespace.is_empty() {
        format!("{name}-{kind}")
    } else {
        format!("{namespace}-{name}-{kind}")
    };
    format!("{name}-{}", short_hash(&key.to_lowercase()))
}

/// The end of the label by which a binding is known to those it depends on: `5bdc5c4dcf`.
#[must_use]
pub fn binding_reference_key(namespace: &str, name: &str) -> String {
    short_hash(&namespaced_key(namespace, name))
}

/// The policy that the command line makes for a template; `kind` is the kind with its group and version, as
/// `GroupVersionKind` prints it.
#[must_use]
pub fn policy_name(namespace: &str, name: &str, kind: &str) -> String {
    format!(
        "{}-{}",
        dotted(name),
        short_hash(&format!("{namespace}{kind}"))
    )
    .to_lowercase()
}

/// `namespace/name`, or `name` for cluster-wide objects.
#[must_use]
pub fn namespaced_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}/{name}")
}

/// The namespace that holds the works of a cluster.
#[must_use]
pub fn execution_space(cluster: &str) -> String {
    format!("{EXECUTION_SPACE_PREFIX}{cluster}")
}

/// The cluster whose works a namespace holds, if it holds any.
#[must_use]
pub fn cluster_of_execution_space(namespace: &str) -> Option<&str> {
    namespace.strip_prefix(EXECUTION_SPACE_PREFIX)
}

/// Whether a namespace is the control plane's own, so that nothing in it is a template.
#[must_use]
pub fn is_reserved_namespace(namespace: &str) -> bool {
    namespace == SYSTEM_NAMESPACE
        || namespace == CLUSTER_NAMESPACE
        || namespace.starts_with(EXECUTION_SPACE_PREFIX)
}

/// The secret with the token of a cluster's impersonator.
#[must_use]
pub fn impersonation_secret(cluster: &str) -> String {
    format!("{cluster}{IMPERSONATION_SUFFIX}")
}

/// Why no cluster may have a name that could be one's otherwise: what is kept for a cluster under a name made of its own
/// would be something else's. `None` if it may have the name.
#[must_use]
pub fn reserved_cluster_name(name: &str) -> Option<String> {
    if name == AGENT_REGISTRAR {
        return Some("it is the name under which agents are registered".to_owned());
    }
    if member_account(name) == IMPERSONATOR_ACCOUNT {
        return Some(format!(
            "its account in the cluster would be {IMPERSONATOR_ACCOUNT}, which acts for users there"
        ));
    }
    let other = name.strip_suffix(IMPERSONATION_SUFFIX)?;
    Some(format!(
        "its secret would be the one for the impersonator of a cluster {other}"
    ))
}

/// The account of the control plane in a member.
#[must_use]
pub fn member_account(cluster: &str) -> String {
    format!("karmada-{cluster}")
}

/// The role of the control plane in a member, and its binding.
#[must_use]
pub fn member_role(cluster: &str) -> String {
    format!("karmada-controller-manager:{}", member_account(cluster))
}

/// The service that stands for an imported one.
#[must_use]
pub fn derived_service(service: &str) -> String {
    format!("derived-{service}")
}

/// The copy of a member's EndpointSlice that came in through a ServiceExport.
#[must_use]
pub fn imported_endpoint_slice(cluster: &str, slice: &str) -> String {
    format!("imported-{cluster}-{slice}")
}

/// The copy of a provider's EndpointSlice that a MultiClusterService hands to consumers.
#[must_use]
pub fn dispatched_endpoint_slice(provider: &str, slice: &str) -> String {
    format!("{provider}-{slice}")
}

/// The service of a cluster's estimator.
#[must_use]
pub fn estimator_service(prefix: &str, cluster: &str) -> String {
    format!("{prefix}-{cluster}")
}

/// A text's FNV-1a hash as 1 to 10 letters and digits that spell no words.
#[must_use]
pub fn short_hash(text: &str) -> String {
    /// Kubernetes' safe letters and digits: no vowels, and nothing that looks like one.
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let digit = |digit: u8| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]);
    fnv1a(text.as_bytes())
        .to_string()
        .bytes()
        .map(digit)
        .collect()
}

/// The 32-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u32 {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.iter().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(PRIME)
    })
}

/// Names of roles may have colons, names of bindings and works may not.
fn dotted(name: &str) -> String {
    name.replace(':', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_named_by_template_and_hash() {
        for (kind, name, namespace, expected) in [
            ("Deployment", "nginx", "default", "nginx-687f7fb96f"),
            ("Service", "nginx", "default", "nginx-64b7849b5"),
            ("Namespace", "default", "", "default-5b5ccb595b"),
            (
                "ClusterRole",
                "system:node:Foo",
                "",
                "system.node.foo-58844b54c5",
            ),
            (
                "CustomResourceDefinition",
                "foos.example.com",
                "",
                "foos.example.com-66c968c6cb",
            ),
        ] {
            assert_eq!(work_name(kind, name, namespace), expected);
        }
    }

    #[test]
    fn bindings_are_named_by_template_and_kind() {
        for (kind, name, expected) in [
            ("Deployment", "nginx", "nginx-deployment"),
            ("ClusterRole", "system::tom", "system..tom-clusterrole"),
            (
                "ClusterRole",
                "system:node:Foo",
                "system.node.foo-clusterrole",
            ),
        ] {
            assert_eq!(binding_name(kind, name), expected);
        }
    }

    #[test]
    fn references_hash_the_key_of_the_binding() {
        assert_eq!(binding_reference_key("test", "test-binding"), "5dbb6dc9c8");
        assert_eq!(
            binding_reference_key("default", "nginx-deployment"),
            "5bdc5c4dcf"
        );
        assert_eq!(binding_reference_key("", "x"), short_hash("x"));
    }

    #[test]
    fn policies_hash_namespace_and_kind() {
        assert_eq!(
            policy_name("ns-foo", "system:foo", "rand"),
            "system.foo-b4978784"
        );
    }

    #[test]
    fn digits_of_the_hash_map_to_safe_letters() {
        // The alphabet is indexed by character code: '0' is 48, and 48 modulo 27 is 21, a '4'.
        let shown: String = ('0'..='9')
            .map(|digit| char::from(b"bcdfghjklmnpqrstvwxz2456789"[digit as usize % 27]))
            .collect();
        assert_eq!(shown, "456789bcdf");
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
    }

    #[test]
    fn execution_spaces_name_their_cluster() {
        assert_eq!(execution_space("m1"), "karmada-es-m1");
        assert_eq!(cluster_of_execution_space("karmada-es-m1"), Some("m1"));
        assert_eq!(cluster_of_execution_space("default"), None);
        for (namespace, expected) in [
            ("karmada-system", true),
            ("karmada-cluster", true),
            ("karmada-es-m1", true),
            ("karmada", false),
            ("default", false),
        ] {
            assert_eq!(is_reserved_namespace(namespace), expected, "{namespace}");
        }
    }

    #[test]
    fn no_cluster_has_a_name_by_which_its_things_would_be_anothers() {
        for (name, expected) in [
            ("m1", None),
            ("impersonator-1", None),
            ("rbac-generator-1", None),
            ("rbac-generator", Some("under which agents are registered")),
            ("impersonator", Some("would be karmada-impersonator")),
            ("m1-impersonator", Some("the impersonator of a cluster m1")),
        ] {
            let found = reserved_cluster_name(name);
            let is_as_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_as_expected, "{name}: {found:?}");
        }
    }

    #[test]
    fn members_know_the_control_plane_by_these_names() {
        assert_eq!(member_account("m1"), "karmada-m1");
        assert_eq!(member_role("m1"), "karmada-controller-manager:karmada-m1");
        assert_eq!(impersonation_secret("m1"), "m1-impersonator");
        assert_eq!(derived_service("web"), "derived-web");
        assert_eq!(imported_endpoint_slice("m1", "web-x"), "imported-m1-web-x");
        assert_eq!(dispatched_endpoint_slice("m1", "web-x"), "m1-web-x");
        assert_eq!(
            estimator_service(ESTIMATOR_PREFIX, "m1"),
            "karmada-scheduler-estimator-m1"
        );
    }
}
