//! A Service, and who is behind it.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::{endpoints, metadata, selectors};
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, number, or, plain, text, texts};

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let spec = facts.at("spec");
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    sheet.field(0, "Selector", selectors::labels(&spec["selector"]));
    sheet.field(0, "Type", text(&spec["type"]));
    sheet.field_if(0, "IP Family Policy", text(&spec["ipFamilyPolicy"]));
    let list = |name: &str| texts(&spec[name]).join(",");
    sheet.field(0, "IP Families", or(list("ipFamilies"), "<none>"));
    sheet.field(0, "IP", text(&spec["clusterIP"]));
    sheet.field(0, "IPs", or(list("clusterIPs"), "<none>"));
    sheet.field_if(0, "External IPs", list("externalIPs"));
    sheet.field_if(0, "Desired LoadBalancer IP", text(&spec["loadBalancerIP"]));
    sheet.field_if(0, "External Name", text(&spec["externalName"]));
    let balancers = endpoints::balancers(facts.at("status")).join(", ");
    sheet.field_if(0, "LoadBalancer Ingress", balancers);
    for one in items(&spec["ports"]) {
        port(sheet, facts, one);
    }
    for (title, name) in [
        ("Session Affinity", "sessionAffinity"),
        ("External Traffic Policy", "externalTrafficPolicy"),
        ("Internal Traffic Policy", "internalTrafficPolicy"),
    ] {
        if name == "sessionAffinity" || !spec[name].is_null() {
            sheet.field(0, title, text(&spec[name]));
        }
    }
    if number(&spec["healthCheckNodePort"]) != 0 {
        sheet.field(
            0,
            "HealthCheck NodePort",
            plain(&spec["healthCheckNodePort"]),
        );
    }
    let ranges = list("loadBalancerSourceRanges");
    sheet.field_if(0, "LoadBalancer Source Ranges", ranges);
}

fn port(sheet: &mut Sheet, facts: &Facts<'_>, port: &Value) {
    let name = text(&port["name"]);
    let shown = or(name, "<unset>");
    let protocol = or(text(&port["protocol"]), "TCP");
    let number_of = format!("{}/{protocol}", number(&port["port"]));
    sheet.line(0, ["Port:", &shown, &number_of]);
    let target = match port["targetPort"].is_null() {
        true => "0".to_owned(),
        false => plain(&port["targetPort"]),
    };
    sheet.field(0, "TargetPort", format!("{target}/{protocol}"));
    let on_nodes = number(&port["nodePort"]);
    if on_nodes != 0 {
        sheet.line(0, ["NodePort:", &shown, &format!("{on_nodes}/{protocol}")]);
    }
    let behind = match facts.beside.all("endpointslices") {
        Ok(slices) => endpoints::behind(slices, name),
        Err(failure) => format!("<unknown: {failure}>"),
    };
    sheet.field(0, "Endpoints", behind);
}
