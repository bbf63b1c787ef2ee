//! Namespaces go to every cluster without a policy, so that what is propagated has a place to go.

use api::names::{execution_space, work_name};
use api::well_known::annotations::{TEMPLATE_UID, WORK_NAME, WORK_NAMESPACE};
use api::well_known::labels::{MANAGED, SKIP_AUTO_PROPAGATION, TRUE, permanent_id};
use client::Client;
use object::object::SetError;
use object::{Object, ResourceType, condition};
use overrides::Step;

use super::Picture;
use super::shares::Share;
use crate::reading::Place;

/// Where namespaces are found.
pub(crate) fn namespaces() -> ResourceType {
    ResourceType::cluster("", "v1", "Namespace", "namespaces")
}

/// Whether an object is a namespace.
pub(crate) fn is_namespace(object: &Object) -> bool {
    object.kind() == "Namespace" && object.api_version() == "v1"
}

impl Picture {
    /// Why a namespace goes to no cluster; `None` if it goes to all of them.
    pub(crate) fn keeps_at_home(&self, namespace: &Object) -> Option<String> {
        let name = namespace.name();
        let has_opted_out = namespace
            .label(SKIP_AUTO_PROPAGATION)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if name == "default" {
            return Some("every cluster has a namespace of that name of its own".to_owned());
        }
        if let Some(exemption) = self.settings.exemptions.check_namespace(name) {
            return Some(exemption.to_string());
        }
        if has_opted_out {
            return Some(format!(
                "it has opted out by the label {SKIP_AUTO_PROPAGATION}"
            ));
        }
        namespace
            .is_terminating()
            .then(|| "it is being deleted".to_owned())
    }

    /// Whether a cluster is known to be well.
    pub(crate) fn is_ready(&self, cluster: &str) -> bool {
        let known = self.clusters.get(cluster);
        let ready = known.and_then(|known| condition::find(&known.status.conditions, "Ready"));
        ready.is_some_and(|ready| ready.status.as_str() == "True")
    }

    /// A cluster as a place to ask, with little patience for one that is not known to be well.
    pub(crate) fn member(&self, control: &Client, cluster: &str) -> Place {
        let place = Place::member(control, cluster);
        match self.is_ready(cluster) {
            true => place,
            false => place.with_little_patience(),
        }
    }

    /// A namespace as a cluster is sent it, given the work that is there, and the rules on the way; or why it cannot be
    /// made.
    pub(crate) fn render_namespace(
        &self,
        namespace: &Object,
        cluster: &str,
        work: Option<&Object>,
    ) -> Result<(Object, Vec<Step>), String> {
        let rendering = self.render(namespace, Share::default(), cluster);
        let (mut rendered, _) = rendering.result?;
        let note = ["metadata", "annotations", TEMPLATE_UID];
        let finished = rendered
            .set(&note, namespace.uid())
            .and_then(|()| finish(rendered, cluster, work));
        let finished = finished.map_err(|error| error.to_string())?;
        Ok((finished, rendering.steps))
    }
}

/// The object with the marks by which a member and its reports know it.
fn finish(mut object: Object, cluster: &str, work: Option<&Object>) -> Result<Object, SetError> {
    let name = work_name(object.kind(), object.name(), object.namespace());
    object.set(&["metadata", "labels", MANAGED], TRUE)?;
    let place = execution_space(cluster);
    object.set(&["metadata", "annotations", WORK_NAMESPACE], place)?;
    object.set(&["metadata", "annotations", WORK_NAME], name)?;
    let id = work.and_then(|work| work.label(permanent_id::WORK));
    binding::manifest::finish(object, id)
}
