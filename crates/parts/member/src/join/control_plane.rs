//! What joining makes in the control plane.

use api::cluster::{Cluster, ClusterSpec, LocalSecretReference, sync_mode};
use api::names::impersonation_secret;
use client::{Client, PatchKind, WriteOptions};
use intent::Part;
use object::base64::encode;
use object::time::Time;
use object::{Object, ObjectKey, ObjectMeta};
use serde_json::json;

use crate::connect::token_in;
use crate::credentials::token::Claims;
use crate::join::member::{Credentials, mark};
use crate::join::{JoinError, JoinOptions, MANAGER, in_control_plane};
use crate::resources;

/// Keeps the credentials, makes the Cluster, and lets it own them.
pub(super) async fn register(
    control: &Client,
    options: &JoinOptions,
    id: &str,
    credentials: &Credentials,
) -> Result<(), JoinError> {
    ensure_namespace(control, &options.namespace).await?;
    let [own, impersonator] = keep_all(control, options, credentials).await?;
    let cluster = api::read::write(&describe(options, id, &own, &impersonator));
    let resource = resources::of::<Cluster>();
    let created = control
        .create(&resource, &cluster, &WriteOptions::by(MANAGER))
        .await;
    let cluster = match created {
        Ok(cluster) => cluster,
        Err(error) if error.is_already_exists() => {
            return Err(JoinError::Exists(options.name.clone()));
        }
        Err(error) => {
            return Err(in_control_plane(format!(
                "make the cluster {}",
                options.name
            ))(error));
        }
    };
    for secret in [&own, &impersonator] {
        give_to(control, secret, &cluster).await?;
    }
    Ok(())
}

/// Keeps all credentials; where they are: the control plane's own, and those for impersonating.
pub(super) async fn keep_all(
    control: &Client,
    options: &JoinOptions,
    credentials: &Credentials,
) -> Result<[ObjectKey; 2], JoinError> {
    let impersonator = ObjectKey::namespaced(
        options.namespace.as_str(),
        impersonation_secret(&options.name),
    );
    let own = own_key(options);
    let token = encode(credentials.impersonator.as_bytes());
    keep(control, &impersonator, &options.name, &[("token", token)]).await?;
    let mut values = vec![("token", encode(credentials.token.as_bytes()))];
    // Where nobody checks certificates there may be no authority to keep.
    if !credentials.ca.is_empty() || !options.insecure {
        values.push(("caBundle", encode(&credentials.ca)));
    }
    keep(control, &own, &options.name, &values).await?;
    Ok([own, impersonator])
}

/// When another token should be asked for, if the one that is kept ends at all.
pub(super) async fn renewal(
    control: &Client,
    options: &JoinOptions,
) -> Result<Option<Time>, JoinError> {
    let key = own_key(options);
    match control.get(&resources::secrets(), &key).await {
        Ok(secret) => {
            let claims = token_in(&secret).as_deref().and_then(Claims::of);
            Ok(claims.map(|claims| claims.renewal()))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(in_control_plane(format!("read the secret {key}"))(error)),
    }
}

fn own_key(options: &JoinOptions) -> ObjectKey {
    ObjectKey::namespaced(options.namespace.as_str(), options.name.as_str())
}

fn describe(options: &JoinOptions, id: &str, own: &ObjectKey, impersonator: &ObjectKey) -> Cluster {
    let reference = |key: &ObjectKey| LocalSecretReference {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    Cluster {
        metadata: ObjectMeta {
            name: options.name.clone(),
            ..ObjectMeta::default()
        },
        spec: ClusterSpec {
            id: id.to_owned(),
            sync_mode: sync_mode::PUSH.to_owned(),
            api_endpoint: options.endpoint.clone(),
            secret_ref: Some(reference(own)),
            impersonator_secret_ref: Some(reference(impersonator)),
            insecure_skip_tls_verification: options.insecure,
            proxy_url: options.proxy.clone().unwrap_or_default(),
            provider: options.provider.clone(),
            region: options.region.clone(),
            zones: options.zones.clone(),
            ..ClusterSpec::default()
        },
        ..Cluster::default()
    }
}

async fn ensure_namespace(control: &Client, name: &str) -> Result<(), JoinError> {
    let key = ObjectKey::cluster(name);
    let mut namespace = Object::new(&resources::namespaces().kind, &key);
    mark(&mut namespace);
    match control
        .create(
            &resources::namespaces(),
            &namespace,
            &WriteOptions::by(MANAGER),
        )
        .await
    {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(in_control_plane(format!("make the namespace {name}"))(
            error,
        )),
    }
}

/// Keeps credentials in a Secret. One that is there is replaced: what it holds may be from an earlier life of the member.
async fn keep(
    control: &Client,
    key: &ObjectKey,
    cluster: &str,
    values: &[(&str, String)],
) -> Result<(), JoinError> {
    match control.get_metadata(&resources::secrets(), key).await {
        Ok(known) => {
            let mut owners = known.owner_references();
            let other = owners.find(|owner| owner.kind == "Cluster" && owner.name != cluster);
            if let Some(owner) = other {
                return Err(JoinError::SecretTaken {
                    secret: key.clone(),
                    owner: owner.name,
                });
            }
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(in_control_plane(format!("read the secret {key}"))(error)),
    }
    let mut secret = Object::new(&resources::secrets().kind, key);
    mark(&mut secret);
    for (name, value) in values {
        secret
            .set(&["data", name], value.as_str())
            .expect("invariant: a new object has nothing in the way");
    }
    let options = WriteOptions::by(MANAGER);
    let applied = control
        .apply(
            &resources::secrets(),
            &secret,
            true,
            &Part::Object,
            &options,
        )
        .await;
    applied
        .map(drop)
        .map_err(in_control_plane(format!("write the secret {key}")))
}

/// Lets a cluster own a Secret, so that it goes with the cluster.
async fn give_to(control: &Client, key: &ObjectKey, cluster: &Object) -> Result<(), JoinError> {
    let patch = json!({"metadata": {"ownerReferences": [{
        "apiVersion": cluster.api_version(), "kind": cluster.kind(), "name": cluster.name(), "uid": cluster.uid(),
        "controller": true, "blockOwnerDeletion": true,
    }]}});
    let (resource, options) = (resources::secrets(), WriteOptions::by(MANAGER));
    let patched = control
        .patch(
            &resource,
            key,
            PatchKind::Merge,
            &patch,
            &Part::Object,
            &options,
        )
        .await;
    patched.map(drop).map_err(in_control_plane(format!(
        "give the secret {key} to its cluster"
    )))
}
