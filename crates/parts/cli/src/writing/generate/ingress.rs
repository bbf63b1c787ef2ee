//! Ways into services from outside.

use serde_json::{Value, json};

use super::{Words, roles};
use crate::failure::Failure;

/// What a rule looks like.
const RULE: &str = "write HOST/PATH=SERVICE:PORT, such as --rule='shop.io/*=web:80,tls=shop-cert'";

/// Which requests go to which service.
pub(super) fn ingress(words: &Words<'_>) -> Result<Value, Failure> {
    let mut spec = json!({});
    if let Some(class) = words.value("class") {
        spec["ingressClassName"] = json!(class);
    }
    if let Some(text) = words.value("default-backend") {
        let backend = backend(text).ok_or_else(|| {
            Failure::refused(
                format!("--default-backend: {text:?} is no SERVICE:PORT"),
                "write for example --default-backend=web:80",
            )
        })?;
        spec["defaultBackend"] = backend;
    }
    let rules = words.all("rule").map(read).collect::<Result<Vec<_>, _>>()?;
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        return Err(Failure::refused(
            "every ingress has to specify a default-backend or a list of rules",
            RULE,
        ));
    }
    let hosts = by_host(&rules);
    if !hosts.is_empty() {
        spec["rules"] = json!(hosts);
    }
    let secrets = by_secret(&rules);
    if !secrets.is_empty() {
        spec["tls"] = json!(secrets);
    }
    let mut body = json!({"spec": spec});
    let annotations: Vec<&str> = words.all("annotation").collect();
    if !annotations.is_empty() {
        body["annotations"] = json!(roles::labels("annotation", &annotations)?);
    }
    Ok(body)
}

/// One rule: a host, a path of it, and where that leads.
struct Rule<'a> {
    host: &'a str,
    path: Value,
    /// The secret with the host's certificate; empty for the one of the controller.
    secret: Option<&'a str>,
}

fn read(text: &str) -> Result<Rule<'_>, Failure> {
    let wrong = || Failure::refused(format!("--rule: {text:?} is no rule"), RULE);
    let (place, rest) = text.split_once('=').ok_or_else(wrong)?;
    let slash = place.find('/').ok_or_else(wrong)?;
    let (host, path) = place.split_at(slash);
    let (service, tls) = match rest.split_once(',') {
        Some((service, tls)) => (service, Some(tls)),
        None => (rest, None),
    };
    let secret = match tls {
        None => None,
        Some("tls") => Some(""),
        Some(tls) => Some(tls.strip_prefix("tls=").ok_or_else(wrong)?),
    };
    let (path, how) = match path.strip_suffix('*') {
        Some(path) => (path, "Prefix"),
        None => (path, "Exact"),
    };
    let backend = backend(service).ok_or_else(wrong)?;
    Ok(Rule {
        host,
        path: json!({"path": path, "pathType": how, "backend": backend}),
        secret,
    })
}

/// A service and one of its ports, by number or name.
fn backend(text: &str) -> Option<Value> {
    let (service, port) = text.split_once(':')?;
    if service.is_empty() || port.is_empty() {
        return None;
    }
    let port = match port.parse::<u16>() {
        Ok(number) => json!({"number": number}),
        Err(_) => json!({"name": port}),
    };
    Some(json!({"service": {"name": service, "port": port}}))
}

/// The paths of each host, in the order they were named.
fn by_host(rules: &[Rule<'_>]) -> Vec<Value> {
    let mut hosts: Vec<(&str, Vec<&Value>)> = Vec::new();
    for rule in rules {
        match hosts.iter_mut().find(|(host, _)| *host == rule.host) {
            Some((_, paths)) => paths.push(&rule.path),
            None => hosts.push((rule.host, vec![&rule.path])),
        }
    }
    let rule = |(host, paths): (&str, Vec<&Value>)| match host {
        "" => json!({"http": {"paths": paths}}),
        host => json!({"host": host, "http": {"paths": paths}}),
    };
    hosts.into_iter().map(rule).collect()
}

/// The hosts of each secret, in the order they were named.
fn by_secret(rules: &[Rule<'_>]) -> Vec<Value> {
    let mut secrets: Vec<(&str, Vec<&str>)> = Vec::new();
    for rule in rules {
        let Some(secret) = rule.secret else { continue };
        let known = secrets.iter_mut().find(|(name, _)| *name == secret);
        match known {
            Some((_, hosts)) if hosts.contains(&rule.host) => {}
            Some((_, hosts)) => hosts.push(rule.host),
            None => secrets.push((secret, vec![rule.host])),
        }
    }
    let entry = |(secret, hosts): (&str, Vec<&str>)| {
        let hosts: Vec<&str> = hosts.into_iter().filter(|host| !host.is_empty()).collect();
        let mut entry = json!({});
        if !hosts.is_empty() {
            entry["hosts"] = json!(hosts);
        }
        if !secret.is_empty() {
            entry["secretName"] = json!(secret);
        }
        entry
    };
    secrets.into_iter().map(entry).collect()
}
