//! Containers, of pods and of what pods are made from.

use object::{Object, Value};

use super::{environment, probes};
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, items, moment, number, or, plain, text, texts, truth};

/// Where containers and volumes stand.
pub(in crate::describe) enum Within<'o> {
    /// In a pod.
    Pod(&'o Object),
    /// In what pods are made from.
    Template,
}

impl Within<'_> {
    /// Where the title of a list begins.
    pub(in crate::describe) fn title(&self) -> usize {
        match self {
            Self::Pod(_) => 0,
            Self::Template => 2,
        }
    }

    /// Where the names of what is in the list begin.
    pub(in crate::describe) fn name(&self) -> usize {
        match self {
            Self::Pod(_) => 2,
            Self::Template => 3,
        }
    }
}

/// Where the fields of a container begin, and where their lists do.
pub(in crate::describe) const FIELDS: usize = 4;
pub(in crate::describe) const LISTS: usize = 6;

/// Containers, and how they are as far as that is known.
pub(in crate::describe) fn write(
    sheet: &mut Sheet,
    title: &str,
    containers: &Value,
    statuses: &Value,
    within: &Within<'_>,
) {
    let containers = items(containers);
    if containers.is_empty() {
        return sheet.text(within.title(), &format!("{title}: <none>"));
    }
    sheet.title(within.title(), title);
    for container in containers {
        let mut known = items(statuses).iter();
        let status = known.find(|status| status["name"] == container["name"]);
        sheet.title(within.name(), text(&container["name"]));
        basics(sheet, container, status);
        for (title, field) in [("Command", "command"), ("Args", "args")] {
            words(sheet, title, &container[field]);
        }
        if let Some(status) = status {
            states(sheet, status);
        }
        resources(sheet, &container["resources"]);
        probes::write(sheet, container);
        environment::write(sheet, container, within);
        mounts(sheet, container);
    }
}

fn basics(sheet: &mut Sheet, container: &Value, status: Option<&Value>) {
    if let Some(status) = status {
        sheet.field(FIELDS, "Container ID", text(&status["containerID"]));
    }
    sheet.field(FIELDS, "Image", text(&container["image"]));
    if let Some(status) = status {
        sheet.field(FIELDS, "Image ID", text(&status["imageID"]));
    }
    for (title, number_of) in [("Port", "containerPort"), ("Host Port", "hostPort")] {
        let ports: Vec<String> = items(&container["ports"])
            .iter()
            .map(|port| {
                let protocol = or(text(&port["protocol"]), "TCP");
                format!("{}/{protocol}", number(&port[number_of]))
            })
            .collect();
        let plural = if ports.len() > 1 { "s" } else { "" };
        let ports = or(ports.join(", "), "<none>");
        sheet.field(FIELDS, &format!("{title}{plural}"), ports);
    }
    seccomp(sheet, FIELDS, &container["securityContext"]);
}

/// Which calls to the kernel are allowed, if anybody has said so.
pub(in crate::describe) fn seccomp(sheet: &mut Sheet, indent: usize, context: &Value) {
    let profile = &context["seccompProfile"];
    sheet.field_if(indent, "SeccompProfile", text(&profile["type"]));
    let local = text(&profile["localhostProfile"]);
    sheet.field_if(indent + 2, "LocalhostProfile", local);
}

/// What is run, word by word; a word may have several lines.
fn words(sheet: &mut Sheet, title: &str, words: &Value) {
    let words = texts(words);
    if words.is_empty() {
        return;
    }
    sheet.title(FIELDS, title);
    for line in words.iter().flat_map(|word| word.split('\n')) {
        sheet.text(LISTS, line);
    }
}

fn states(sheet: &mut Sheet, status: &Value) {
    state(sheet, "State", &status["state"]);
    if status["lastState"]["terminated"].is_object() {
        state(sheet, "Last State", &status["lastState"]);
    }
    sheet.field(FIELDS, "Ready", truth(&status["ready"]));
    let restarts = number(&status["restartCount"]);
    sheet.field(FIELDS, "Restart Count", restarts.to_string());
}

fn state(sheet: &mut Sheet, title: &str, state: &Value) {
    let ended = &state["terminated"];
    if state["running"].is_object() {
        sheet.field(FIELDS, title, "Running");
        let started = moment(&state["running"]["startedAt"]);
        return sheet.field(LISTS, "Started", started);
    }
    if !ended.is_object() {
        sheet.field(FIELDS, title, "Waiting");
        return sheet.field_if(LISTS, "Reason", text(&state["waiting"]["reason"]));
    }
    sheet.field(FIELDS, title, "Terminated");
    sheet.field_if(LISTS, "Reason", text(&ended["reason"]));
    sheet.field_if(LISTS, "Message", text(&ended["message"]));
    sheet.field(LISTS, "Exit Code", number(&ended["exitCode"]).to_string());
    if number(&ended["signal"]) > 0 {
        sheet.field(LISTS, "Signal", plain(&ended["signal"]));
    }
    sheet.field(LISTS, "Started", moment(&ended["startedAt"]));
    sheet.field(LISTS, "Finished", moment(&ended["finishedAt"]));
}

fn resources(sheet: &mut Sheet, resources: &Value) {
    for (title, field) in [("Limits", "limits"), ("Requests", "requests")] {
        let amounts = entries(&resources[field]);
        if amounts.is_empty() {
            continue;
        }
        sheet.title(FIELDS, title);
        for (name, amount) in amounts {
            sheet.field(LISTS, name, plain(amount));
        }
    }
}

fn mounts(sheet: &mut Sheet, container: &Value) {
    let mut mounts: Vec<&Value> = items(&container["volumeMounts"]).iter().collect();
    mounts.sort_by_key(|mount| text(&mount["mountPath"]));
    match mounts.is_empty() {
        true => sheet.field(FIELDS, "Mounts", "<none>"),
        false => sheet.title(FIELDS, "Mounts"),
    }
    for mount in mounts {
        let mut how = vec![
            match mount["readOnly"].as_bool() {
                Some(true) => "ro",
                _ => "rw",
            }
            .to_owned(),
        ];
        let inside = text(&mount["subPath"]);
        how.extend((!inside.is_empty()).then(|| format!("path={inside:?}")));
        let (path, volume) = (text(&mount["mountPath"]), text(&mount["name"]));
        sheet.text(LISTS, &format!("{path} from {volume} ({})", how.join(",")));
    }
    let devices = items(&container["volumeDevices"]);
    if devices.is_empty() {
        return;
    }
    sheet.title(FIELDS, "Devices");
    for device in devices {
        let (path, volume) = (text(&device["devicePath"]), text(&device["name"]));
        sheet.text(LISTS, &format!("{path} from {volume}"));
    }
}
