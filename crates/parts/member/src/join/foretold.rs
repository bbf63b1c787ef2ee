//! What letting a cluster go would do, in sentences for people.

use api::names::execution_space;
use object::Object;

use crate::join::belongings::Belongings;
use crate::join::leave::UnjoinOptions;
use crate::join::remains::{Remains, some_of, staying, uncertain, unmanaged};

/// What would become of a cluster and of what is in it. `belongings` are what joining made there, if the member's own
/// kubeconfig was given.
pub(super) fn foretold(
    cluster: &Object,
    remains: &Remains,
    belongings: Option<&Belongings>,
    options: &UnjoinOptions,
) -> Vec<String> {
    let mut all = Vec::new();
    match (remains.was_ready, remains.is_empty(), options.force) {
        (true, ..) => all.extend(taken_out(remains)),
        (false, true, _) => {}
        (false, false, true) => {
            all.push("it is not ready: nothing would be deleted in the member".to_owned());
            all.extend(left(remains));
        }
        (false, false, false) => {
            all.push("it is not ready: only with --force would it be let go".to_owned());
            all.extend(left(remains));
        }
    }
    let name = cluster.name();
    let mut here = vec![
        format!("Cluster {name}"),
        format!("Namespace {} with its Works", execution_space(name)),
    ];
    for field in ["secretRef", "impersonatorSecretRef"] {
        let text = |part: &str| cluster.text_at(&["spec", field, part]);
        if let (Some(namespace), Some(name)) = (text("namespace"), text("name")) {
            here.push(format!("Secret {namespace}/{name}"));
        }
    }
    let here = here.join(", ");
    all.push(format!("would be deleted in the control plane: {here}"));
    match belongings {
        Some(belongings) => all.extend(belongings.foretold()),
        None => all.push(format!(
            "the accounts and roles of the control plane in namespace {} of the member would stay",
            options.place()
        )),
    }
    all
}

/// What goes from a member that can be reached, and what stays even so.
fn taken_out(remains: &Remains) -> Vec<String> {
    let is_space = |object: &&String| {
        let name = object.strip_prefix("Namespace ");
        name.is_some_and(|name| remains.namespaces.iter().any(|space| space == name))
    };
    let objects = remains.objects.iter().chain(&remains.doubtful);
    let going: Vec<String> = objects.filter(|one| !is_space(one)).cloned().collect();
    let mut all = Vec::new();
    if !going.is_empty() {
        all.push(format!(
            "would be deleted in the member: {}",
            some_of(&going)
        ));
    }
    if !remains.namespaces.is_empty() {
        all.push(staying(&remains.namespaces));
    }
    all
}

fn left(remains: &Remains) -> Vec<String> {
    let objects = Some(&remains.objects).filter(|objects| !objects.is_empty());
    let doubtful = Some(&remains.doubtful).filter(|objects| !objects.is_empty());
    let objects = objects.map(|objects| unmanaged(objects)).into_iter();
    objects
        .chain(doubtful.map(|objects| uncertain(objects)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resources;
    use crate::testing::object;

    #[test]
    fn what_would_go_and_what_would_stay_is_told_of_both_sides() {
        let cluster = object(json!({
            "metadata": {"name": "m1"}, "spec": {"secretRef": {"namespace": "karmada-cluster", "name": "m1"}},
        }));
        let role = object(json!({
            "kind": "ClusterRole", "metadata": {"name": "karmada-controller-manager:karmada-m1"},
        }));
        let belongings = Belongings {
            going: vec![(resources::cluster_roles(), role)],
            staying: vec![
                "namespace karmada-cluster in the member stays: it holds another".to_owned(),
            ],
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (claim, was_ready, force, is_reached, expected) in [
            (
                "in good order",
                true,
                false,
                false,
                "would be deleted in the member: Deployment shop/web
1 namespace stays in the member with what else is in it, since it is not deleted in the control plane: shop
would be deleted in the control plane: Cluster m1, Namespace karmada-es-m1 with its Works, Secret karmada-cluster/m1
the accounts and roles of the control plane in namespace karmada-cluster of the member would stay",
            ),
            (
                "with its kubeconfig",
                true,
                false,
                true,
                "would be deleted in the member: Deployment shop/web
1 namespace stays in the member with what else is in it, since it is not deleted in the control plane: shop
would be deleted in the control plane: Cluster m1, Namespace karmada-es-m1 with its Works, Secret karmada-cluster/m1
would be deleted in the member too: ClusterRole karmada-controller-manager:karmada-m1
would be left behind: namespace karmada-cluster in the member stays: it holds another",
            ),
            (
                "away",
                false,
                false,
                false,
                "it is not ready: only with --force would it be let go
2 objects stay in the member and are no longer managed: Deployment shop/web, Namespace shop
would be deleted in the control plane: Cluster m1, Namespace karmada-es-m1 with its Works, Secret karmada-cluster/m1
the accounts and roles of the control plane in namespace karmada-cluster of the member would stay",
            ),
            (
                "by force",
                false,
                true,
                false,
                "it is not ready: nothing would be deleted in the member
2 objects stay in the member and are no longer managed: Deployment shop/web, Namespace shop
would be deleted in the control plane: Cluster m1, Namespace karmada-es-m1 with its Works, Secret karmada-cluster/m1
the accounts and roles of the control plane in namespace karmada-cluster of the member would stay",
            ),
        ] {
            let remains = Remains {
                objects: names(&["Deployment shop/web", "Namespace shop"]),
                doubtful: Vec::new(),
                namespaces: names(&["shop"]),
                was_ready,
            };
            let options = UnjoinOptions {
                force,
                ..UnjoinOptions::new("m1")
            };
            let told = foretold(&cluster, &remains, is_reached.then_some(&belongings), &options);
            assert_eq!(told.join("\n"), expected, "{claim}");
        }
    }
}
