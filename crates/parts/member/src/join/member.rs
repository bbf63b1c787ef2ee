//! What joining makes in the member.

use std::time::Duration;

use api::names::{IMPERSONATOR_ACCOUNT, member_account, member_role};
use api::well_known::labels::{SYSTEM, TRUE};
use client::{CallError, Client, WriteOptions};
use intent::Part;
use object::base64::decode;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use crate::credentials::token;
use crate::join::ledger::{Ledger, Place};
use crate::join::{JoinError, JoinOptions, MANAGER, in_member};
use crate::resources::{self, RBAC};

/// How long a member may take to issue a token.
const TOKEN_WAIT: Duration = Duration::from_secs(30);
/// How long a namespace that is being deleted is waited for.
const NAMESPACE_WAIT: Duration = Duration::from_secs(30);
/// How often it is asked.
const TOKEN_POLL: Duration = Duration::from_secs(1);

/// What the control plane will identify itself with.
pub(super) struct Credentials {
    /// Of the account that may do everything.
    pub(super) token: String,
    /// Who signed the member's certificate.
    pub(super) ca: Vec<u8>,
    /// Of the account that may only impersonate.
    pub(super) impersonator: String,
}

/// On whose behalf things are made in a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Maker<'a> {
    /// What tells the control plane from all others, if it says.
    pub(super) id: Option<&'a str>,
    /// Whether it also takes what another control plane made.
    pub(super) takes_over: bool,
}

/// Makes namespace, accounts, role and tokens, each unless it is there. What is made for this cluster alone says by which
/// control plane, if that has an id: by this it is known when its Cluster is gone.
pub(super) async fn prepare(
    member: &Client,
    options: &JoinOptions,
    maker: Maker<'_>,
    ledger: &mut Ledger,
) -> Result<Credentials, JoinError> {
    let namespace = options.namespace.as_str();
    ensure_namespace(member, namespace).await?;
    let impersonator = ObjectKey::namespaced(namespace, IMPERSONATOR_ACCOUNT);
    let account = ObjectKey::namespaced(namespace, member_account(&options.name));
    // All control planes that the cluster has joined share this one.
    declare_account(member, &impersonator, Maker::default(), ledger).await?;
    declare_account(member, &account, maker, ledger).await?;
    let role = member_role(&options.name);
    let rules = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["get"]},
    ]);
    declare(
        member,
        &resources::cluster_roles(),
        &ObjectKey::cluster(role.as_str()),
        &[("rules", rules)],
        maker,
        ledger,
    )
    .await?;
    let binding = [
        (
            "roleRef",
            json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": role}),
        ),
        (
            "subjects",
            json!([{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}]),
        ),
    ];
    declare(
        member,
        &resources::cluster_role_bindings(),
        &ObjectKey::cluster(role.as_str()),
        &binding,
        maker,
        ledger,
    )
    .await?;
    let (lasting, ca) = token_of(member, &account).await?;
    let token = bound(member, &account, options).await?.unwrap_or(lasting);
    let (lasting, _) = token_of(member, &impersonator).await?;
    let issued = bound(member, &impersonator, options).await?;
    let impersonator = issued.unwrap_or(lasting);
    let ca = if ca.is_empty() {
        options.ca.clone()
    } else {
        ca
    };
    Ok(Credentials {
        token,
        ca,
        impersonator,
    })
}

async fn ensure_namespace(member: &Client, name: &str) -> Result<(), JoinError> {
    let doing = || format!("make the namespace {name}");
    let key = ObjectKey::cluster(name);
    let deadline = tokio::time::Instant::now() + NAMESPACE_WAIT;
    loop {
        match member.get_metadata(&resources::namespaces(), &key).await {
            // Left from an earlier life: nothing can be put into it.
            Ok(namespace) if namespace.is_terminating() => {}
            // One that is there stays as it is.
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => break,
            Err(error) => return Err(in_member(doing())(error)),
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(JoinError::NamespaceEnding {
                namespace: name.to_owned(),
                seconds: NAMESPACE_WAIT.as_secs(),
            });
        }
        tokio::time::sleep(TOKEN_POLL).await;
    }
    let mut namespace = Object::new(&resources::namespaces().kind, &key);
    mark(&mut namespace);
    match member
        .create(
            &resources::namespaces(),
            &namespace,
            &WriteOptions::by(MANAGER),
        )
        .await
    {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(in_member(doing())(error)),
    }
}

