//! Which cluster it is, and whether it or its name is known already.

use api::cluster::Cluster;
use api::names::{IMPERSONATOR_ACCOUNT, cluster_of_execution_space, reserved_cluster_name};
use client::{Client, ListOptions};
use object::{Object, ObjectKey, names::check_dns1123_label};

use crate::join::{Holder, JoinError, in_control_plane, in_member};
use crate::resources;
use crate::works::connection::work_of;

/// The prefix of the execution namespace takes the rest of the 63 characters.
const LONGEST_NAME: usize = 48;

/// Checks a name before anything is asked of anybody.
pub(super) fn check_name(name: &str) -> Result<(), JoinError> {
    let problem = if name.is_empty() {
        Some("must be not empty".to_owned())
    } else if name.len() > LONGEST_NAME {
        Some(format!("must be no more than {LONGEST_NAME} characters"))
    } else {
        let problem = check_dns1123_label(name).into_iter().next();
        problem.or_else(|| reserved_cluster_name(name))
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(JoinError::Name {
            name: name.to_owned(),
            problem,
        }),
    }
}

/// What tells a cluster from all others: the uid of its `kube-system` namespace.
pub(super) async fn read_id(member: &Client) -> Result<String, JoinError> {
    let key = ObjectKey::cluster("kube-system");
    let namespace = member.get_metadata(&resources::namespaces(), &key).await;
    let namespace = namespace.map_err(in_member("read the namespace kube-system"))?;
    Ok(namespace.uid().to_owned())
}

/// What tells the control plane from all others; `None` for whoever may not look at its namespaces.
pub(super) async fn own_id(control: &Client) -> Option<String> {
    let id = read_id(control).await.ok();
    id.filter(|id| !id.is_empty())
}

/// The name under which another control plane has a cluster, as its rules of impersonation there say. Their names are the
/// same whoever brings them, so that only one control plane can have its own.
pub(super) async fn shared_as(member: &Client, name: &str) -> Result<Option<String>, JoinError> {
    let key = ObjectKey::cluster(IMPERSONATOR_ACCOUNT);
    let role = match member.get_metadata(&resources::cluster_roles(), &key).await {
        Ok(role) => role,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(in_member(format!("read the role {}", key.name))(error)),
    };
    let work = work_of(&role);
    let other = work
        .as_ref()
        .and_then(|work| cluster_of_execution_space(&work.namespace));
    Ok(other.filter(|other| *other != name).map(str::to_owned))
}

/// The name under which a cluster was registered before it was under another, if it was: two joins at once find each other
/// only afterwards.
///
/// Invariant: of two registrations one was first, and only the other sees it: what is listed is the state in which it was
/// made. Where nobody knows that state any more, both may see each other, and none is left.
pub(super) async fn registered_before(control: &Client, made: &Object, id: &str) -> Option<String> {
    let resource = resources::of::<Cluster>();
    let then = ListOptions {
        resource_version: made.resource_version().to_owned(),
        resource_version_match: "Exact",
        ..ListOptions::default()
    };
    let listed = match control.list_all(&resource, "", &then).await {
        Ok(listed) => listed,
        // Who cannot tell at all leaves it to the condition on both.
        Err(_) => {
            let newest = ListOptions::default();
            control.list_all(&resource, "", &newest).await.ok()?
        }
    };
    let has_id = |cluster: &&Object| cluster.text_at(&["spec", "id"]) == Some(id);
    let mut others = listed.items.iter().filter(has_id);
    let other = others.find(|cluster| !id.is_empty() && cluster.uid() != made.uid());
    other.map(|cluster| cluster.name().to_owned())
}

/// The clusters that have joined.
pub(super) async fn joined(control: &Client) -> Result<Vec<Object>, JoinError> {
    let clusters = control
        .list_all(&resources::of::<Cluster>(), "", &ListOptions::default())
        .await;
    Ok(clusters
        .map_err(in_control_plane("list the clusters"))?
        .items)
}

/// Refuses a cluster that has joined under any name, and a name that any cluster has.
pub(super) fn check_unregistered(
    clusters: &[Object],
    name: &str,
    id: &str,
) -> Result<(), JoinError> {
    let holders = clusters.iter().filter_map(|cluster| {
        let known = cluster.text_at(&["spec", "id"]).unwrap_or_default();
        let (has_name, has_id) = (cluster.name() == name, !id.is_empty() && known == id);
        match (has_name, has_id) {
            (true, true) => Some(Holder::Itself),
            (false, true) => Some(Holder::Id(cluster.name().to_owned())),
            (true, false) => Some(Holder::Name(known.to_owned())),
            (false, false) => None,
        }
    });
    // Where one cluster has the name and another the id, the id is the news: a name is changed easily.
    let holder = holders.min_by_key(|holder| matches!(holder, Holder::Name(_)));
    match holder {
        None => Ok(()),
        Some(holder) => Err(JoinError::Registered {
            id: id.to_owned(),
            name: name.to_owned(),
            holder,
        }),
    }
}
