//! How containers are asked how they are.

use object::Value;

use super::containers::FIELDS;
use crate::describe::sheet::Sheet;
use crate::describe::values::{number, plain, text, texts};

const PROBES: [(&str, &str); 3] = [
    ("Liveness", "livenessProbe"),
    ("Readiness", "readinessProbe"),
    ("Startup", "startupProbe"),
];

/// The probes there are.
pub(super) fn write(sheet: &mut Sheet, container: &Value) {
    for (title, field) in PROBES {
        let probe = &container[field];
        if probe.is_object() {
            sheet.field(FIELDS, title, said(probe));
        }
    }
}

fn said(probe: &Value) -> String {
    let amount = |field: &str| number(&probe[field]);
    let rhythm = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        amount("initialDelaySeconds"),
        amount("timeoutSeconds"),
        amount("periodSeconds"),
        amount("successThreshold"),
        amount("failureThreshold")
    );
    let (exec, http) = (&probe["exec"], &probe["httpGet"]);
    let (tcp, grpc) = (&probe["tcpSocket"], &probe["grpc"]);
    if exec.is_object() {
        let words = texts(&exec["command"]).join(" ");
        return format!("exec [{words}] {rhythm}");
    }
    if http.is_object() {
        let scheme = text(&http["scheme"]).to_lowercase();
        let (host, path) = (text(&http["host"]), text(&http["path"]));
        let slash = if path.is_empty() || path.starts_with('/') {
            ""
        } else {
            "/"
        };
        let port = plain(&http["port"]);
        return format!("http-get {scheme}://{host}:{port}{slash}{path} {rhythm}");
    }
    if tcp.is_object() {
        let (host, port) = (text(&tcp["host"]), plain(&tcp["port"]));
        return format!("tcp-socket {host}:{port} {rhythm}");
    }
    if grpc.is_object() {
        let (port, service) = (plain(&grpc["port"]), text(&grpc["service"]));
        return format!("grpc <pod>:{port} {service} {rhythm}");
    }
    format!("unknown {rhythm}")
}
