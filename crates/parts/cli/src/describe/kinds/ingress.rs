//! An Ingress: which paths of which hosts lead where.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::parts::{endpoints, metadata};
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, items, or, plain, text, texts};

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (object, spec) = (facts.object, facts.at("spec"));
    sheet.field(0, "Name", object.name());
    metadata::labels(sheet, 0, "Labels", &facts.at("metadata")["labels"]);
    metadata::place(sheet, facts);
    let address = endpoints::balancers(facts.at("status")).join(",");
    sheet.field(0, "Address", address);
    let class = or(text(&spec["ingressClassName"]), "<none>");
    sheet.field(0, "Ingress Class", class);
    let rest = match spec["defaultBackend"].is_object() {
        true => backend(facts, &spec["defaultBackend"]),
        false => "<default>".to_owned(),
    };
    sheet.field(0, "Default backend", &rest);
    certificates(sheet, &spec["tls"]);
    sheet.title(0, "Rules");
    sheet.table(2, &["Host", "Path", "Backends"], &[]);
    let mut has_paths = false;
    for rule in items(&spec["rules"]) {
        let paths = items(&rule["http"]["paths"]);
        if paths.is_empty() {
            continue;
        }
        has_paths = true;
        sheet.line(2, [or(text(&rule["host"]), "*"), " ".to_owned()]);
        for path in paths {
            let leads_to = backend(facts, &path["backend"]);
            let path = format!("{} ", text(&path["path"]));
            sheet.line(4, ["", &path, &leads_to]);
        }
    }
    if !has_paths {
        sheet.line(2, ["*", "*", &rest]);
    }
    metadata::annotations(sheet, object);
}

fn certificates(sheet: &mut Sheet, certificates: &Value) {
    let certificates = items(certificates);
    if certificates.is_empty() {
        return;
    }
    sheet.title(0, "TLS");
    for one in certificates {
        let hosts = texts(&one["hosts"]).join(",");
        let said = match text(&one["secretName"]) {
            "" => format!("SNI routes {hosts}"),
            secret => format!("{secret} terminates {hosts}"),
        };
        sheet.text(2, &said);
    }
}

/// Where a path leads, and who is there.
fn backend(facts: &Facts<'_>, backend: &Value) -> String {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    if !service.is_object() {
        return format!(
            "APIGroup: {}, Kind: {}, Name: {}",
            or(text(&resource["apiGroup"]), "<none>"),
            text(&resource["kind"]),
            text(&resource["name"])
        );
    }
    let name = text(&service["name"]);
    let port = match text(&service["port"]["name"]) {
        "" => plain(&service["port"]["number"]),
        port => port.to_owned(),
    };
    format!("{name}:{port} ({})", behind(facts, name, &port))
}

fn behind(facts: &Facts<'_>, name: &str, port: &str) -> String {
    let services = match facts.beside.all("services") {
        Ok(services) => services,
        Err(failure) => return format!("<error: {failure}>"),
    };
    let Some(service) = services.iter().find(|service| service.name() == name) else {
        return format!("<error: services {name:?} not found>");
    };
    let mut ports = items(&field(service, "spec")["ports"]).iter();
    let known = ports.find(|one| one["name"] == *port || plain(&one["port"]) == port);
    let port_name = known.map_or("", |port| text(&port["name"]));
    match facts.beside.all("endpointslices") {
        Ok(slices) => {
            let is_of_service =
                |slice: &&Object| slice.label(endpoints::SERVICE) == Some(service.name());
            endpoints::behind(slices.iter().filter(is_of_service), port_name)
        }
        Err(failure) => format!("<error: {failure}>"),
    }
}
