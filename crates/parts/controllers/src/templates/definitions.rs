//! Whether the server serves by now what definitions say.

use std::collections::BTreeSet;

use client::Discovery;
use object::{GroupKind, GroupVersionKind, Object, Value};
use policy::Exemptions;

/// Whether discovery knows a definition as it is by now, if that says that it is established: whoever is told of a change
/// may ask before the server has adopted it, and is not told again.
pub(super) fn is_adopted(
    definition: &Object,
    discovery: &Discovery,
    exemptions: &Exemptions,
) -> bool {
    if !is_established(definition) {
        return true;
    }
    let text = |path: &[&str]| definition.text_at(path).unwrap_or_default();
    let kind = GroupKind::new(text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    let found = discovery.resources.iter();
    let found = found.filter(|found| found.resource.kind.group_kind() == kind);
    let found: BTreeSet<&str> = found
        .map(|found| found.resource.kind.version.as_str())
        .collect();
    // What is never propagated may be built in, and in versions that no definition names.
    let any_version = GroupVersionKind::new(kind.group, "", kind.kind);
    match exemptions.skips_kind(&any_version) {
        true => !found.is_empty(),
        false => found == served_versions(definition),
    }
}

/// The versions that a definition says are served.
fn served_versions(definition: &Object) -> BTreeSet<&str> {
    let versions = definition.at(&["spec", "versions"]);
    let versions = versions.and_then(Value::as_array).into_iter().flatten();
    versions
        .filter(|version| version.get("served") == Some(&Value::Bool(true)))
        .filter_map(|version| version.get("name")?.as_str())
        .collect()
}

fn is_established(definition: &Object) -> bool {
    let conditions = definition.at(&["status", "conditions"]);
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions.any(|condition| {
        let says = |field: &str, text: &str| condition.get(field).is_some_and(|says| says == text);
        says("type", "Established") && says("status", "True")
    })
}

#[cfg(test)]
mod tests {
    use client::Discovered;
    use object::ResourceType;

    use super::*;
    use crate::told::one;

    #[test]
    fn a_definition_is_adopted_once_its_versions_are_served_and_no_other() {
        for (group, served, found, expected) in [
            ("acme.io", "[v1]", &["v1"][..], true),
            ("acme.io", "[v1]", &[], false),
            ("acme.io", "[v1]", &["v1", "v1beta1"], false),
            ("acme.io", "[v1, v1beta1]", &["v1"], false),
            ("acme.io", "[v1, v1beta1]", &["v1", "v1beta1"], true),
            // Built in as well, and in more versions.
            ("work.karmada.io", "[v1]", &["v1", "v1beta1"], true),
        ] {
            let versions: Vec<String> = ["v1", "v1beta1", "v1alpha1"]
                .iter()
                .map(|version| {
                    let is_served = served.contains(&format!("{version}]"))
                        || served.contains(&format!("{version},"));
                    format!("{{name: {version}, served: {is_served}}}")
                })
                .collect();
            let definition = |established: &str| {
                one(&format!(
                    "{{metadata: {{name: d}}, spec: {{group: {group}, names: {{kind: Widget}}, versions: [{}]}}, status: {{conditions: [{{type: Established, status: '{established}'}}]}}}}",
                    versions.join(", ")
                ))
            };
            let found = found.iter().map(|version| Discovered {
                resource: ResourceType::namespaced(group, version, "Widget", "widgets"),
                ..Discovered::default()
            });
            let discovery = Discovery {
                resources: found.collect(),
                ..Discovery::default()
            };
            let is_adopted = |established: &str| {
                let definition = definition(established);
                is_adopted(&definition, &discovery, &Exemptions::default())
            };
            assert_eq!(is_adopted("True"), expected, "{group} {served}");
            assert!(is_adopted("False"), "{group} {served}");
        }
    }
}
