//! Agents that ask for their certificate: who gets one without anybody looking, and what it lets them do.
//!
//! A request is for an agent if it names nothing but one. A newcomer with a bootstrap token gets one for a cluster nobody
//! has registered yet; an agent gets a new one for itself. The roles of an agent are written here, when its request is
//! approved: nobody who joins needs leave to write roles.

use std::sync::Arc;

use access::Access;
use access::attempt::Attempt;
use access::certificates::CLIENT_SIGNER;
use access::following::{Follower, write};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use listen::SigningRequest;
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serve::cache;
use serve::call::User;
use serve::server::Server;
use serve::target::ResourceTarget;

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";
/// The organisation of every agent.
const AGENTS: &str = "system:karmada:agents";
/// What the name of every agent begins with; the cluster follows.
const AGENT_PREFIX: &str = "system:karmada:agent:";
/// Names that are no clusters': the reference gives this one leave to do everything.
const RESERVED: [&str; 1] = ["rbac-generator"];
/// The longest name of a cluster.
const LONGEST_NAME: usize = 48;
/// Where clusters' secrets and leases are.
const CLUSTER_NAMESPACE: &str = "karmada-cluster";
/// Where agents elect one of themselves.
const SYSTEM_NAMESPACE: &str = "karmada-system";

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

/// Approves what agents ask for, until it is dropped.
pub(crate) async fn follow(server: Arc<Server>, access: Arc<Access>) {
    let mut requests = Follower::new(&server, GROUP, RESOURCE);
    loop {
        for name in requests.changed_keys() {
            let Some(record) = requests.collection.find(&name) else {
                continue;
            };
            let request = record.value();
            let Some(cluster) = cluster_of(&request) else {
                continue;
            };
            match way(&server, &access, &request, &cluster) {
                Ok(way) => {
                    // First what it may do: the certificate is of use from its first moment.
                    grant(&server, &cluster).await;
                    approve(&server, &name, request, way).await;
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
        requests.changed().await;
    }
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
    if !plain || names > 0 || asked.groups != [AGENTS] {
        return None;
    }
    let cluster = asked.name.strip_prefix(AGENT_PREFIX)?;
    Some(cluster.to_owned())
}

/// In which way a request is approved, or why it is not.
fn way(
    server: &Server,
    access: &Access,
    request: &Value,
    cluster: &str,
) -> Result<Way, &'static str> {
    let is_name = cluster.len() <= LONGEST_NAME
        && object::names::check_dns1123_label(cluster).is_empty()
        && !RESERVED.contains(&cluster);
    if !is_name {
        return Err("it is not for a cluster");
    }
    let user = author(request);
    let may = |way: Way| {
        let target = ResourceTarget {
            group: GROUP.to_owned(),
            version: "*".to_owned(),
            resource: RESOURCE.to_owned(),
            subresource: way.subresource().to_owned(),
            ..ResourceTarget::default()
        };
        access
            .decide(&user, &Attempt::on("create", target))
            .is_allowed()
    };
    if user.name.strip_prefix(AGENT_PREFIX) == Some(cluster) {
        return if may(Way::Itself) {
            Ok(Way::Itself)
        } else {
            Err("the agent may not renew its certificate")
        };
    }
    if !may(Way::Newcomer) {
        return Err("its author may not register clusters");
    }
    let clusters = cache::name_of("cluster.karmada.io", "clusters");
    if server.cache().collection(&clusters).find(cluster).is_some() {
        return Err("the cluster is registered already");
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

/// Writes the roles of a cluster's agent: its own cluster, its own works, its own secrets and leases.
async fn grant(server: &Server, cluster: &str) {
    let works = format!("karmada-es-{cluster}");
    let namespace = json!({"metadata": {"name": works, "labels": {"karmada.io/system": "true"}}});
    write(server, Method::POST, "/api/v1/namespaces", &namespace).await;
    for Grant {
        namespace,
        name,
        rules,
    } in grants(cluster, &works)
    {
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let (kind, base, roles, bindings) = match namespace {
            "" => (
                "ClusterRole",
                base.to_owned(),
                "clusterroles",
                "clusterrolebindings",
            ),
            namespace => (
                "Role",
                format!("{base}/namespaces/{namespace}"),
                "roles",
                "rolebindings",
            ),
        };
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{
                "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": format!("{AGENT_PREFIX}{cluster}"),
            }],
        });
        write(server, Method::POST, &format!("{base}/{roles}"), &role).await;
        write(
            server,
            Method::POST,
            &format!("{base}/{bindings}"),
            &binding,
        )
        .await;
    }
}

/// Rules in a namespace, or everywhere if that is empty.
struct Grant<'a> {
    namespace: &'a str,
    name: String,
    rules: Value,
}

/// Upstream: the same, but that leases are an agent's own and not everybody's.
fn grants<'a>(cluster: &str, works: &'a str) -> [Grant<'a>; 4] {
    let rule = |group: &str, resources: &[&str], verbs: &[&str], names: &[&str]| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    let read = ["get", "list", "watch"];
    let impersonator = format!("{cluster}-impersonator");
    let election = format!("karmada-agent-{cluster}");
    [
        Grant {
            namespace: "",
            name: format!("system:karmada:{cluster}:agent"),
            rules: json!([
                rule(
                    "cluster.karmada.io",
                    &["clusters"],
                    &["get", "delete"],
                    &[cluster]
                ),
                rule(
                    "cluster.karmada.io",
                    &["clusters"],
                    &["create", "list", "watch"],
                    &[]
                ),
                rule(
                    "cluster.karmada.io",
                    &["clusters/status"],
                    &["update"],
                    &[cluster]
                ),
                rule(
                    "config.karmada.io",
                    &[
                        "resourceinterpreterwebhookconfigurations",
                        "resourceinterpretercustomizations"
                    ],
                    &read,
                    &[],
                ),
                rule("", &["namespaces"], &["get"], &[]),
                rule(GROUP, &[RESOURCE], &["get", "create"], &[]),
                rule("", &["services"], &["list", "watch"], &[]),
                rule("", &["events"], &["create", "patch", "update"], &[]),
            ]),
        },
        Grant {
            namespace: CLUSTER_NAMESPACE,
            name: format!("system:karmada:{cluster}:agent-secret"),
            rules: json!([
                rule(
                    "",
                    &["secrets"],
                    &["get", "patch"],
                    &[cluster, &impersonator]
                ),
                rule("", &["secrets"], &["create"], &[]),
                rule(
                    "coordination.k8s.io",
                    &["leases"],
                    &["get", "update"],
                    &[cluster]
                ),
                rule("coordination.k8s.io", &["leases"], &["create"], &[]),
            ]),
        },
        Grant {
            namespace: SYSTEM_NAMESPACE,
            name: format!("system:karmada:{cluster}:agent-election"),
            rules: json!([
                rule(
                    "coordination.k8s.io",
                    &["leases"],
                    &["get", "update"],
                    &[&election]
                ),
                rule("coordination.k8s.io", &["leases"], &["create"], &[]),
            ]),
        },
        Grant {
            namespace: works,
            name: format!("system:karmada:{cluster}:agent-work"),
            rules: json!([
                rule(
                    "work.karmada.io",
                    &["works"],
                    &["get", "create", "list", "watch", "update", "delete"],
                    &[],
                ),
                rule(
                    "work.karmada.io",
                    &["works/status"],
                    &["patch", "update"],
                    &[]
                ),
            ]),
        },
    ]
}
