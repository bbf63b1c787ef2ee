//! Joining a cluster to a control plane, and letting it go.
//!
//! Writes: in the member a namespace, two accounts with their tokens, a role and its binding; in the control plane two
//!         Secrets and the Cluster that owns them.
//! Keeps:  what can be refused is refused before anything is made; the Cluster is made last, and what was made before is
//!         taken back where it is not; credentials that are already there are replaced, not believed; nothing of another
//!         cluster is touched.

mod afterwards;
mod belongings;
mod control_plane;
mod foretold;
mod identity;
mod leave;
mod ledger;
mod member;
pub(crate) mod remains;

use std::fmt;

use api::names::IMPERSONATOR_ACCOUNT;
use client::{CallError, Client};
use object::time::Time;
use object::{ObjectKey, ResourceType};

use crate::credentials::LIFETIME_SECONDS;
pub use crate::join::leave::{UnjoinError, UnjoinOptions, Unjoined, unjoin};
use crate::join::ledger::{Ledger, Place};
use crate::join::member::Maker;

/// The field manager of what joining writes.
const MANAGER: &str = "karavel-join";

/// What a cluster is to be known by and how it is reached.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The cluster's name.
    pub name: String,
    /// Where credentials are kept, in the member and in the control plane.
    pub namespace: String,
    /// The URL under which the control plane reaches the member's API.
    pub endpoint: String,
    /// Who signed the member's certificate, for a member that does not say; PEM.
    pub ca: Vec<u8>,
    /// Whether the member's certificate goes unchecked.
    pub insecure: bool,
    /// A proxy on the way to the member.
    pub proxy: Option<String>,
    /// Who runs the cluster.
    pub provider: String,
    /// Where it is.
    pub region: String,
    /// The failure domains it spans.
    pub zones: Vec<String>,
    /// Only checks whether the cluster could be joined.
    pub dry_run: bool,
    /// How long the tokens are asked to last that the control plane is given, in seconds.
    pub token_seconds: i64,
    /// Takes the accounts in the member that another control plane made under the name, which then no longer has them.
    pub takes_over: bool,
}

impl JoinOptions {
    /// A cluster of that name at that address, and everything else as usual.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: api::names::CLUSTER_NAMESPACE.to_owned(),
            endpoint: endpoint.into(),
            ca: Vec::new(),
            insecure: false,
            proxy: None,
            provider: String::new(),
            region: String::new(),
            zones: Vec::new(),
            dry_run: false,
            token_seconds: LIFETIME_SECONDS,
            takes_over: false,
        }
    }
}

/// A cluster that has joined, or could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// What tells the cluster from all others, whatever it is called.
    pub id: String,
    /// The name under which another control plane has it too, or had it and left its rules of impersonation there.
    pub shared_as: Option<String>,
}

/// Why a cluster has not joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The name cannot be a cluster's.
    #[error("invalid cluster name({name}): {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The cluster, or another of its name, has joined already.
    #[error("the cluster ID {id} or the cluster name {name} has been registered: {holder}")]
    Registered {
        /// The cluster's identity.
        id: String,
        /// The name it was to have.
        name: String,
        /// Who has which of them.
        holder: Holder,
    },
    /// The cluster is the control plane.
    #[error("the cluster to join is the control plane itself")]
    Itself,
    /// The Cluster appeared while it was being joined.
    #[error("cluster({0}) already exist")]
    Exists(String),
    /// The place for the cluster's credentials is taken by another cluster's.
    #[error("secret {secret} belongs to cluster {owner}")]
    SecretTaken {
        /// The secret.
        secret: ObjectKey,
        /// Whose it is.
        owner: String,
    },
    /// The cluster has joined another control plane under this name.
    #[error(
        "the cluster has joined another control plane under this name, the one with the ID {maker}: its mark is on {}",
        named(objects)
    )]
    Claimed {
        /// What tells the other control plane from all others.
        maker: String,
        /// What is the other's in the member.
        objects: Vec<(ResourceType, ObjectKey)>,
    },
    /// The member does not issue tokens for its accounts.
    #[error(
        "the cluster has not issued a token for the service account {account} within {seconds} seconds"
    )]
    NoToken {
        /// The account.
        account: ObjectKey,
        /// How long was waited.
        seconds: u64,
    },
    /// The namespace for the accounts is on its way out.
    #[error(
        "the namespace {namespace} of the cluster is still being deleted after {seconds} seconds"
    )]
    NamespaceEnding {
        /// The namespace.
        namespace: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The member's API did not do what was asked.
    #[error("cannot {doing} in the member cluster")]
    Member {
        /// What was asked.
        doing: String,
        /// Why not.
        source: CallError,
    },
    /// It failed, and what was made before could not be taken back.
    #[error("cannot join, and what was made for it stays behind: {left}")]
    Left {
        /// What stays.
        left: String,
        /// Why it failed.
        source: Box<Self>,
    },
    /// The control plane did not do what was asked.
    #[error("cannot {doing} in the control plane")]
    ControlPlane {
        /// What was asked.
        doing: String,
        /// Why not.
        source: CallError,
    },
}

