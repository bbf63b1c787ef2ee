//! Agents that ask for their certificate: who gets one without anybody looking, and what it lets them do.
//!
//! A request is for an agent if it names nothing but one. A newcomer with a bootstrap token gets one for a cluster nobody
//! has registered yet, unless its name was given to somebody else; an agent gets a new one for itself. The roles of an
//! agent are written here, when its request is approved: nobody who joins needs leave to write roles. They go with the
//! agent's cluster, and at once where a cluster turns out not to be an agent's.

mod confinement;
mod grants;

use std::sync::Arc;

use access::Access;
use access::attempt::Attempt;
use access::certificates::CLIENT_SIGNER;
use access::following::{Follower, write};
use api::cluster::sync_mode;
use api::names::reserved_cluster_name;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use listen::SigningRequest;
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serve::cache;
use serve::call::User;
use serve::record::Record;
use serve::server::Server;
use serve::target::ResourceTarget;

pub(crate) use crate::agents::confinement::{Confinement, confine, is_shown_no_data, without_data};

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";
/// The organisation of every agent.
const AGENTS: &str = "system:karmada:agents";
/// What the name of every agent begins with; the cluster follows.
const AGENT_PREFIX: &str = "system:karmada:agent:";
/// The longest name of a cluster.
const LONGEST_NAME: usize = 48;
const CLUSTERS: (&str, &str) = ("cluster.karmada.io", "clusters");

/// Which of the two ways a request is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// An agent renews its own certificate.
    Itself,
    /// Somebody with a bootstrap token registers a cluster.
    Newcomer,
}

impl Way {
    fn subresource(self) -> &'static str {
        match self {
            Self::Itself => "selfclusteragent",
            Self::Newcomer => "clusteragent",
        }
    }

    /// Upstream: these sentences.
    fn message(self) -> &'static str {
        match self {
            Self::Itself => {
                "Auto approving self karmada agent certificate after SubjectAccessReview."
            }
            Self::Newcomer => "Auto approving karmada agent certificate after SubjectAccessReview.",
        }
    }
}

/// Looks after agents' roles and, if it `approves`, after what they ask for, until it is dropped.
pub(crate) async fn follow(server: Arc<Server>, access: Arc<Access>, approves: bool) {
    let mut requests = Follower::new(&server, GROUP, RESOURCE);
    let mut clusters = Follower::new(&server, CLUSTERS.0, CLUSTERS.1);
    loop {
        for name in clusters.changed_keys() {
            if let Some(cluster) = clusters.collection.find(&name) {
                settle(&server, &name, &cluster).await;
            }
        }
        for name in requests.changed_keys() {
            if let Some(request) = requests.collection.find(&name).filter(|_| approves) {
                consider(&server, &access, &name, request.value()).await;
            }
        }
        tokio::select! {
            () = requests.changed() => {}
            () = clusters.changed() => {}
        }
    }
}

/// Lets the roles of an agent go with its cluster. Where that is no agent's, they were got by a stranger.
async fn settle(server: &Server, name: &str, cluster: &Record) {
    let Some(role) = grants::standing(server, name) else {
        return;
    };
    let uid = cluster.head().uid;
    if !is_an_agents(&cluster.value()) {
        tracing::warn!(
            cluster = name,
            "roles taken from an agent whose cluster was joined without it"
        );
        grants::withdraw(server, name).await;
    } else if !role.head().owners.contains(uid) {
        grants::hand_over(server, name, uid).await;
    }
}

/// Approves a request, if it is an agent's and sound.
async fn consider(server: &Server, access: &Access, name: &str, request: Value) {
    let Some(cluster) = cluster_of(&request) else {
        return;
    };
    let user = author(&request);
    match way(server, access, &user, &cluster) {
        Ok(way) => {
            // First what it may do: the certificate is of use from its first moment.
            if way == Way::Newcomer {
                grants::give(server, &cluster, &user.name).await;
            }
            approve(server, name, request, way).await;
        }
        Err(why) => {
            tracing::info!(
                name,
                cluster,
                why,
                "agent's certificate request waits for approval"
            );
        }
    }
}

/// Whether a cluster is looked after by an agent.
fn is_an_agents(cluster: &Value) -> bool {
    cluster["spec"]["syncMode"] == sync_mode::PULL
}

