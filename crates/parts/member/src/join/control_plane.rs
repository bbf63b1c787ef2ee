//! What joining makes in the control plane.

use std::time::Duration;

use api::cluster::{Cluster, ClusterSpec, LocalSecretReference, sync_mode};
use api::names::{IMPERSONATOR_ACCOUNT, impersonation_secret};
use client::{Client, DeleteOptions, PatchKind, WriteOptions};
use intent::Part;
use object::base64::encode;
use object::time::Time;
use object::{Object, ObjectKey, ObjectMeta};
use serde_json::json;

use crate::connect::token_in;
use crate::credentials::token::Claims;
use crate::join::ledger::{Ledger, Place};
use crate::join::member::{Credentials, make, mark};
use crate::join::{Holder, JoinError, JoinOptions, MANAGER, identity, in_control_plane};
use crate::resources;

/// How long a registration that is taken back may take to go: it is moments old.
const WITHDRAWAL: Duration = Duration::from_secs(30);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Keeps the credentials, makes the Cluster, and lets it own them.
pub(super) async fn register(
    control: &Client,
    options: &JoinOptions,
    id: &str,
    credentials: &Credentials,
    ledger: &mut Ledger,
) -> Result<(), JoinError> {
    ensure_namespace(control, &options.namespace).await?;
    let [own, impersonator] = keep_all(control, options, credentials, ledger).await?;
    let cluster = api::read::write(&describe(options, id, &own, &impersonator));
    let cluster = create(control, &cluster, id, ledger).await?;
    if let Some(first) = identity::registered_before(control, &cluster, id).await {
        return Err(withdraw(control, &cluster, id, first, ledger).await);
    }
    // It has joined: what was made is its own.
    *ledger = Ledger::default();
    for secret in [&own, &impersonator] {
        give_to(control, secret, &cluster).await?;
    }
    Ok(())
}

/// Makes the Cluster. Where that does not succeed, the ledger has what is to be taken back.
async fn create(
    control: &Client,
    cluster: &Object,
    id: &str,
    ledger: &mut Ledger,
) -> Result<Object, JoinError> {
    let (resource, name) = (resources::of::<Cluster>(), cluster.name());
    let options = WriteOptions::by(MANAGER);
    match control.create(&resource, cluster, &options).await {
        Ok(made) => Ok(made),
        Err(error) if error.is_already_exists() => {
            // Somebody else was faster. The secrets are named like their cluster; the accounts are theirs too if it is the
            // same cluster, and that is believed where nobody says.
            ledger.forget(Place::ControlPlane);
            let theirs = control.get(&resource, &cluster.key()).await;
            let is_another = theirs.is_ok_and(|theirs| {
                let known = theirs.text_at(&["spec", "id"]).unwrap_or_default();
                !known.is_empty() && known != id
            });
            if !is_another {
                ledger.forget(Place::Member);
            }
            Err(JoinError::Exists(name.to_owned()))
        }
        Err(error) => {
            let is_refused = error.refusal().is_some_and(|refusal| refusal.code < 500);
            let doing = match is_refused {
                true => format!("make the cluster {name}"),
                // It may be there, and need what was made for it.
                false => {
                    *ledger = Ledger::default();
                    format!("tell whether the cluster {name} was made (what was made for it stays)")
                }
            };
            Err(in_control_plane(doing)(error))
        }
    }
}

