//! What holds entries: ConfigMaps, shown in full, and Secrets, of which only sizes are told.

use object::{Value, base64};

use crate::describe::Facts;
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, text};

/// The page about a ConfigMap.
pub(in crate::describe) fn config_map(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    headline(sheet, "Data");
    for (key, value) in entries(facts.at("data")) {
        sheet.title(0, key);
        sheet.text(0, "----");
        sheet.verbatim(text(value));
        sheet.blank();
    }
    headline(sheet, "BinaryData");
    for (key, value) in entries(facts.at("binaryData")) {
        sheet.text(0, &format!("{key}: {} bytes", size(value)));
    }
    sheet.blank();
}

/// The page about a Secret. What it says is for those who ask for it by name, not for whoever looks over a shoulder:
/// kubectl makes an exception for the tokens of service accounts, this does not.
pub(in crate::describe) fn secret(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    sheet.blank();
    sheet.field(0, "Type", text(facts.at("type")));
    headline(sheet, "Data");
    for (key, value) in entries(facts.at("data")) {
        sheet.field(0, key, format!("{} bytes", size(value)));
    }
}

fn headline(sheet: &mut Sheet, title: &str) {
    sheet.blank();
    sheet.text(0, title);
    sheet.text(0, "====");
}

fn size(value: &Value) -> usize {
    let text = text(value);
    base64::decode(text).map_or(text.len(), |bytes| bytes.len())
}
