//! What happened to an object lately, at the end of its page.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, number, or, since, text};

const HEADER: [&str; 5] = ["Type", "Reason", "Age", "From", "Message"];
/// Upstream: the third line is longer than its word.
const LINES: [&str; 5] = ["----", "------", "----", "----", "-------"];

/// The events, unless they were not asked for.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    match &facts.events {
        None => {}
        // What happened is an addition: not being able to read it takes nothing away from the rest.
        Some(Err(why)) => sheet.field(0, "Events", format!("<unknown: {why}>")),
        Some(Ok(events)) if events.is_empty() => sheet.field(0, "Events", "<none>"),
        Some(Ok(events)) => {
            sheet.title(0, "Events");
            sheet.line(2, HEADER);
            sheet.line(2, LINES);
            for event in events {
                sheet.line(2, row(event, facts));
            }
        }
    }
}

fn row(event: &Object, facts: &Facts<'_>) -> Vec<String> {
    let said = |name: &str| text(field(event, name)).to_owned();
    let from = text(&field(event, "source")["component"]);
    let from = or(from, text(field(event, "reportingComponent")));
    vec![
        said("type"),
        said("reason"),
        age(event, facts),
        from,
        said("message").trim().to_owned(),
    ]
}

/// When it happened, and how often since when.
fn age(event: &Object, facts: &Facts<'_>) -> String {
    let (first, made) = (field(event, "firstTimestamp"), field(event, "eventTime"));
    let first = if first.is_string() { first } else { made };
    let series = field(event, "series");
    let repeated = [
        (number(field(event, "count")), field(event, "lastTimestamp")),
        (number(&series["count"]), &series["lastObservedTime"]),
    ];
    let known = |value: &Value| since(value, facts.now);
    match repeated.into_iter().find(|(count, _)| *count > 1) {
        Some((count, last)) => format!("{} (x{count} over {})", known(last), known(first)),
        None => known(first),
    }
}
