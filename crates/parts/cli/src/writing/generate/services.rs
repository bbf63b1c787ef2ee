//! Services.

use serde_json::{Value, json};

use super::Words;
use crate::failure::Failure;

/// A service of a type that has ports.
pub(super) fn service(words: &Words<'_>, kind: &str) -> Result<Value, Failure> {
    let mut ports = ports(words)?;
    let is_headless = words.value("clusterip") == Some("None");
    if ports.is_empty() && !is_headless {
        return Err(Failure::refused(
            "at least one tcp port specifier must be provided",
            "add --tcp=80:8080",
        ));
    }
    if let (Some(node), Some(port)) = (words.number("node-port")?, ports.first_mut()) {
        port["nodePort"] = json!(node);
    }
    let mut spec = json!({"type": kind, "selector": {"app": words.name}, "ports": ports});
    if let Some(address) = words.value("clusterip") {
        spec["clusterIP"] = json!(address);
    }
    Ok(json!({"labels": {"app": words.name}, "spec": spec}))
}

/// A service that leads to a name elsewhere.
pub(super) fn external(words: &Words<'_>) -> Result<Value, Failure> {
    let to = words.required("external-name", "--external-name=example.com")?;
    let mut spec =
        json!({"type": "ExternalName", "selector": {"app": words.name}, "externalName": to});
    let ports = ports(words)?;
    if !ports.is_empty() {
        spec["ports"] = json!(ports);
    }
    Ok(json!({"labels": {"app": words.name}, "spec": spec}))
}

/// Ports, and what they lead to.
fn ports(words: &Words<'_>) -> Result<Vec<Value>, Failure> {
    let wrong = |text: &str| {
        Failure::refused(
            format!("--tcp: {text:?} is no port"),
            "write PORT:TARGET, such as --tcp=80:8080, or one number for both",
        )
    };
    let mut ports = Vec::new();
    for text in words.all("tcp").flat_map(|text| text.split(',')) {
        let (port, target) = text.split_once(':').unwrap_or((text, text));
        let number = port.parse::<u16>().map_err(|_| wrong(text))?;
        let target = match target.parse::<u16>() {
            Ok(number) => json!(number),
            Err(_) if target.is_empty() => return Err(wrong(text)),
            Err(_) => json!(target),
        };
        let name = text.replace(':', "-");
        ports.push(json!({"name": name, "port": number, "protocol": "TCP", "targetPort": target}));
    }
    Ok(ports)
}
