//! Letting a cluster go.

use std::time::Duration;

use api::cluster::{Cluster, sync_mode};
use api::names::execution_space;
use api::well_known::finalizers;
use api::work::v1alpha1::Work;
use client::{CallError, Client, DeleteOptions, ListOptions, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;
use telemetry::chain;
use tokio::time::Instant;

use crate::join::afterwards::{self, Others};
use crate::join::belongings::Belongings;
use crate::join::foretold::foretold;
use crate::join::remains::{self, Remains, Seen, staying, uncertain, unmanaged};
use crate::join::{JoinError, MANAGER, identity};
use crate::resources;

/// How often to look whether the cluster is gone, where it cannot be watched.
const POLL: Duration = Duration::from_millis(200);

/// How often to look whether a cluster that is away is back.
const RETRY: Duration = Duration::from_secs(1);

/// How long a cluster that goes may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(10);

/// How often to look what is still in the member while it is taken out.
const RECOUNT: Duration = Duration::from_secs(5);

/// How a cluster is let go.
#[derive(Clone, Debug)]
pub struct UnjoinOptions {
    /// The cluster's name.
    pub name: String,
    /// Where its credentials are kept in the member; if absent, where joining kept them.
    pub namespace: Option<String>,
    /// How long it may take in good order.
    pub wait: Duration,
    /// Afterwards lets go by force, and at once of a cluster that is not ready: what is still in the member stays there.
    pub force: bool,
    /// Only says what would be done.
    pub dry_run: bool,
}

impl UnjoinOptions {
    /// A cluster of that name, in good order or not at all.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            wait: Duration::from_secs(60),
            force: false,
            dry_run: false,
        }
    }

    /// The same, with the namespace that is known otherwise if none was given.
    pub(super) fn within(&self, known: Option<&str>) -> Self {
        let known = known.filter(|known| !known.is_empty());
        let given = self.namespace.as_deref();
        Self {
            namespace: given.or(known).map(str::to_owned),
            ..self.clone()
        }
    }

    /// Where credentials are kept in the member.
    pub(super) fn place(&self) -> &str {
        let place = self.namespace.as_deref();
        place.unwrap_or(api::names::CLUSTER_NAMESPACE)
    }
}

/// A cluster that was let go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unjoined {
    /// What is left behind and nobody looks after any more, in sentences for people.
    pub left_behind: Vec<String>,
    /// What would be done, where nothing is; in sentences too.
    pub foretold: Vec<String>,
    /// Whether it would be refused, as the cluster does not answer and nobody said to leave behind what is in it.
    pub would_be_refused: bool,
}

/// Why a cluster was not let go.
#[derive(Debug, thiserror::Error)]
pub enum UnjoinError {
    /// There is none of that name.
    #[error("no cluster object {0} found in karmada control Plane")]
    NotFound(String),
    /// It was registered by an agent, which must be removed with it.
    #[error("cluster {0} is a pull mode cluster; use the command 'unregister' for it")]
    Pulled(String),
    /// Whoever answers in the member's place is another cluster: nothing of it may be taken away.
    #[error(
        "what was given as the member is another cluster: {name} has the ID {expected}, this one {found}"
    )]
    Another {
        /// The cluster to be let go.
        name: String,
        /// Its identity.
        expected: String,
        /// Whose kubeconfig was given.
        found: String,
    },
    /// The Cluster is gone, and what is in the member is not known to be this control plane's.
    #[error(
        "no cluster object {name} found in karmada control Plane, and {why}, so it stays in the member: {}",
        remains::some_of(objects)
    )]
    Foreign {
        /// The cluster that is gone.
        name: String,
        /// Why it is not known.
        why: String,
        /// What is in the member.
        objects: Vec<String>,
    },
    /// Nobody can wait no time.
    #[error("--wait must be greater than 0")]
    NoWait,
    /// The member does not say which cluster it is.
    #[error("cannot find out which cluster the member is")]
    Unknown(#[source] Box<JoinError>),
    /// It could not be reached all the time: who lets it go leaves behind what is in it.
    #[error(
        "cluster {name} {standing} after {} seconds and was not let go, since this would stay in it: {}",
        wait.as_secs(),
        remains::some_of(objects)
    )]
    Away {
        /// The cluster.
        name: String,
        /// How it is, such as `is still not ready`.
        standing: String,
        /// How long was waited.
        wait: Duration,
        /// What would stay in it.
        objects: Vec<String>,
    },
    /// It did not go in time.
    #[error("cluster {name} is still there after {} seconds: {holding}", wait.as_secs())]
    Late {
        /// The cluster.
        name: String,
        /// How long was waited.
        wait: Duration,
        /// What holds it.
        holding: String,
    },
    /// A call did not do what was asked.
    #[error("cannot {doing}")]
    Call {
        /// What was asked.
        doing: String,
        /// Why not.
        source: CallError,
    },
}

