//! What would become of namespaces, which go to every cluster without a policy.

use std::collections::BTreeSet;

use super::Template;
use super::change;
use super::fate::{ClusterFate, Fate, What};
use super::works::{Scene, manifest_of, works_of};

/// What would become of a namespace that no policy claims; `None` if nothing is to be said of it.
pub(super) fn fate(scene: Scene<'_>, template: &Template) -> Option<Fate> {
    let namespace = &template.object;
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
        let work = works.get(cluster).copied();
        let mut fate = ClusterFate {
            cluster: cluster.to_owned(),
            ..ClusterFate::default()
        };
        if scene.lost.iter().any(|lost| lost == cluster) {
            fate.what = What::Lost;
            return fate;
        }
        match scene.after.render_namespace(namespace, cluster, work) {
            Ok(sent) => match work {
                None => {
                    fate.what = What::Created;
                    fate.sent = Some(sent);
                }
                Some(work) => {
                    let lines = change::lines(&manifest_of(work), &sent.clone().into_value());
                    if !lines.is_empty() {
                        fate.what = What::Changed(lines);
                    }
                }
            },
            Err(why) => {
                let former = template.former();
                let former = former.and_then(|former| {
                    let rendered = scene.before.render_namespace(former, cluster, work);
                    rendered.err()
                });
                fate.is_old = former.is_some_and(|former| former == why);
                fate.what = What::Refused(why);
            }
        }
        fate
    };
    fate.clusters = names.into_iter().map(one).collect();
    fate.remarks
        .push("goes to every cluster, as namespaces do".to_owned());
    Some(fate)
}