/// An account, and the Secret in which the member puts its token.
async fn declare_account(
    member: &Client,
    account: &ObjectKey,
    maker: Maker<'_>,
    ledger: &mut Ledger,
) -> Result<(), JoinError> {
    let accounts = resources::service_accounts();
    declare(member, &accounts, account, &[], maker, ledger).await?;
    let mut secret = Object::new(&resources::secrets().kind, account);
    let annotations = json!({"kubernetes.io/service-account.name": account.name});
    for (path, value) in [
        (&["metadata", "annotations"][..], annotations),
        (&["type"], json!("kubernetes.io/service-account-token")),
    ] {
        secret
            .set(path, value)
            .expect("invariant: a new object has nothing in the way");
    }
    sign(&mut secret, maker);
    apply(member, &resources::secrets(), &secret, maker, ledger).await
}

/// Waits until the member has put a token into the account's Secret.
async fn token_of(member: &Client, account: &ObjectKey) -> Result<(String, Vec<u8>), JoinError> {
    let deadline = tokio::time::Instant::now() + TOKEN_WAIT;
    loop {
        let secret = member.get(&resources::secrets(), account).await;
        let secret = secret.map_err(in_member(format!("read the token of {account}")))?;
        let value = |key: &str| secret.text_at(&["data", key]).and_then(decode);
        let token = value("token").and_then(|token| String::from_utf8(token).ok());
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            return Ok((token, value("ca.crt").unwrap_or_default()));
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(JoinError::NoToken {
                account: account.clone(),
                seconds: TOKEN_WAIT.as_secs(),
            });
        }
        tokio::time::sleep(TOKEN_POLL).await;
    }
}

/// A token that ends, and ends at once if the account's Secret is deleted. `None` if the member has only the lasting ones
/// in Secrets.
async fn bound(
    member: &Client,
    account: &ObjectKey,
    options: &JoinOptions,
) -> Result<Option<String>, JoinError> {
    let issued = token::issue(member, account, options.token_seconds).await;
    issued.map_err(in_member(format!("ask for a token of {account}")))
}

/// Declares an object with our mark: made if it is not there, brought to this if it is.
async fn declare(
    member: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
    fields: &[(&str, Value)],
    maker: Maker<'_>,
    ledger: &mut Ledger,
) -> Result<(), JoinError> {
    let mut object = Object::new(&resource.kind, key);
    mark(&mut object);
    sign(&mut object, maker);
    for (name, value) in fields {
        object
            .set(&[name], value.clone())
            .expect("invariant: a new object has nothing in the way");
    }
    apply(member, resource, &object, maker, ledger).await
}

async fn apply(
    member: &Client,
    resource: &ResourceType,
    object: &Object,
    maker: Maker<'_>,
    ledger: &mut Ledger,
) -> Result<(), JoinError> {
    let key = object.key();
    let doing = || format!("make {} {key}", resource.kind.kind);
    let created = create(member, Place::Member, resource, object, ledger).await;
    if created.map_err(in_member(doing()))? {
        return Ok(());
    }
    // Somebody may have made it since it was looked whose it is.
    let found = member.get_metadata(resource, &key).await;
    let found = found.map_err(in_member(doing()))?;
    if let Some(maker) = another(&found, maker.id).filter(|_| !maker.takes_over) {
        return Err(JoinError::Claimed {
            maker: maker.to_owned(),
            objects: vec![(resource.clone(), key)],
        });
    }
    let options = WriteOptions::by(MANAGER);
    let applied = member.apply(resource, object, true, &Part::Object, &options);
    applied.await.map(drop).map_err(in_member(doing()))
}

