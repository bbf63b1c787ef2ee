//! Flux: sources, Kustomization and HelmRelease.
//!
//! All of them say in a condition `Ready` how they are doing, may be suspended in the member alone, and differ in what
//! else is in their status and which secrets they need.

use api::{config::DependentObjectReference, work::v1alpha2::AggregatedStatusItem};
use object::{Object, Value};

use crate::{
    error::RuleError,
    node::Node,
    pod::core,
    table::{KindRules, put},
    third_party::{
        conditions,
        fold::{Field, Fold, fold_observed, pick_observed},
    },
};

pub(super) const HELM_RELEASE: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &HELM_RELEASE_STATUS)),
    reflect: Some(|observed| reflect(observed, &HELM_RELEASE_STATUS, &[])),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["ReconciliationSucceeded"])),
    dependencies: Some(helm_release_dependencies),
    ..KindRules::of("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease")
};

pub(super) const KUSTOMIZATION: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &KUSTOMIZATION_STATUS)),
    reflect: Some(|observed| reflect(observed, &KUSTOMIZATION_STATUS, &[])),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["ReconciliationSucceeded"])),
    dependencies: Some(|template| {
        references(template, &[&DECRYPTION, &KUBE_CONFIG], Account::Named)
    }),
    ..KindRules::of("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
};

pub(super) const GIT_REPOSITORY: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &GIT_STATUS)),
    reflect: Some(|observed| {
        reflect(
            observed,
            &GIT_STATUS,
            &["observedIgnore", "observedRecurseSubmodules"],
        )
    }),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["Succeeded"])),
    dependencies: Some(|template| references(template, &[&SECRET, &VERIFY], Account::None)),
    ..KindRules::of("source.toolkit.fluxcd.io/v1", "GitRepository")
};

pub(super) const BUCKET: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &SOURCE_STATUS)),
    reflect: Some(|observed| reflect(observed, &SOURCE_STATUS, &["observedIgnore"])),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["Succeeded"])),
    dependencies: Some(|template| references(template, &[&SECRET], Account::None)),
    ..KindRules::of("source.toolkit.fluxcd.io/v1beta2", "Bucket")
};

pub(super) const HELM_CHART: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &HELM_CHART_STATUS)),
    reflect: Some(|observed| reflect(observed, &HELM_CHART_STATUS, &[])),
    is_healthy: Some(|observed| {
        conditions::is_ready(observed, &["Succeeded", "ChartPullSucceeded"])
    }),
    dependencies: Some(|template| references(template, &[&VERIFY], Account::None)),
    ..KindRules::of("source.toolkit.fluxcd.io/v1beta2", "HelmChart")
};

pub(super) const HELM_REPOSITORY: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &SOURCE_STATUS)),
    reflect: Some(|observed| reflect(observed, &SOURCE_STATUS, &[])),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["Succeeded"])),
    dependencies: Some(|template| references(template, &[&SECRET], Account::None)),
    ..KindRules::of("source.toolkit.fluxcd.io/v1beta2", "HelmRepository")
};

pub(super) const OCI_REPOSITORY: KindRules = KindRules {
    retain: Some(retain),
    aggregate: Some(|template, items| aggregate(template, items, &SOURCE_STATUS)),
    reflect: Some(|observed| {
        reflect(
            observed,
            &SOURCE_STATUS,
            &["observedIgnore", "observedLayerSelector"],
        )
    }),
    is_healthy: Some(|observed| conditions::is_ready(observed, &["Succeeded"])),
    dependencies: Some(|template| {
        references(template, &[&SECRET, &VERIFY, &CERTIFICATE], Account::Named)
    }),
    ..KindRules::of("source.toolkit.fluxcd.io/v1beta2", "OCIRepository")
};

const HELM_RELEASE_STATUS: [Field; 8] = [
    ("lastAttemptedRevision", Fold::Last),
    ("lastAppliedRevision", Fold::Last),
    ("lastAttemptedValuesChecksum", Fold::Last),
    ("helmChart", Fold::Last),
    ("lastReleaseRevision", Fold::Last),
    ("failures", Fold::Sum),
    ("upgradeFailures", Fold::Sum),
    ("installFailures", Fold::Sum),
];

const KUSTOMIZATION_STATUS: [Field; 2] = [
    ("lastAppliedRevision", Fold::Last),
    ("lastAttemptedRevision", Fold::Last),
];

const GIT_STATUS: [Field; 1] = [("artifact", Fold::Last)];

const SOURCE_STATUS: [Field; 2] = [("artifact", Fold::Last), ("url", Fold::Last)];

const HELM_CHART_STATUS: [Field; 4] = [
    ("artifact", Fold::Last),
    ("observedChartName", Fold::Last),
    ("observedSourceArtifactRevision", Fold::Last),
    ("url", Fold::Last),
];

const SUSPEND: [&str; 2] = ["spec", "suspend"];

// Where the names of secrets are.
const SECRET: [&str; 3] = ["spec", "secretRef", "name"];
const CERTIFICATE: [&str; 3] = ["spec", "certSecretRef", "name"];
const VERIFY: [&str; 4] = ["spec", "verify", "secretRef", "name"];
const DECRYPTION: [&str; 4] = ["spec", "decryption", "secretRef", "name"];
const KUBE_CONFIG: [&str; 4] = ["spec", "kubeConfig", "secretRef", "name"];
const CHART_VERIFY: [&str; 6] = ["spec", "chart", "spec", "verify", "secretRef", "name"];

/// Whether the kind acts as an account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Account {
    None,
    Named,
}

/// Leaves to the member whether the object is suspended there.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    if let Some(suspend) = Node::of(observed).at(&SUSPEND)?.raw() {
        put(&mut desired, &SUSPEND, suspend.clone())?;
    }
    Ok(desired)
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
    fields: &[Field],
) -> Result<Option<Value>, RuleError> {
    let mut status = fold_observed(template, items, fields)?;
    let conditions = conditions::by_reason(items)?;
    status.insert("conditions".to_owned(), Value::Array(conditions));
    Ok(Some(Value::Object(status)))
}

fn reflect(
    observed: &Object,
    fields: &[Field],
    others: &[&str],
) -> Result<Option<Value>, RuleError> {
    let names = fields.iter().map(|(name, _)| *name);
    let names = names.chain(others.iter().copied()).chain(["conditions"]);
    pick_observed(observed, &names.collect::<Vec<_>>())
}

fn references(
    template: &Object,
    secrets: &[&[&str]],
    account: Account,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let namespace = template.namespace();
    let mut references = Vec::new();
    for path in secrets {
        let name = root.at(path)?.text_or_empty()?;
        if !name.is_empty() {
            references.push(core("Secret", namespace, name));
        }
    }
    let named = root.at(&["spec", "serviceAccountName"])?.text_or_empty()?;
    if account == Account::Named && !named.is_empty() {
        references.push(core("ServiceAccount", namespace, named));
    }
    Ok(references)
}

/// Beside the secrets and the account, the values are taken from ConfigMaps and Secrets.
fn helm_release_dependencies(
    template: &Object,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let mut found = references(template, &[&CHART_VERIFY, &KUBE_CONFIG], Account::Named)?;
    for source in root.at(&["spec", "valuesFrom"])?.list()? {
        let kind = source.at(&["kind"])?.text_or_empty()?;
        let name = source.at(&["name"])?.text_or_empty()?;
        if matches!(kind, "ConfigMap" | "Secret") && !name.is_empty() {
            found.push(core(kind, template.namespace(), name));
        }
    }
    Ok(found)
}
