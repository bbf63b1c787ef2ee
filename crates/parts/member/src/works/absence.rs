//! What it means that a member does not serve a kind.
//!
//! Objects go with the definition of their kind. But a whole group may be away for a moment, as when the server behind it is,
//! and what was brought is still there when it is back: to forget it then would leave it behind for good.

use client::{CompleteView, Discovery};
use object::GroupVersionKind;

/// What a member says of the kinds it serves and why.
pub(super) struct Said<'a> {
    /// What it serves.
    pub(super) discovery: &'a Discovery,
    /// The names of its definitions and of the servers that stand in for it, each with the group at its end; `None` while not
    /// all of them are in view.
    pub(super) defined: Option<Vec<&'a str>>,
}

/// Whether there is nothing left of a kind that the member does not serve.
pub(super) fn is_gone(kind: &GroupVersionKind, said: &Said<'_>) -> bool {
    let Discovery { resources, failed } = said.discovery;
    // Another version of the group, which could not be read, may have it.
    if failed
        .iter()
        .any(|failed| failed.group_version.group == kind.group)
    {
        return false;
    }
    let is_group_served = resources
        .iter()
        .any(|found| found.resource.kind.group == kind.group);
    if is_group_served {
        // The group is there and does not have it.
        return true;
    }
    let is_own = !kind.group.contains('.') || kind.group.ends_with(".k8s.io");
    let of_group = |name: &str| {
        let rest = name.strip_suffix(kind.group.as_str());
        rest.is_some_and(|rest| rest.ends_with('.'))
    };
    // What Kubernetes itself serves is not defined by anybody who could take it away.
    !is_own
        && said
            .defined
            .as_ref()
            .is_some_and(|defined| !defined.iter().any(|name| of_group(name)))
}

/// The names in views that are all complete.
pub(super) fn names(views: &[Option<CompleteView>]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for view in views {
        names.extend(view.as_ref()?.keys().map(|key| key.name.as_str()));
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use client::{Discovered, FailedGroup};
    use object::{GroupVersion, ResourceType};

    use super::*;

    #[test]
    fn a_kind_is_gone_when_its_group_says_so_or_nobody_defines_it() {
        let served = |group: &str| Discovered {
            resource: ResourceType::namespaced(group, "v1", "Other", "others"),
            ..Discovered::default()
        };
        let discovery = Discovery {
            resources: ["", "batch", "served.io", "half.io"].map(served).into(),
            failed: vec![FailedGroup {
                group_version: GroupVersion::new("half.io", "v2"),
                message: String::new(),
            }],
        };
        let crd = "widgets.acme.io";
        let server = "v1.acme.io";
        for (claim, group, defined, expected) in [
            ("the group lacks it", "batch", None, true),
            (
                "another kind of the group is there",
                "served.io",
                None,
                true,
            ),
            ("one version of the group is away", "half.io", None, false),
            ("a group of Kubernetes is away", "apps", Some(vec![]), false),
            ("another one", "networking.k8s.io", Some(vec![]), false),
            (
                "nobody defines it",
                "acme.io",
                Some(vec!["x.macme.io"]),
                true,
            ),
            ("it is defined", "acme.io", Some(vec![crd]), false),
            ("a server stands in", "acme.io", Some(vec![server]), false),
            ("not all are in view", "acme.io", None, false),
        ] {
            let kind = GroupVersionKind::new(group, "v1", "Widget");
            let said = Said {
                discovery: &discovery,
                defined,
            };
            assert_eq!(is_gone(&kind, &said), expected, "{claim}");
        }
    }
}