/// Who has what a cluster was to be known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The same cluster under the same name.
    Itself,
    /// The same cluster has joined under this name.
    Id(String),
    /// Another cluster has the name; its id, if it has one.
    Name(String),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Itself => f.write_str("it has joined under that name already"),
            Self::Id(name) => write!(f, "it has joined as cluster {name} already"),
            Self::Name(id) if id.is_empty() => f.write_str("another cluster has that name"),
            Self::Name(id) => write!(f, "another cluster, with the ID {id}, has that name"),
        }
    }
}

/// Joins a cluster to a control plane.
pub async fn join(
    control: &Client,
    member: &Client,
    options: &JoinOptions,
) -> Result<Joined, JoinError> {
    identity::check_name(&options.name)?;
    let id = identity::read_id(member).await?;
    let own = identity::own_id(control).await;
    if own.as_ref() == Some(&id) {
        return Err(JoinError::Itself);
    }
    let clusters = identity::joined(control).await?;
    identity::check_unregistered(&clusters, &options.name, &id)?;
    control_plane::check_secrets(control, options, &clusters).await?;
    let maker = Maker {
        id: own.as_deref(),
        takes_over: options.takes_over,
    };
    member::check_unclaimed(member, options, maker).await?;
    let shared_as = identity::shared_as(member, &options.name).await?;
    if options.dry_run {
        return Ok(Joined { id, shared_as });
    }
    let mut ledger = Ledger::default();
    let introduced = async {
        let credentials = member::prepare(member, options, maker, &mut ledger).await?;
        control_plane::register(control, options, &id, &credentials, &mut ledger).await
    };
    let Err(error) = introduced.await else {
        return Ok(Joined { id, shared_as });
    };
    if matches!(error, JoinError::Claimed { .. }) {
        // Who was faster has it, too.
        ledger.spare(Place::Member, IMPERSONATOR_ACCOUNT);
    }
    let left = ledger.take_back(control, member).await;
    match left.is_empty() {
        true => Err(error),
        false => Err(JoinError::Left {
            left: left.join("; "),
            source: Box::new(error),
        }),
    }
}

/// Gives the control plane new tokens of a cluster that has joined before, if those it has are old or have ended while
/// nobody could replace them; whether it did.
pub async fn renew(
    control: &Client,
    member: &Client,
    options: &JoinOptions,
    now: Time,
) -> Result<bool, JoinError> {
    let due = control_plane::renewal(control, options).await?;
    if due.is_none_or(|due| due > now) {
        return Ok(false);
    }
    // What a cluster has that has joined is not taken back.
    let mut ledger = Ledger::default();
    let own = identity::own_id(control).await;
    let maker = Maker {
        id: own.as_deref(),
        takes_over: options.takes_over,
    };
    let credentials = member::prepare(member, options, maker, &mut ledger).await?;
    control_plane::keep_all(control, options, &credentials, &mut ledger).await?;
    Ok(true)
}

/// Objects in words such as `ConfigMap default/a`.
fn named(objects: &[(ResourceType, ObjectKey)]) -> String {
    let named =
        |(resource, key): &(ResourceType, ObjectKey)| format!("{} {key}", resource.kind.kind);
    objects.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn in_member(doing: impl Into<String>) -> impl FnOnce(CallError) -> JoinError {
    let doing = doing.into();
    move |source| JoinError::Member { doing, source }
}

fn in_control_plane(doing: impl Into<String>) -> impl FnOnce(CallError) -> JoinError {
    let doing = doing.into();
    move |source| JoinError::ControlPlane { doing, source }
}
