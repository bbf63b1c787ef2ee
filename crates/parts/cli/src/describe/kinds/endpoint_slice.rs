//! An EndpointSlice: who is behind a service, one by one.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, or, plain_or, text, texts};

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    sheet.field(0, "AddressType", text(facts.at("addressType")));
    let ports = items(facts.at("ports"));
    match ports.is_empty() {
        true => sheet.text(0, "Ports: <unset>"),
        false => {
            let unset = |value: &Value| plain_or(value, "<unset>");
            let row = |port: &Value| {
                let name = or(text(&port["name"]), "<unset>");
                vec![name, unset(&port["port"]), unset(&port["protocol"])]
            };
            let rows: Vec<Vec<String>> = ports.iter().map(row).collect();
            sheet.title(0, "Ports");
            sheet.table(2, &["Name", "Port", "Protocol"], &rows);
        }
    }
    let endpoints = items(facts.at("endpoints"));
    match endpoints.is_empty() {
        true => sheet.text(0, "Endpoints: <none>"),
        false => sheet.title(0, "Endpoints"),
    }
    for endpoint in endpoints {
        one(sheet, endpoint);
    }
}

fn one(sheet: &mut Sheet, endpoint: &Value) {
    let addresses = texts(&endpoint["addresses"]).join(", ");
    sheet.field(2, "- Addresses", addresses);
    sheet.title(4, "Conditions");
    let ready = plain_or(&endpoint["conditions"]["ready"], "<unset>");
    sheet.field(6, "Ready", ready);
    sheet.field(4, "Hostname", plain_or(&endpoint["hostname"], "<unset>"));
    let about = &endpoint["targetRef"];
    if about.is_object() {
        let target = format!("{}/{}", text(&about["kind"]), text(&about["name"]));
        sheet.field(4, "TargetRef", target);
    }
    for (title, name) in [("NodeName", "nodeName"), ("Zone", "zone")] {
        sheet.field(4, title, plain_or(&endpoint[name], "<unset>"));
    }
}