/// Lets a cluster go: first in the control plane, then, if the member can be reached, what joining made there.
pub async fn unjoin(
    control: &Client,
    member: Option<&Client>,
    options: &UnjoinOptions,
) -> Result<Unjoined, UnjoinError> {
    if options.wait.is_zero() {
        return Err(UnjoinError::NoWait);
    }
    let mut result = Unjoined::default();
    let (resource, key) = (
        resources::of::<Cluster>(),
        ObjectKey::cluster(options.name.as_str()),
    );
    let cluster = match control.get(&resource, &key).await {
        Ok(cluster) => cluster,
        Err(error) if error.is_not_found() => {
            return match member {
                Some(member) => afterwards::clean_up(control, member, options).await,
                None => Err(UnjoinError::NotFound(options.name.clone())),
            };
        }
        Err(error) => return Err(call(format!("read the cluster {}", options.name))(error)),
    };
    if cluster.text_at(&["spec", "syncMode"]) == Some(sync_mode::PULL) {
        return Err(UnjoinError::Pulled(options.name.clone()));
    }
    // Joining keeps credentials in namespaces of one name on both sides.
    let options = &options.within(cluster.text_at(&["spec", "secretRef", "namespace"]));
    let member = match member {
        Some(member) => recognised(member, &cluster, options, &mut result).await?,
        None => None,
    };
    let mut remains = Remains::before(control, &cluster).await;
    let id = cluster.text_at(&["spec", "id"]).unwrap_or_default();
    if options.dry_run {
        let end = Instant::now() + options.wait;
        remains.was_ready = remains.was_ready && silence(control, &cluster, end).await.is_none();
        let belongings = match member {
            Some(member) => {
                let others = Others::of(control, id, &options.name).await;
                Some(Belongings::survey(member, options, &others).await?)
            }
            None => None,
        };
        result.would_be_refused = !remains.was_ready && !remains.is_empty() && !options.force;
        result.foretold = foretold(&cluster, &remains, belongings.as_ref(), options);
        return Ok(result);
    }
    let deadline = Instant::now() + options.wait;
    if !options.force && !cluster.is_terminating() {
        wait_until_reached(control, &cluster, options, &mut remains, deadline).await?;
    }
    let deletion = DeleteOptions {
        uid: Some(cluster.uid().to_owned()),
        ..DeleteOptions::default()
    };
    match control.delete(&resource, &key, &deletion).await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(call(format!("delete the cluster {}", options.name))(error)),
    }
    let holding = wait_until_gone(control, &cluster, options, &mut remains, deadline).await?;
    if let Some(holding) = holding {
        if !options.force {
            return Err(UnjoinError::Late {
                name: options.name.clone(),
                wait: options.wait,
                holding,
            });
        }
        let works = force(control, &options.name, &mut result).await;
        if remains.was_ready {
            remains.count(&works, &cluster);
        }
    } else if remains.was_ready {
        remains.objects.clear();
        remains.doubtful.clear();
        let namespaces = still_there(member, std::mem::take(&mut remains.namespaces)).await;
        if !namespaces.is_empty() {
            result.left_behind.push(staying(&namespaces));
        }
    }
    // Whoever cannot be reached keeps what it has, also when its works are let go and nothing holds the cluster back.
    if !remains.objects.is_empty() {
        result.left_behind.push(unmanaged(&remains.objects));
    }
    if !remains.doubtful.is_empty() {
        result.left_behind.push(uncertain(&remains.doubtful));
    }
    if let Some(member) = member {
        let others = Others::of(control, id, &options.name).await;
        clean(member, options, &others, &mut result).await?;
    } else {
        result.left_behind.push(format!(
            "the accounts and roles of the control plane in namespace {} of the member stay",
            options.place()
        ));
    }
    Ok(result)
}