/// Takes the Cluster back that was made a moment ago, because the same cluster was registered under another name in the
/// moment before. The ledger has what else is to be taken back; why it has not joined.
async fn withdraw(
    control: &Client,
    cluster: &Object,
    id: &str,
    first: String,
    ledger: &mut Ledger,
) -> JoinError {
    // Both have it.
    ledger.spare(Place::Member, IMPERSONATOR_ACCOUNT);
    let (resource, key) = (resources::of::<Cluster>(), cluster.key());
    let deletion = DeleteOptions {
        uid: Some(cluster.uid().to_owned()),
        ..DeleteOptions::default()
    };
    let refused = JoinError::Registered {
        id: id.to_owned(),
        name: cluster.name().to_owned(),
        holder: Holder::Id(first),
    };
    // What it answers is seen in what is there afterwards.
    _ = control.delete(&resource, &key, &deletion).await;
    let deadline = tokio::time::Instant::now() + WITHDRAWAL;
    loop {
        match control.get_metadata(&resource, &key).await {
            Ok(found) if found.uid() != cluster.uid() => return refused,
            Err(error) if error.is_not_found() => return refused,
            _ => {}
        }
        if tokio::time::Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    // It needs its credentials as long as it is there.
    *ledger = Ledger::default();
    let name = cluster.name();
    JoinError::Left {
        left: format!(
            "Cluster {name} in the control plane, its Secrets, and its account in the member; `unjoin {name}` takes them away"
        ),
        source: Box::new(refused),
    }
}

/// Refuses a name whose secrets are another cluster's, before anything is made.
pub(super) async fn check_secrets(
    control: &Client,
    options: &JoinOptions,
    clusters: &[Object],
) -> Result<(), JoinError> {
    for secret in [own_key(options), impersonator_key(options)] {
        let mut others = clusters
            .iter()
            .filter(|cluster| cluster.name() != options.name);
        if let Some(owner) = others.find(|cluster| refers_to(cluster, &secret)) {
            return Err(JoinError::SecretTaken {
                secret,
                owner: owner.name().to_owned(),
            });
        }
        check_free(control, &secret, &options.name).await?;
    }
    Ok(())
}

/// Whether a cluster keeps credentials in a secret.
fn refers_to(cluster: &Object, secret: &ObjectKey) -> bool {
    ["secretRef", "impersonatorSecretRef"].iter().any(|field| {
        let at = |part: &str| cluster.text_at(&["spec", field, part]);
        at("namespace") == Some(&secret.namespace) && at("name") == Some(&secret.name)
    })
}

/// Refuses a secret that belongs to another cluster.
async fn check_free(control: &Client, key: &ObjectKey, cluster: &str) -> Result<(), JoinError> {
    let known = match control.get_metadata(&resources::secrets(), key).await {
        Ok(known) => known,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(in_control_plane(format!("read the secret {key}"))(error)),
    };
    let mut owners = known.owner_references();
    match owners.find(|owner| owner.kind == "Cluster" && owner.name != cluster) {
        None => Ok(()),
        Some(owner) => Err(JoinError::SecretTaken {
            secret: key.clone(),
            owner: owner.name,
        }),
    }
}

/// Keeps all credentials; where they are: the control plane's own, and those for impersonating.
pub(super) async fn keep_all(
    control: &Client,
    options: &JoinOptions,
    credentials: &Credentials,
    ledger: &mut Ledger,
) -> Result<[ObjectKey; 2], JoinError> {
    let (own, impersonator) = (own_key(options), impersonator_key(options));
    let (name, token) = (&options.name, encode(credentials.impersonator.as_bytes()));
    keep(control, &impersonator, name, &[("token", token)], ledger).await?;
    let mut values = vec![("token", encode(credentials.token.as_bytes()))];
    // Where nobody checks certificates there may be no authority to keep.
    if !credentials.ca.is_empty() || !options.insecure {
        values.push(("caBundle", encode(&credentials.ca)));
    }
    keep(control, &own, name, &values, ledger).await?;
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

fn impersonator_key(options: &JoinOptions) -> ObjectKey {
    let name = impersonation_secret(&options.name);
    ObjectKey::namespaced(options.namespace.as_str(), name)
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
    ledger: &mut Ledger,
) -> Result<(), JoinError> {
    check_free(control, key, cluster).await?;
    let mut secret = Object::new(&resources::secrets().kind, key);
    mark(&mut secret);
    for (name, value) in values {
        secret
            .set(&["data", name], value.as_str())
            .expect("invariant: a new object has nothing in the way");
    }
    let resource = resources::secrets();
    let made = make(control, Place::ControlPlane, &resource, &secret, ledger).await;
    made.map_err(in_control_plane(format!("write the secret {key}")))
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
        "give the secret {key} to cluster {}, which has joined",
        cluster.name()
    )))
}
