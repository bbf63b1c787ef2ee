//! Requests for certificates as objects: who may ask for what, who may approve, and what is signed.
//!
//! The server notes who asked; approving and signing need leave for the signer; the signers of Kubernetes that this
//! server has sign what is approved and sound, and say why they do not.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use listen::{
    Authority, SigningRequest, Usage, check_certificates, check_request, requested_groups,
};
use object::Value;
use object::field::{FieldError, FieldPath};
use object::time::Time;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serve::call::{Admission, Call, Proposal, User, Verdict, at_once};
use serve::server::{Server, Surroundings};
use serve::status::Status;
use serve::target::ResourceTarget;

use crate::access::Access;
use crate::attempt::Attempt;
use crate::following::{Follower, write};
use crate::names::MASTERS;

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";
/// Certificates users and agents show to this server.
pub const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// Certificates nodes show to this server.
pub const KUBELET_CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Certificates nodes show to their clients.
pub const KUBELET_SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";
/// The longest life of a certificate, and the one it has if nothing is said.
const LONGEST_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Judges requests for certificates on their way in.
pub struct CertificateAdmission {
    surroundings: Arc<dyn Surroundings>,
    /// Set once the server is open, before it answers anybody.
    access: OnceLock<Arc<Access>>,
}

impl CertificateAdmission {
    /// Judges nothing but what requests say, until it knows by whose rules.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            surroundings,
            access: OnceLock::new(),
        }
    }

    /// Judges by these rules from now on.
    pub fn judge_by(&self, access: &Arc<Access>) {
        drop(self.access.set(Arc::clone(access)));
    }

    fn check(&self, call: &Call, old: Option<&Value>, new: &Value) -> Result<(), Status> {
        check_contents(call, old, new)?;
        let verb = match (call.target.subresource.as_str(), old) {
            ("", None) => return check_groups(call, new),
            ("approval", _) => "approve",
            ("status", Some(old)) if says_more(old, new) => "sign",
            _ => return Ok(()),
        };
        let signer = signer_of(old.unwrap_or(new));
        let Some(access) = self.access.get() else {
            return Ok(());
        };
        let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
        let may = [signer.to_owned(), format!("{domain}/*")]
            .into_iter()
            .any(|name| {
                let target = ResourceTarget {
                    group: GROUP.to_owned(),
                    version: "*".to_owned(),
                    resource: "signers".to_owned(),
                    name,
                    ..ResourceTarget::default()
                };
                access
                    .decide(&call.user, &Attempt::on(verb, target))
                    .is_allowed()
            });
        if may {
            return Ok(());
        }
        let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
        Err(Status::forbidden(call.subject_of(new), &why))
    }
}