/// The member, if it is the cluster that is let go; nobody if by force one goes on without knowing.
async fn recognised<'a>(
    member: &'a Client,
    cluster: &Object,
    options: &UnjoinOptions,
    result: &mut Unjoined,
) -> Result<Option<&'a Client>, UnjoinError> {
    let expected = cluster.text_at(&["spec", "id"]).unwrap_or_default();
    match identity::read_id(member).await {
        Ok(found) if expected.is_empty() || found == expected => Ok(Some(member)),
        Ok(found) => Err(UnjoinError::Another {
            name: options.name.clone(),
            expected: expected.to_owned(),
            found,
        }),
        Err(error) if options.force => {
            result
                .left_behind
                .push(format!("everything in the member: {}", chain(&error)));
            Ok(None)
        }
        Err(error) => Err(UnjoinError::Unknown(Box::new(error))),
    }
}

/// Those of the namespaces that the member still has, where it can be asked.
async fn still_there(member: Option<&Client>, names: Vec<String>) -> Vec<String> {
    let Some(member) = member else {
        return names;
    };
    let mut there = Vec::new();
    for name in names {
        let key = ObjectKey::cluster(name.as_str());
        let found = member.get_metadata(&resources::namespaces(), &key).await;
        let is_gone = match &found {
            Ok(namespace) => namespace.is_terminating(),
            Err(error) => error.is_not_found(),
        };
        if !is_gone {
            there.push(name);
        }
    }
    there
}

/// Waits until a cluster that has something of ours is ready and answers, so that it can be taken out.
///
/// Works for a cluster that goes and is not ready are let go at once, whoever deletes it. Upstream: the same; so the command
/// must not ask for it where only force may. One that has died is taken for ready for a while.
async fn wait_until_reached(
    control: &Client,
    cluster: &Object,
    options: &UnjoinOptions,
    remains: &mut Remains,
    deadline: Instant,
) -> Result<(), UnjoinError> {
    let (resource, key) = (resources::of::<Cluster>(), cluster.key());
    let mut latest = cluster.clone();
    while !remains.is_empty() {
        let standing = match remains.was_ready {
            false => "is still not ready".to_owned(),
            true => match silence(control, &latest, deadline).await {
                None => return Ok(()),
                Some(why) => format!("still does not answer ({why})"),
            },
        };
        if Instant::now() >= deadline {
            let objects = remains.objects.iter().chain(&remains.doubtful);
            return Err(UnjoinError::Away {
                name: options.name.clone(),
                standing,
                wait: options.wait,
                objects: objects.cloned().collect(),
            });
        }
        tokio::time::sleep_until(deadline.min(Instant::now() + RETRY)).await;
        latest = match control.get(&resource, &key).await {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(call(format!("read the cluster {}", options.name))(error)),
        };
        *remains = Remains::before(control, &latest).await;
    }
    Ok(())
}

/// Why the control plane gets no answer from a cluster; `None` if it does, or if it cannot be asked through the control
/// plane at all: then only its condition tells how it is.
async fn silence(control: &Client, cluster: &Object, end: Instant) -> Option<String> {
    cluster.at(&["spec", "impersonatorSecretRef"])?;
    let path = format!(
        "{}/proxy/version",
        resources::of::<Cluster>().object_path(&cluster.key())
    );
    let end = end.min(Instant::now() + ANSWER);
    match tokio::time::timeout_at(end, control.ready(&path)).await {
        // That is how the control plane says so; a refusal is the answer of somebody who is there.
        Ok(Ok((502..=504, said))) => {
            let status: Option<Value> = serde_json::from_str(&said).ok();
            let message = status
                .as_ref()
                .and_then(|status| status["message"].as_str());
            Some(message.unwrap_or(&said).to_owned())
        }
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(chain(&error).to_string()),
        Err(_) => Some("it did not in time".to_owned()),
    }
}

