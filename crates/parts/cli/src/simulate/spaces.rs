//! What would become of namespaces, which go to every cluster without a policy.

use std::collections::BTreeSet;

use object::Object;

use super::fate::{ClusterFate, Fate, What};
use super::works::{Scene, lost, send, works_of};
use super::{Template, change};
use crate::picture::is_namespace;

/// Whether an object is a namespace that goes to clusters by itself.
pub(super) fn travels(scene: Scene<'_>, object: &Object) -> bool {
    is_namespace(object) && scene.after.keeps_at_home(object).is_none()
}

/// What would become of a namespace that no policy claims; `None` if nothing is to be said of it.
pub(super) fn fate(scene: Scene<'_>, template: &Template) -> Option<Fate> {
    let namespace = template.object.main();
    let mut fate = template.fate();
    let works = works_of(scene.templates, namespace);
    if let Some(why) = scene.after.keeps_at_home(namespace) {
        // Works that are there stay when a namespace opts out later.
        fate.remarks.push(format!("goes to no cluster: {why}"));
        return template.is_supposed.then_some(fate);
    }
    let mut names: BTreeSet<&str> = scene.after.clusters.keys().map(String::as_str).collect();
    names.extend(works.keys());
    let one = |cluster: &str| {
        let mut fate = match scene.lost.iter().any(|lost| lost == cluster) {
            true => lost(works.get(cluster).copied()),
            false => in_cluster(scene, template, cluster, works.get(cluster).copied()),
        };
        fate.cluster = cluster.to_owned();
        fate
    };
    fate.clusters = names.into_iter().map(one).collect();
    fate.remarks
        .push("goes to every cluster, as namespaces do".to_owned());
    Some(fate)
}

/// What would become of a namespace in a cluster that gets it for no other reason.
pub(super) fn in_cluster(
    scene: Scene<'_>,
    template: &Template,
    cluster: &str,
    work: Option<&Object>,
) -> ClusterFate {
    let namespace = template.object.main();
    match scene.after.render_namespace(namespace, cluster, work) {
        Ok((sent, steps)) => {
            let fate = send(work, sent.into_value(), false);
            // What should be there anyway does not come because of what is supposed.
            let is_due = work.is_none() && is_due(scene, template, cluster);
            ClusterFate {
                is_old: fate.is_old || is_due,
                overridden: change::overridden(namespace, &steps),
                ..fate
            }
        }
        Err(why) => {
            let former = template.former().and_then(|former| {
                let rendered = scene.before.render_namespace(former.main(), cluster, work);
                rendered.err()
            });
            ClusterFate {
                is_old: former.is_some_and(|former| former == why),
                what: What::Refused(why),
                ..ClusterFate::default()
            }
        }
    }
}

/// Whether a namespace goes to a cluster as things are.
fn is_due(scene: Scene<'_>, template: &Template, cluster: &str) -> bool {
    let former = template.former();
    let goes = former.is_some_and(|former| scene.before.keeps_at_home(former.main()).is_none());
    goes && scene.before.clusters.contains_key(cluster)
}
