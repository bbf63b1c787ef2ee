//! The member a scenario plays on, and requests to it.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use karavel_sim::{Member, MemberConfig};
use object::time::Time;
use runtime::{Clock, Tasks};
use serde_json::{Value, json};
use serve::call::User;

use crate::run::text;

/// A member in virtual time.
pub(crate) struct Cluster {
    pub(crate) member: Member,
    pub(crate) start: Time,
    _tasks: Tasks,
}

const START: &str = "2026-01-01T00:00:00Z";

impl Cluster {
    pub(crate) async fn open(wanted: &Value) -> Self {
        let start: Time = START.parse().unwrap();
        let mut config = MemberConfig::new("m");
        config.nodes = wanted["nodes"].as_u64().unwrap_or(2) as usize;
        config.pods = wanted["pods"].as_u64().unwrap_or(110) as u32;
        config.registers = wanted["registers"].as_bool().unwrap_or(false);
        if let Some(cpu) = wanted["cpu"].as_str() {
            config.cpu = cpu.parse().unwrap();
        }
        if let Some(memory) = wanted["memory"].as_str() {
            config.memory = memory.parse().unwrap();
        }
        let tasks = Tasks::new();
        let member = Member::open(config, Clock::tied(start), &tasks.spawner())
            .await
            .unwrap();
        Self {
            member,
            start,
            _tasks: tasks,
        }
    }

    /// How much time has gone by, as traces write it.
    pub(crate) fn elapsed(&self) -> String {
        format!("+{}s", self.member.clock().now().seconds_since(self.start))
    }

    /// Makes an object, or replaces what there is of it.
    pub(crate) async fn apply(&self, object: &Value) -> Result<(), String> {
        let (plural, group, namespaced) = self.resource_of(object)?;
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().ok_or("no metadata")?;
        let namespace = if namespaced {
            let namespace = metadata
                .entry("namespace")
                .or_insert_with(|| json!("default"));
            namespace.as_str().unwrap_or_default().to_owned()
        } else {
            String::new()
        };
        let name = metadata
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let path = collection_path(&group, text(&object, "apiVersion"), &namespace, &plural);
        let (code, answer) = self
            .send(Method::POST, &path, "application/json", &object)
            .await;
        if code == 409 {
            let path = format!("{path}/{name}");
            let media = "application/apply-patch+yaml";
            let path = format!("{path}?fieldManager=scenario&force=true");
            let (code, answer) = self.send(Method::PATCH, &path, media, &object).await;
            return accept(code, &answer);
        }
        accept(code, &answer)
    }

    pub(crate) async fn patch(&self, step: &Value) -> Result<(), String> {
        let mut path = self.path(text(step, "what"))?;
        if let Some(part) = step["part"].as_str() {
            path = format!("{path}/{part}");
        }
        let media = "application/merge-patch+json";
        let (code, answer) = self.send(Method::PATCH, &path, media, &step["merge"]).await;
        match (step["refused"].as_str(), accept(code, &answer)) {
            (None, verdict) => verdict,
            (Some(why), Err(said)) if said.contains(why) => Ok(()),
            (Some(why), verdict) => Err(format!("{verdict:?} and not refused with {why}")),
        }
    }

    pub(crate) async fn delete(&self, step: &Value) -> Result<(), String> {
        let path = self.path(text(step, "what"))?;
        let mut options = json!({});
        if let Some(grace) = step["grace"].as_i64() {
            options["gracePeriodSeconds"] = json!(grace);
        }
        if let Some(policy) = step["propagation"].as_str() {
            options["propagationPolicy"] = json!(policy);
        }
        let media = "application/json";
        let (code, answer) = self.send(Method::DELETE, &path, media, &options).await;
        accept(code, &answer)
    }

    /// Any request; `code` says what it must come to, `has` what the answer must contain.
    pub(crate) async fn call(&self, step: &Value) -> Result<(), String> {
        let (method, path) = ["get", "post", "put", "delete"]
            .iter()
            .find_map(|method| Some((*method, step[*method].as_str()?)))
            .ok_or("a call has a method")?;
        let method: Method = method.to_uppercase().parse().map_err(|_| "no method")?;
        let (code, answer) = self
            .send(method, path, "application/json", &step["body"])
            .await;
        let wanted = step["code"].as_u64().unwrap_or(200);
        if u64::from(code) != wanted {
            return Err(format!("{code} instead of {wanted}: {answer}"));
        }
        crate::matching::has(&answer, &step["has"])
    }

