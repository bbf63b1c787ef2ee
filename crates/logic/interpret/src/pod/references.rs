//! What a pod refers to by name: ConfigMaps, Secrets, a ServiceAccount, PersistentVolumeClaims.

use std::collections::BTreeSet;

use api::config::DependentObjectReference;

use crate::{error::RuleError, node::Node};

/// The account every pod has that names no other; it is in every namespace by itself.
const DEFAULT_ACCOUNT: &str = "default";

/// Where kinds of volume name their Secret.
const VOLUME_SECRETS: [&[&str]; 10] = [
    &["secret", "secretName"],
    &["azureFile", "secretName"],
    &["cephfs", "secretRef", "name"],
    &["cinder", "secretRef", "name"],
    &["flexVolume", "secretRef", "name"],
    &["rbd", "secretRef", "name"],
    &["scaleIO", "secretRef", "name"],
    &["iscsi", "secretRef", "name"],
    &["storageos", "secretRef", "name"],
    &["csi", "nodePublishSecretRef", "name"],
];

/// What a pod refers to, by kind.
#[derive(Default)]
struct Names<'v> {
    config_maps: BTreeSet<&'v str>,
    secrets: BTreeSet<&'v str>,
    accounts: BTreeSet<&'v str>,
    claims: BTreeSet<&'v str>,
}

/// What a pod of this spec refers to, all of it in `namespace`, sorted by kind and name.
pub(crate) fn references(
    spec: Node<'_, '_>,
    namespace: &str,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    let mut names = Names::default();
    for secret in spec.at(&["imagePullSecrets"])?.list()? {
        put(&mut names.secrets, secret.at(&["name"])?)?;
    }
    for kind in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.at(&[kind])?.list()? {
            names.add_container(container)?;
        }
    }
    for volume in spec.at(&["volumes"])?.list()? {
        names.add_volume(volume)?;
    }
    names.add_account(spec)?;
    Ok(names.into_references(namespace))
}

impl<'v> Names<'v> {
    fn add_container(&mut self, container: Node<'v, '_>) -> Result<(), RuleError> {
        for source in container.at(&["envFrom"])?.list()? {
            put(&mut self.config_maps, source.at(&["configMapRef", "name"])?)?;
            put(&mut self.secrets, source.at(&["secretRef", "name"])?)?;
        }
        for variable in container.at(&["env"])?.list()? {
            let source = variable.at(&["valueFrom"])?;
            put(
                &mut self.config_maps,
                source.at(&["configMapKeyRef", "name"])?,
            )?;
            put(&mut self.secrets, source.at(&["secretKeyRef", "name"])?)?;
        }
        Ok(())
    }

    fn add_volume(&mut self, volume: Node<'v, '_>) -> Result<(), RuleError> {
        put(&mut self.config_maps, volume.at(&["configMap", "name"])?)?;
        put(
            &mut self.claims,
            volume.at(&["persistentVolumeClaim", "claimName"])?,
        )?;
        for path in VOLUME_SECRETS {
            put(&mut self.secrets, volume.at(path)?)?;
        }
        for source in volume.at(&["projected", "sources"])?.list()? {
            put(&mut self.config_maps, source.at(&["configMap", "name"])?)?;
            put(&mut self.secrets, source.at(&["secret", "name"])?)?;
        }
        Ok(())
    }

    fn add_account(&mut self, spec: Node<'v, '_>) -> Result<(), RuleError> {
        let name = spec.at(&["serviceAccountName"])?.text_or_empty()?;
        // The field's older name; a server fills in both, a file may have the one.
        let name = match name {
            "" => spec.at(&["serviceAccount"])?.text_or_empty()?,
            name => name,
        };
        if !matches!(name, "" | DEFAULT_ACCOUNT) {
            self.accounts.insert(name);
        }
        Ok(())
    }

    fn into_references(self, namespace: &str) -> Vec<DependentObjectReference> {
        let kinds = [
            ("ConfigMap", self.config_maps),
            ("PersistentVolumeClaim", self.claims),
            ("Secret", self.secrets),
            ("ServiceAccount", self.accounts),
        ];
        let references = kinds.into_iter().flat_map(|(kind, names)| {
            names
                .into_iter()
                .map(move |name| core(kind, namespace, name))
        });
        references.collect()
    }
}

/// A reference to an object of the core group.
pub(crate) fn core(kind: &str, namespace: &str, name: &str) -> DependentObjectReference {
    DependentObjectReference {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        label_selector: None,
    }
}

fn put<'v>(names: &mut BTreeSet<&'v str>, name: Node<'v, '_>) -> Result<(), RuleError> {
    let name = name.text_or_empty()?;
    if !name.is_empty() {
        names.insert(name);
    }
    Ok(())
}
