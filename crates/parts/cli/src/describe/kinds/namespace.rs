//! A Namespace, and how much may be used in it.

use crate::describe::Facts;
use crate::describe::kinds::bounds;
use crate::describe::parts::conditions::{self, Column};
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::text;

const CONDITIONS: [Column; 5] = [
    ("Type", "type"),
    ("Status", "status"),
    ("LastTransitionTime", "lastTransitionTime"),
    ("Reason", "reason"),
    ("Message", "message"),
];

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let status = facts.at("status");
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    sheet.field(0, "Status", text(&status["phase"]));
    conditions::write(sheet, &status["conditions"], &CONDITIONS, 0);
    sheet.blank();
    match facts.beside.all("resourcequotas") {
        Ok([]) => sheet.text(0, "No resource quota."),
        Ok(quotas) => {
            sheet.text(0, "Resource Quotas");
            bounds::quotas(sheet, quotas);
        }
        Err(failure) => sheet.field(0, "Resource Quotas", format!("<unknown: {failure}>")),
    }
    sheet.blank();
    match facts.beside.all("limitranges") {
        Ok([]) => sheet.text(0, "No LimitRange resource."),
        Ok(limits) => {
            sheet.text(0, "Resource Limits");
            bounds::all_limits(sheet, limits);
        }
        Err(failure) => sheet.field(0, "Resource Limits", format!("<unknown: {failure}>")),
    }
}