impl Admission for CertificateAdmission {
    fn changes(&self, call: &Call) -> bool {
        is_request(call)
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        if !is_request(call) {
            return at_once(Ok(Vec::new()));
        }
        match (proposal.old, proposal.new) {
            (None, Some(new)) => sign_author(&call.user, new),
            (Some(old), Some(new)) => {
                date_conditions(old, new, &self.surroundings.now().to_string())
            }
            (_, None) => {}
        }
        at_once(Ok(Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let verdict = match new {
            Some(new) if is_request(call) => self.check(call, old, new),
            _ => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

/// Signs what is approved, until it is dropped.
pub async fn follow(server: Arc<Server>, authority: Arc<Authority>) {
    let mut requests = Follower::new(&server, GROUP, RESOURCE);
    loop {
        for name in requests.changed_keys() {
            let Some(record) = requests.collection.find(&name) else {
                continue;
            };
            let mut object = record.value();
            if !is_waiting(&object) {
                continue;
            }
            let now = server.now();
            match issue(&object, &authority, moment(now)) {
                Ok(pem) => {
                    object["status"]["certificate"] = json!(STANDARD.encode(pem));
                }
                Err(why) => add_failure(&mut object, &why, &now.to_string()),
            }
            let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
            let path = format!("/apis/{GROUP}/v1/{RESOURCE}/{name}/status");
            write(&server, Method::PUT, &path, &object).await;
        }
        requests.changed().await;
    }
}

fn is_request(call: &Call) -> bool {
    call.target.group == GROUP && call.target.resource == RESOURCE
}

/// Who asked is what the server saw, whatever the request says.
fn sign_author(user: &User, request: &mut Value) {
    let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.insert("username".to_owned(), user.name.as_str().into());
    spec.insert("groups".to_owned(), json!(user.groups));
    for (field, value, is_there) in [
        ("uid", json!(user.uid), !user.uid.is_empty()),
        ("extra", json!(user.extra), !user.extra.is_empty()),
    ] {
        if is_there {
            spec.insert(field.to_owned(), value);
        } else {
            spec.shift_remove(field);
        }
    }
}

/// Gives conditions that say not when they were written the time of the write. Upstream: one that is as it was keeps
/// the time it became so.
fn date_conditions(old: &Value, new: &mut Value, now: &str) {
    let before = old.pointer("/status/conditions").and_then(Value::as_array);
    let before = before.map_or(&[][..], Vec::as_slice);
    let conditions = new.pointer_mut("/status/conditions");
    for condition in conditions
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let same = before.iter().find(|known| {
            known.get("type") == condition.get("type")
                && known.get("status") == condition.get("status")
        });
        let since = same.and_then(|known| known.get("lastTransitionTime")?.as_str());
        let since = since.unwrap_or(now).to_owned();
        let Some(fields) = condition.as_object_mut() else {
            continue;
        };
        for (field, time) in [("lastUpdateTime", now), ("lastTransitionTime", &since)] {
            if fields.get(field).is_none_or(Value::is_null) {
                fields.insert(field.to_owned(), json!(time));
            }
        }
    }
}

/// Refuses a request that is none when it is made, and a certificate that is none when it is issued.
fn check_contents(call: &Call, old: Option<&Value>, new: &Value) -> Result<(), Status> {
    let error = match old {
        None => {
            let text = new["spec"]["request"].as_str().unwrap_or_default();
            let pem = STANDARD.decode(text).unwrap_or_default();
            let why = check_request(&pem).err();
            why.map(|why| {
                FieldError::invalid(FieldPath::from("spec.request"), text, why.to_string())
            })
        }
        Some(old) => {
            let text = certificate(new);
            let is_new = !text.is_empty() && text != certificate(old);
            let pem = STANDARD.decode(text).unwrap_or_default();
            let why = check_certificates(&pem).err().filter(|_| is_new);
            why.map(|why| {
                let place = FieldPath::from("status.certificate");
                FieldError::invalid(place, "<certificate data>", why.to_string())
            })
        }
    };
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    match error {
        Some(error) => Err(Status::invalid(call.kind_subject(name), &[error])),
        None => Ok(()),
    }
}

/// Whether a signer says something: issues a certificate, or says why it does not.
fn says_more(old: &Value, new: &Value) -> bool {
    let conditions = |request: &Value| {
        let conditions = request
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        conditions.cloned().unwrap_or_default()
    };
    certificate(old) != certificate(new) || conditions(old) != conditions(new)
}

/// Nobody becomes a master by a certificate.
fn check_groups(call: &Call, request: &Value) -> Result<(), Status> {
    if signer_of(request) != CLIENT_SIGNER {
        return Ok(());
    }
    // Whoever signs a request need not be one who reads no more than this server does.
    let groups = pem(request).and_then(|pem| requested_groups(&pem).map_err(|why| why.to_string()));
    match groups {
        Ok(groups) if groups.iter().any(|group| group == MASTERS) => {
            let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
            Err(Status::forbidden(call.subject_of(request), &why))
        }
        Ok(_) => Ok(()),
        Err(why) => Err(Status::forbidden(call.subject_of(request), &why)),
    }
}

/// Whether a request is approved, not refused, not done, and ours to sign.
fn is_waiting(request: &Value) -> bool {
    let has = |kind: &str| {
        request["status"]["conditions"]
            .as_array()
            .is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|condition| condition["type"] == kind && condition["status"] != "False")
            })
    };
    let is_ours = [CLIENT_SIGNER, KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER]
        .contains(&signer_of(request));
    is_ours
        && has("Approved")
        && !has("Denied")
        && !has("Failed")
        && certificate(request).is_empty()
}

fn issue(object: &Value, authority: &Authority, now: SystemTime) -> Result<String, String> {
    let request = read(object)?;
    let usages = check(object, &request)?;
    let seconds = object["spec"]["expirationSeconds"].as_u64();
    let life = seconds.map_or(LONGEST_LIFE, |seconds| {
        Duration::from_secs(seconds).min(LONGEST_LIFE)
    });
    authority
        .sign(request, &usages, life, now)
        .map_err(|error| error.to_string())
}

fn moment(time: Time) -> SystemTime {
    let seconds = u64::try_from(time.unix_seconds()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn read(object: &Value) -> Result<SigningRequest, String> {
    SigningRequest::parse(&pem(object)?).map_err(|error| error.to_string())
}

fn pem(object: &Value) -> Result<Vec<u8>, String> {
    let encoded = object["spec"]["request"].as_str().unwrap_or_default();
    let pem = STANDARD.decode(encoded);
    pem.map_err(|_| "spec.request is not base64".to_owned())
}

/// Whether a request is one its signer signs, and for what.
fn check(object: &Value, request: &SigningRequest) -> Result<Vec<Usage>, String> {
    let signer = signer_of(object);
    let mut usages = Vec::new();
    for usage in object["spec"]["usages"].as_array().into_iter().flatten() {
        let usage = match usage.as_str().unwrap_or_default() {
            "digital signature" => Usage::DigitalSignature,
            "key encipherment" => Usage::KeyEncipherment,
            "client auth" if signer != KUBELET_SERVING_SIGNER => Usage::ClientAuth,
            "server auth" if signer == KUBELET_SERVING_SIGNER => Usage::ServerAuth,
            other => return Err(format!("usage {other:?} is not permitted by {signer}")),
        };
        if !usages.contains(&usage) {
            usages.push(usage);
        }
    }
    let needed = if signer == KUBELET_SERVING_SIGNER {
        (Usage::ServerAuth, "server auth")
    } else {
        (Usage::ClientAuth, "client auth")
    };
    if !usages.contains(&needed.0) {
        return Err(format!("usage {:?} is required by {signer}", needed.1));
    }
    // The library that writes certificates keeps one organisation; a certificate must not say less than was approved.
    if request.groups.len() > 1 {
        return Err("more than one organization is not supported".to_owned());
    }
    if request.repeats {
        return Err("a subject that says something twice is not supported".to_owned());
    }
    if signer == CLIENT_SIGNER {
        return Ok(usages);
    }
    if request.groups != ["system:nodes"] {
        return Err("subject organization is not system:nodes".to_owned());
    }
    if !request.name.starts_with("system:node:") {
        return Err("subject common name does not begin with system:node:".to_owned());
    }
    if request.other_names > 0 {
        return Err("mail addresses and URIs are not allowed".to_owned());
    }
    let hosts = request.dns_names.len() + request.addresses;
    match (signer == KUBELET_SERVING_SIGNER, hosts) {
        (true, 0) => Err("at least one DNS name or IP address is required".to_owned()),
        (true, _) if object["spec"]["username"] != request.name.as_str() => {
            Err("only the node itself may ask for its serving certificate".to_owned())
        }
        (false, 1..) => Err("DNS names and IP addresses are not allowed".to_owned()),
        _ => Ok(usages),
    }
}

fn add_failure(request: &mut Value, why: &str, now: &str) {
    let condition = json!({
        "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
        "lastUpdateTime": now, "lastTransitionTime": now,
    });
    match request["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => request["status"]["conditions"] = json!([condition]),
    }
}

fn signer_of(request: &Value) -> &str {
    request["spec"]["signerName"].as_str().unwrap_or_default()
}

fn certificate(request: &Value) -> &str {
    request["status"]["certificate"]
        .as_str()
        .unwrap_or_default()
}
