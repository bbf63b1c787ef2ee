//! MultiClusterService: a service that is reached from other clusters or from outside.

use std::{collections::BTreeSet, sync::LazyLock};

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};
use serde_json::Value;

use super::{
    AdmissionRules, Refusal, Request, Verdict,
    address::check_points_of_entry,
    cluster::check_cluster_name,
    metadata,
    problems::{self, joined, repeats, shown},
    rewrite::rewrite,
    verdict::{read, read_old, webhook_verdict},
};
use crate::{
    networking::{MultiClusterService, MultiClusterServiceSpec, exposure_type},
    registry::Scope,
    schema::structural_schema,
    well_known::labels::permanent_id,
};

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn mutate(
        &self,
        request: &Request<'_>,
        _old: Option<&Object>,
        new: Object,
    ) -> Result<Object, Refusal> {
        static SCHEMA: LazyLock<Value> = LazyLock::new(structural_schema::<MultiClusterService>);
        rewrite::<MultiClusterService>(&new, &SCHEMA, |service| {
            let id = service
                .metadata
                .labels
                .entry(permanent_id::MULTI_CLUSTER_SERVICE.to_owned())
                .or_default();
            if id.is_empty() {
                *id = (request.fresh_id)();
            }
        })
    }

    fn validate(&self, _request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let service: MultiClusterService = read(new)?;
        let mut errors = Vec::new();
        let old: Option<MultiClusterService> = read_old(old)?;
        if let Some(old) = &old {
            errors.extend(metadata::check_update(&old.metadata, &service.metadata));
            if old.spec.types != service.spec.types {
                let detail = "cannot be changed after creation";
                let path = FieldPath::from("spec.types");
                errors.push(FieldError::invalid(
                    path,
                    shown(&service.spec.types),
                    detail,
                ));
            }
        }
        errors.extend(metadata::check(
            &service.metadata,
            Scope::Namespaced,
            names::check_dns1035_label,
        ));
        errors.extend(check_spec(&service.spec));
        if old.is_some() {
            let points = service.status.load_balancer.ingress.iter();
            errors.extend(check_points_of_entry(
                points.map(|point| (&*point.ip, &*point.hostname)),
            ));
        }
        webhook_verdict("multiclusterservice.karmada.io", errors)
    }
}

fn check_spec(spec: &MultiClusterServiceSpec) -> Vec<FieldError> {
    use exposure_type::{CROSS_CLUSTER, LOAD_BALANCER};
    let path = FieldPath::new("spec");
    let mut errors = Vec::new();
    let repeated = repeats(spec.ports.iter().map(|port| &port.name));
    for (position, (port, is_repeated)) in spec.ports.iter().zip(repeated).enumerate() {
        let path = path.child("ports").index(position);
        let name = &port.name;
        if !name.is_empty() {
            let path = path.child("name");
            errors.extend(problems::each(
                &path,
                name,
                names::check_dns1123_label(name),
            ));
            if is_repeated {
                errors.push(FieldError::duplicate(path, name.as_str()));
            }
        }
        errors.extend(problems::port(path.child("port"), port.port));
    }
    let types_path = path.child("types");
    for (position, r#type) in spec.types.iter().enumerate() {
        if ![CROSS_CLUSTER, LOAD_BALANCER].contains(&r#type.as_str()) {
            let detail = "must be CrossCluster or LoadBalancer";
            errors.push(FieldError::invalid(
                types_path.index(position),
                r#type.as_str(),
                detail,
            ));
        }
    }
    if spec.types.iter().collect::<BTreeSet<_>>().len() > 1 {
        let detail = "must not hold different types";
        errors.push(FieldError::invalid(types_path, shown(&spec.types), detail));
    }
    let lists = [
        ("providerClusters", &spec.provider_clusters),
        ("consumerClusters", &spec.consumer_clusters),
    ];
    for (field, clusters) in lists {
        // Upstream: errors about these lists are reported below `range`, where such lists were once.
        let list = path.child("range").child(field);
        for (position, cluster) in clusters.iter().enumerate() {
            let name = &cluster.name;
            errors.extend(joined(
                list.index(position),
                name,
                &check_cluster_name(name),
                ",",
            ));
        }
    }
    errors
}
