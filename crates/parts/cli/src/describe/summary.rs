//! Which kinds have a page of their own, what else is read for it, and who writes it.

use object::Object;

use super::beside::{Need, SELECTOR};
use super::kinds::{
    account, bounds, deployment, endpoint_slice, entries, ingress, jobs, namespace, node, pod,
    scaling, service, storage, workloads,
};
use super::parts::happened;
use super::sheet::Sheet;
use super::{Facts, beside};

/// A kind with a page of its own.
pub(super) struct Summary {
    api_version: &'static str,
    kind: &'static str,
    pub(super) needs: &'static [Need],
    write: fn(&mut Sheet, &Facts<'_>),
    /// Whether what happened lately stands at the end.
    pub(super) has_events: bool,
}

const fn summary(
    (api_version, kind): (&'static str, &'static str),
    needs: &'static [Need],
    write: fn(&mut Sheet, &Facts<'_>),
) -> Summary {
    Summary {
        api_version,
        kind,
        needs,
        write,
        has_events: true,
    }
}

/// The same for a kind to which nothing happens.
const fn quiet(
    kind: (&'static str, &'static str),
    needs: &'static [Need],
    write: fn(&mut Sheet, &Facts<'_>),
) -> Summary {
    Summary {
        has_events: false,
        ..summary(kind, needs, write)
    }
}

static SUMMARIES: [Summary; 20] = [
    summary(
        ("apps/v1", "Deployment"),
        &[beside::own(
            "apps/v1",
            "ReplicaSet",
            "replicasets",
            SELECTOR,
        )],
        deployment::write,
    ),
    summary(
        ("apps/v1", "ReplicaSet"),
        &[beside::own("v1", "Pod", "pods", SELECTOR)],
        workloads::replica_set,
    ),
    summary(
        ("apps/v1", "StatefulSet"),
        &[beside::own("v1", "Pod", "pods", SELECTOR)],
        workloads::stateful_set,
    ),
    summary(
        ("apps/v1", "DaemonSet"),
        &[beside::own("v1", "Pod", "pods", SELECTOR)],
        workloads::daemon_set,
    ),
    summary(("v1", "Pod"), &[], pod::write),
    summary(("batch/v1", "Job"), &[], jobs::job),
    summary(("batch/v1", "CronJob"), &[], jobs::cron_job),
    summary(
        ("v1", "Service"),
        &[beside::SLICES_OF_SERVICE],
        service::write,
    ),
    summary(
        ("networking.k8s.io/v1", "Ingress"),
        &[beside::SERVICES, beside::SLICES],
        ingress::write,
    ),
    summary(
        ("discovery.k8s.io/v1", "EndpointSlice"),
        &[],
        endpoint_slice::write,
    ),
    summary(("v1", "ConfigMap"), &[], entries::config_map),
    quiet(("v1", "Secret"), &[], entries::secret),
    quiet(
        ("v1", "Namespace"),
        &[beside::QUOTAS, beside::LIMITS],
        namespace::write,
    ),
    quiet(("v1", "ResourceQuota"), &[], bounds::quota),
    quiet(("v1", "LimitRange"), &[], bounds::limits),
    summary(
        ("v1", "Node"),
        &[beside::PODS_OF_NODE, beside::LEASES],
        node::write,
    ),
    summary(
        ("v1", "PersistentVolumeClaim"),
        &[beside::own("v1", "Pod", "pods", beside::ALL)],
        storage::claim,
    ),
    summary(("v1", "PersistentVolume"), &[], storage::volume),
    summary(
        ("v1", "ServiceAccount"),
        &[beside::own("v1", "Secret", "secrets", beside::ALL)],
        account::write,
    ),
    summary(
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        &[],
        scaling::write,
    ),
];

/// The page that is made for the kind of an object, if there is one.
pub(super) fn of(object: &Object) -> Option<&'static Summary> {
    SUMMARIES.iter().find(|summary| {
        summary.kind == object.kind() && summary.api_version == object.api_version()
    })
}

impl Summary {
    /// The page.
    pub(super) fn page(&self, facts: &Facts<'_>) -> String {
        let mut sheet = Sheet::default();
        (self.write)(&mut sheet, facts);
        if self.has_events {
            happened::write(&mut sheet, facts);
        }
        sheet.finish()
    }
}