/// Waits until the cluster is gone; says what holds it when the time is over.
async fn wait_until_gone(
    control: &Client,
    cluster: &Object,
    options: &UnjoinOptions,
    remains: &mut Remains,
    deadline: Instant,
) -> Result<Option<String>, UnjoinError> {
    let (resource, key) = (
        resources::of::<Cluster>(),
        ObjectKey::cluster(options.name.as_str()),
    );
    let mut latest = cluster.clone();
    loop {
        let end = deadline.min(Instant::now() + RECOUNT);
        match remains.follow(control, &latest, end).await {
            Seen::Gone => return Ok(None),
            Seen::There => {}
            Seen::Unknown => tokio::time::sleep(POLL).await,
        }
        let listed = remains::listed(control, &options.name).await;
        latest = match control.get(&resource, &key).await {
            Ok(found) if found.uid() != cluster.uid() => return Ok(None),
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(call(format!("read the cluster {}", options.name))(error)),
        };
        remains.see(&latest);
        // What is taken out of a member in good order does not stay in it. It was ready after the works were listed, so
        // nobody had let go of any of them.
        if let Some(works) = listed
            && remains.was_ready
        {
            remains.count(&works, &latest);
        }
        if Instant::now() >= deadline {
            return Ok(Some(remains::holding(control, &options.name).await));
        }
    }
}

/// Takes finalizers away, and hands back the works that there were. What fails is told, and the rest goes
/// on.
async fn force(control: &Client, name: &str, result: &mut Unjoined) -> Vec<Object> {
    let space = execution_space(name);
    // Whoever takes care of the cluster may still be waiting for its bindings, and nobody does once the cluster is gone.
    let whole = ObjectKey::cluster(space.as_str());
    end(control, &resources::namespaces(), &whole, result).await;
    let resource = resources::of::<Work>();
    let mut let_go = Vec::new();
    match control
        .list_all(&resource, &space, &ListOptions::default())
        .await
    {
        Ok(works) => {
            for work in &works.items {
                // Whoever made a work gives the finalizer back to one that is to stay.
                if !work.is_terminating() {
                    end(control, &resource, &work.key(), result).await;
                }
                drop_finalizer(control, &resource, work, finalizers::EXECUTION, result).await;
            }
            let_go = works.items;
        }
        Err(error) => result
            .left_behind
            .push(format!("the works in {space}: {}", chain(&error))),
    }
    let (resource, key) = (resources::of::<Cluster>(), ObjectKey::cluster(name));
    match control.get(&resource, &key).await {
        Ok(cluster) => {
            drop_finalizer(control, &resource, &cluster, finalizers::CLUSTER, result).await
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => result
            .left_behind
            .push(format!("the cluster {name}: {}", chain(&error))),
    }
    let_go
}

/// Asks for a deletion, unless somebody has already.
async fn end(control: &Client, resource: &ResourceType, key: &ObjectKey, result: &mut Unjoined) {
    let options = DeleteOptions::default();
    if let Err(error) = control.delete(resource, key, &options).await
        && !error.is_not_found()
        && !error.is_conflict()
    {
        let what = format!("{} {key}", resource.kind.kind);
        result
            .left_behind
            .push(format!("{what}: {}", chain(&error)));
    }
}

async fn drop_finalizer(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    finalizer: &str,
    result: &mut Unjoined,
) {
    let rest: Vec<&str> = object
        .finalizers()
        .filter(|name| *name != finalizer)
        .collect();
    if rest.len() == object.finalizers().count() {
        return;
    }
    let patch = json!({"metadata": {"uid": object.uid(), "finalizers": rest}});
    let options = WriteOptions::by(MANAGER);
    let patched = control
        .patch(
            resource,
            &object.key(),
            PatchKind::Merge,
            &patch,
            &Part::Object,
            &options,
        )
        .await;
    if let Err(error) = patched
        && !error.is_not_found()
    {
        let what = format!("{} {}", resource.kind.kind, object.key());
        result
            .left_behind
            .push(format!("{what} with its finalizer: {}", chain(&error)));
    }
}

/// Takes away what joining made in the member.
async fn clean(
    member: &Client,
    options: &UnjoinOptions,
    others: &Others,
    result: &mut Unjoined,
) -> Result<(), UnjoinError> {
    match Belongings::survey(member, options, others).await {
        Ok(belongings) => belongings.remove(member, options, result).await,
        Err(error) if options.force => {
            let why = chain(&error);
            result.left_behind.push(format!(
                "the accounts and roles of the control plane in the member: {why}"
            ));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

pub(super) fn call(doing: impl Into<String>) -> impl FnOnce(CallError) -> UnjoinError {
    let doing = doing.into();
    move |source| UnjoinError::Call { doing, source }
}