/// The cluster whose agent a user is. Roles are bound to the name, so it does not matter what else the user is.
fn cluster_of_agent(user: &User) -> Option<&str> {
    user.name.strip_prefix(AGENT_PREFIX)
}

/// The Lease by which the agents of a cluster elect one of themselves.
fn election(cluster: &str) -> String {
    format!("karmada-agent-{cluster}")
}

fn registered(server: &Server, cluster: &str) -> Option<Arc<Record>> {
    let clusters = cache::name_of(CLUSTERS.0, CLUSTERS.1);
    server.cache().collection(&clusters).find(cluster)
}

/// The cluster whose agent a request is for; `None` if it is for something else, or settled.
fn cluster_of(request: &Value) -> Option<String> {
    let spec = request.get("spec")?;
    let settled = request["status"]["conditions"]
        .as_array()
        .is_some_and(|conditions| !conditions.is_empty());
    let issued = request["status"]["certificate"].as_str();
    if settled || issued.is_some_and(|pem| !pem.is_empty()) {
        return None;
    }
    if spec.get("signerName").and_then(Value::as_str) != Some(CLIENT_SIGNER) {
        return None;
    }
    let mut usages: Vec<&str> = spec
        .get("usages")?
        .as_array()?
        .iter()
        .map(|usage| usage.as_str().unwrap_or_default())
        .collect();
    usages.sort_unstable();
    let plain = usages == ["client auth", "digital signature"]
        || usages == ["client auth", "digital signature", "key encipherment"];
    let pem = STANDARD.decode(spec.get("request")?.as_str()?).ok()?;
    let asked = SigningRequest::parse(&pem).ok()?;
    let names = asked.dns_names.len() + asked.addresses + asked.other_names;
    if !plain || names > 0 || asked.repeats || asked.groups != [AGENTS] {
        return None;
    }
    let cluster = asked.name.strip_prefix(AGENT_PREFIX)?;
    Some(cluster.to_owned())
}

/// In which way a request is approved, or why it is not.
fn way(server: &Server, access: &Access, user: &User, cluster: &str) -> Result<Way, &'static str> {
    let is_name = cluster.len() <= LONGEST_NAME
        && object::names::check_dns1123_label(cluster).is_empty()
        && reserved_cluster_name(cluster).is_none();
    if !is_name {
        return Err("it is not for a cluster");
    }
    let may = |way: Way| {
        let target = ResourceTarget {
            group: GROUP.to_owned(),
            version: "*".to_owned(),
            resource: RESOURCE.to_owned(),
            subresource: way.subresource().to_owned(),
            ..ResourceTarget::default()
        };
        access
            .decide(user, &Attempt::on("create", target))
            .is_allowed()
    };
    let registered = registered(server, cluster);
    let standing = grants::standing(server, cluster);
    if cluster_of_agent(user) == Some(cluster) {
        let is_its_own = match &registered {
            Some(cluster) => is_an_agents(&cluster.value()),
            None => standing.is_some(),
        };
        return match (is_its_own, may(Way::Itself)) {
            (true, true) => Ok(Way::Itself),
            (true, false) => Err("the agent may not renew its certificate"),
            (false, _) => Err("the cluster is not the agent's"),
        };
    }
    if !may(Way::Newcomer) {
        return Err("its author may not register clusters");
    }
    if registered.is_some() {
        return Err("the cluster is registered already");
    }
    if standing.is_some_and(|role| grants::wait_for_another(&role, &user.name)) {
        return Err("the name was given to somebody else");
    }
    Ok(Way::Newcomer)
}

/// Who asked, as the server noted it.
fn author(request: &Value) -> User {
    let spec = &request["spec"];
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text("username"),
        uid: text("uid"),
        groups: texts(&spec["groups"]),
        extra: extra
            .map(|(name, values)| (name.clone(), texts(values)))
            .collect(),
    }
}

async fn approve(server: &Server, name: &str, mut request: Value, way: Way) {
    let now = server.now().to_string();
    request["status"]["conditions"] = json!([{
        "type": "Approved", "status": "True", "reason": "AutoApproved", "message": way.message(),
        "lastUpdateTime": now, "lastTransitionTime": now,
    }]);
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let path = format!("/apis/{GROUP}/v1/{RESOURCE}/{name}/approval");
    write(server, Method::PUT, &path, &request).await;
}