    pub(crate) fn fault(&self, step: &Value) -> Result<(), String> {
        let faults = self.member.faults();
        let state = faults
            .state()
            .merge(step)
            .map_err(|error| error.to_string())?;
        faults.change(|present| *present = state);
        Ok(())
    }

    pub(crate) async fn restart(&self, keep: bool) -> Result<(), String> {
        self.member
            .restart(keep)
            .await
            .map_err(|error| error.to_string())
    }

    /// An object by `plural/name` or `plural/namespace/name`; without a namespace the default one.
    pub(crate) fn find(&self, what: &str) -> Option<Value> {
        let (collection, key) = self.locate(what)?;
        let server = self.member.server();
        let record = server.cache().collection(&collection).find(&key)?;
        Some(record.value())
    }

    /// All objects of `plural`, in all namespaces; or of `plural/namespace`.
    pub(crate) fn list(&self, of: &str) -> Vec<Value> {
        let (plural, namespace) = of.split_once('/').unwrap_or((of, ""));
        let Some((collection, _)) = self.locate(&format!("{plural}/x")) else {
            return Vec::new();
        };
        let server = self.member.server();
        let snapshot = server.cache().collection(&collection).snapshot();
        let records = snapshot.objects.values();
        records
            .filter(|record| namespace.is_empty() || record.head().namespace == namespace)
            .map(|record| record.value())
            .collect()
    }

    pub(crate) fn collection(&self, plural: &str) -> String {
        self.locate(&format!("{plural}/x"))
            .map(|(collection, _)| collection)
            .unwrap_or_default()
    }

    fn locate(&self, what: &str) -> Option<(String, String)> {
        let (plural, key) = what.split_once('/')?;
        let server = self.member.server();
        let table = server.table();
        let resource = table.iter().find(|resource| &*resource.plural == plural)?;
        let key = if resource.namespaced && !key.contains('/') {
            format!("default/{key}")
        } else {
            key.to_owned()
        };
        Some((resource.collection.to_string(), key))
    }

    fn path(&self, what: &str) -> Result<String, String> {
        let (plural, key) = what.split_once('/').ok_or("plural/name")?;
        let server = self.member.server();
        let table = server.table();
        let resource = table
            .iter()
            .find(|resource| &*resource.plural == plural)
            .ok_or_else(|| format!("there is no {plural}"))?;
        let version = resource
            .versions
            .first()
            .map_or("v1", |version| &*version.name);
        let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
        let namespace = if resource.namespaced { namespace } else { "" };
        let api_version = resource.api_version(version);
        let path = collection_path(&resource.group, &api_version, namespace, plural);
        Ok(format!("{path}/{name}"))
    }

    fn resource_of(&self, object: &Value) -> Result<(String, String, bool), String> {
        let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let server = self.member.server();
        let table = server.table();
        let resource = table
            .iter()
            .find(|resource| &*resource.group == group && &*resource.kind == kind)
            .ok_or_else(|| format!("there is no {kind} in {api_version}"))?;
        Ok((
            resource.plural.to_string(),
            group.to_owned(),
            resource.namespaced,
        ))
    }

    async fn send(&self, method: Method, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .header("user-agent", "scenario")
            .body(Full::new(bytes))
            .unwrap();
        let user = User {
            name: "ann".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..User::default()
        };
        let response = self.member.answer(user, request).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let answer = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
        (code, answer)
    }
}

fn accept(code: u16, answer: &Value) -> Result<(), String> {
    if (200..300).contains(&code) {
        return Ok(());
    }
    Err(format!("{code}: {}", answer["message"]))
}

fn collection_path(group: &str, api_version: &str, namespace: &str, plural: &str) -> String {
    let root = if group.is_empty() { "/api" } else { "/apis" };
    if namespace.is_empty() {
        return format!("{root}/{api_version}/{plural}");
    }
    format!("{root}/{api_version}/namespaces/{namespace}/{plural}")
}