/// Brings an object to what it should be, and notes it if it was not there.
///
/// What is new is created and not applied: somebody may make it in the same moment, and what is applied to theirs would be
/// taken for ours.
pub(super) async fn make(
    client: &Client,
    place: Place,
    resource: &ResourceType,
    object: &Object,
    ledger: &mut Ledger,
) -> Result<(), CallError> {
    if create(client, place, resource, object, ledger).await? {
        return Ok(());
    }
    let options = WriteOptions::by(MANAGER);
    let applied = client.apply(resource, object, true, &Part::Object, &options);
    applied.await.map(drop)
}

/// Makes an object and notes it, unless it is there; whether it did.
async fn create(
    client: &Client,
    place: Place,
    resource: &ResourceType,
    object: &Object,
    ledger: &mut Ledger,
) -> Result<bool, CallError> {
    let (key, options) = (object.key(), WriteOptions::by(MANAGER));
    match client.get_metadata(resource, &key).await {
        Ok(_) => return Ok(false),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    ledger.begin(place, resource, &key);
    match client.create(resource, object, &options).await {
        Ok(made) => {
            ledger.end(&made);
            Ok(true)
        }
        Err(error) => {
            // A server that says no has made nothing; one that fails on the way may have.
            if error.refusal().is_some_and(|refusal| refusal.code < 500) {
                ledger.refused();
            }
            match error.is_already_exists() {
                true => Ok(false),
                false => Err(error),
            }
        }
    }
}

/// The annotation that says which control plane made an object for a cluster that joined it: the uid of its own namespace
/// `kube-system`.
pub(super) const MAKER: &str = "karavel.io/control-plane";

/// Which other control plane made an object; `None` also where nobody noted it: what Karmada made is taken over.
pub(super) fn another<'o>(object: &'o Object, own: Option<&str>) -> Option<&'o str> {
    object.annotation(MAKER).filter(|maker| Some(*maker) != own)
}

/// Refuses a name as which the cluster has joined another control plane, before anything is made: both would have one
/// account, and whichever lets the cluster go takes it from the other.
pub(super) async fn check_unclaimed(
    member: &Client,
    options: &JoinOptions,
    maker: Maker<'_>,
) -> Result<(), JoinError> {
    if maker.takes_over {
        return Ok(());
    }
    let (mut claimed, mut objects) = (None, Vec::new());
    for (resource, key) in made_for(&options.name, &options.namespace) {
        let doing = || format!("read {} {key}", resource.kind.kind);
        match member.get_metadata(&resource, &key).await {
            Ok(found) => {
                if let Some(maker) = another(&found, maker.id) {
                    claimed.get_or_insert_with(|| maker.to_owned());
                    objects.push((resource, key));
                }
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(in_member(doing())(error)),
        }
    }
    match claimed {
        None => Ok(()),
        Some(maker) => Err(JoinError::Claimed { maker, objects }),
    }
}

/// What joining makes in the member for one cluster alone, in the order in which it goes.
pub(super) fn made_for(name: &str, namespace: &str) -> [(ResourceType, ObjectKey); 4] {
    let role = ObjectKey::cluster(member_role(name));
    let account = ObjectKey::namespaced(namespace, member_account(name));
    [
        (resources::cluster_role_bindings(), role.clone()),
        (resources::cluster_roles(), role),
        (resources::secrets(), account.clone()),
        (resources::service_accounts(), account),
    ]
}

/// Notes which control plane makes an object, if it has an id.
fn sign(object: &mut Object, maker: Maker<'_>) {
    if let Some(maker) = maker.id {
        object
            .set(&["metadata", "annotations", MAKER], maker)
            .expect("invariant: a new object has nothing in the way");
    }
}

/// Marks an object as the control plane's own.
pub(super) fn mark(object: &mut Object) {
    object
        .set(&["metadata", "labels", SYSTEM], TRUE)
        .expect("invariant: a new object has nothing in the way");
}
