//! What `kubectl get` shows of each kind: headers, and how the cells come about.
//!
//! Headers and plain cells are data, in the `|` lines of the kinds files; a line has a header, a type (with `name` for
//! the column that is the object's name and `wide` for columns of wide output), a source and a description:
//!
//! | source | the cell is |
//! |---|---|
//! | `.a.b[0].c` | the value there |
//! | `text .p` | the value there as text |
//! | `truth .p` | `True` or `False` |
//! | `count .p + .q` | how many elements there are |
//! | `join .p` | the texts of the list, with commas |
//! | `age .p` | the time since then, in [`human_duration`] |
//! | `labels .p`, `selector .p` | the labels or the label selector as text |
//! | `containers .p`, `images .p` | names or images of the containers |
//! | `@` | the next cell that the kind's function computes |
//! | … `or x` | `x` where there is nothing; without it, zero or empty text |
//!
//! The functions are in the files beside this one. They are pure: an object and the present time in, cells out.

mod access;
mod cluster;
mod duration;
mod event;
mod pod;
mod scaling;
mod service;
mod source;
mod storage;
#[cfg(test)]
mod tests;
mod workload;

use object::{Value, time::Time};
use serde_json::json;

pub use self::duration::human_duration;
use self::source::Source;
use crate::{kinds::Kind, path};

/// The content of one cell: a text, a number or a truth value.
pub type Cell = Value;

/// Computes those cells of a kind that are not plain reads, in the order of its columns.
type Compute = fn(&Value, Time) -> Vec<Cell>;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// The header; clients print it in capitals.
    pub header: &'a str,
    /// The type of its cells: `string`, `integer`, `boolean` or `date`.
    pub ty: &'a str,
    /// `name` for the column that holds the object's name, otherwise empty.
    pub format: &'a str,
    /// Zero to be shown always, one for wide output.
    pub priority: i32,
    /// What the column shows.
    pub description: &'a str,
    source: Source<'a>,
}

/// The cells of `object`, one for each of the kind's columns; none for kinds that cannot be listed.
#[must_use]
pub fn row(kind: &Kind<'_>, object: &Value, now: Time) -> Vec<Cell> {
    let mut computed = match compute(kind.group, kind.version, kind.kind) {
        Some(compute) => compute(object, now).into_iter(),
        None => Vec::new().into_iter(),
    };
    kind.columns
        .iter()
        .map(|column| match &column.source {
            Source::Computed => computed.next().unwrap_or(Value::Null),
            Source::Read(read) => read.cell(object, column.ty, now),
        })
        .collect()
}

/// What a client should know of the whole row: that a pod has ended, so that it may be left out or greyed.
#[must_use]
pub fn row_conditions(kind: &Kind<'_>, object: &Value) -> Vec<Value> {
    if (kind.group, kind.kind) != ("", "Pod") {
        return Vec::new();
    }
    let message = match path::text(object, "status.phase") {
        "Succeeded" => "All containers have ended well.",
        "Failed" => "The pod has ended in failure.",
        _ => return Vec::new(),
    };
    let reason = path::text(object, "status.phase");
    vec![json!({"type": "Completed", "status": "True", "reason": reason, "message": message})]
}

fn compute(group: &str, version: &str, kind: &str) -> Option<Compute> {
    Some(match (group, version, kind) {
        ("", _, "ComponentStatus") => cluster::component_status,
        ("", _, "Endpoints") => service::endpoints,
        ("" | "events.k8s.io", _, "Event") => event::event,
        ("", _, "Node") => cluster::node,
        ("", _, "PersistentVolume") => storage::persistent_volume,
        ("", _, "PersistentVolumeClaim") => storage::persistent_volume_claim,
        ("", _, "Pod") => pod::pod,
        ("", _, "ResourceQuota") => cluster::resource_quota,
        ("", _, "Service") => service::service,
        ("apps", _, "ControllerRevision") => workload::controller_revision,
        ("apps", _, "Deployment" | "StatefulSet") => workload::ready_of_wanted,
        ("batch", _, "Job") => workload::job,
        ("autoscaling", "v1", _) => scaling::autoscaler_v1,
        ("autoscaling", _, _) => scaling::autoscaler,
        ("networking.k8s.io", _, "IPAddress") => service::ip_address,
        ("networking.k8s.io", _, "Ingress") => service::ingress,
        ("networking.k8s.io", _, "IngressClass") => service::ingress_class,
        ("rbac.authorization.k8s.io", _, "RoleBinding" | "ClusterRoleBinding") => {
            access::role_binding
        }
        ("storage.k8s.io", _, "CSIDriver") => storage::csi_driver,
        ("storage.k8s.io", _, "StorageClass") => storage::storage_class,
        ("discovery.k8s.io", _, "EndpointSlice") => service::endpoint_slice,
        ("certificates.k8s.io", _, _) => access::signing_request,
        ("admissionregistration.k8s.io", _, "ValidatingAdmissionPolicy") => {
            access::admission_policy
        }
        ("admissionregistration.k8s.io", _, "ValidatingAdmissionPolicyBinding") => {
            access::admission_policy_binding
        }
        ("apiregistration.k8s.io", _, _) => cluster::api_service,
        ("flowcontrol.apiserver.k8s.io", _, "FlowSchema") => cluster::flow_schema,
        ("resource.k8s.io", _, "ResourceClaim") => cluster::resource_claim,
        _ => return None,
    })
}

impl<'a> Column<'a> {
    /// Reads the parts of a `|` line.
    pub(crate) fn parse(line: &'a str) -> Result<Self, String> {
        let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let (header, ty, source, description) = match parts.as_slice() {
            ["Name"] => (
                "Name",
                "string name",
                ".metadata.name",
                "Unique within its kind and namespace.",
            ),
            ["Age"] => (
                "Age",
                "string",
                "age .metadata.creationTimestamp or <unknown>",
                "Since when it exists.",
            ),
            [header, ty, source] => (*header, *ty, *source, ""),
            [header, ty, source, description] => (*header, *ty, *source, *description),
            _ => {
                return Err(format!(
                    "expected `header | type | source | description`, found {line}"
                ));
            }
        };
        let mut column = Self {
            header,
            ty: "string",
            format: "",
            priority: 0,
            description,
            source: Source::parse(source)?,
        };
        for word in ty.split(' ') {
            match word {
                "string" | "integer" | "boolean" | "date" => column.ty = word,
                "name" => column.format = word,
                "wide" => column.priority = 1,
                _ => return Err(format!("unknown column type {word}")),
            }
        }
        Ok(column)
    }

    /// Whether its cells are computed rather than read.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        self.source == Source::Computed
    }
}

/// The first `most` texts with commas, and how many more there are.
fn first_few<T: AsRef<str>>(texts: &[T], most: usize) -> String {
    let shown: Vec<&str> = texts.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(",");
    match texts.len().checked_sub(most) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} + {more} more..."),
    }
}

/// `text`, or `other` where it is empty.
fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}
