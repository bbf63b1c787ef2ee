//! What runs, and how much of it has to.

use object::{Object, ResourceType};
use serde_json::{Value, json};

use super::{Words, roles};
use crate::failure::Failure;

/// Says of a job that somebody made it from a cronjob by hand.
const INSTANTIATED: &str = "cronjob.kubernetes.io/instantiate";

/// Where jobs are.
pub(super) fn jobs() -> ResourceType {
    ResourceType::namespaced("batch", "v1", "Job", "jobs")
}

/// Where cronjobs are.
pub(super) fn cronjobs() -> ResourceType {
    ResourceType::namespaced("batch", "v1", "CronJob", "cronjobs")
}

/// Pods that run on.
pub(super) fn deployment(words: &Words<'_>) -> Result<Value, Failure> {
    words.required("image", "--image=nginx")?;
    let images = words.listed("image");
    let command = words.command();
    if images.len() > 1 && command.is_some() {
        return Err(Failure::refused(
            "cannot specify multiple --image options and command",
            "leave the command or all images but one out",
        ));
    }
    let container = |image: &&str| {
        // The container is called after the image, without where it comes from and which version it is.
        let name = image.rsplit('/').next().unwrap_or(image);
        let name = name.split([':', '@']).next().unwrap_or(name);
        json!({"name": name, "image": image})
    };
    let mut containers: Vec<Value> = images.iter().map(container).collect();
    if let Some(first) = containers.first_mut() {
        if let Some(command) = command {
            first["command"] = json!(command);
        }
        if let Some(port) = words.number("port")? {
            first["ports"] = json!([{"containerPort": port}]);
        }
    }
    let name = words.name;
    Ok(json!({
        "labels": {"app": name},
        "spec": {
            "replicas": words.number("replicas")?.unwrap_or(1),
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": containers},
            },
        },
    }))
}

/// Pods that end.
pub(super) fn job(words: &Words<'_>) -> Result<Value, Failure> {
    Ok(json!({"spec": {"template": pods(words, "Never")?}}))
}

/// Pods that end, again and again.
pub(super) fn cronjob(words: &Words<'_>) -> Result<Value, Failure> {
    let restart = words.value("restart").unwrap_or("OnFailure");
    if !matches!(restart, "OnFailure" | "Never") {
        return Err(Failure::refused(
            format!("--restart: pods of a cronjob cannot be restarted {restart:?}"),
            "choose OnFailure or Never",
        ));
    }
    Ok(json!({"spec": {
        "schedule": words.required("schedule", "--schedule='0 * * * *'")?,
        "jobTemplate": {
            "metadata": {"name": words.name},
            "spec": {"template": pods(words, restart)?},
        },
    }}))
}

fn pods(words: &Words<'_>, restart: &str) -> Result<Value, Failure> {
    let image = words.required("image", "--image=busybox")?;
    let mut container = json!({"name": words.name, "image": image});
    if let Some(command) = words.command() {
        container["command"] = json!(command);
    }
    Ok(json!({"spec": {"containers": [container], "restartPolicy": restart}}))
}

/// The cronjob that a job is to be made from.
pub(super) fn source<'a>(words: &Words<'a>) -> Result<&'a str, Failure> {
    let example = "write for example --from=cronjob/nightly";
    if words.has("image") || words.command().is_some() {
        return Err(Failure::refused(
            "either --image or --from must be specified, and a command only with --image",
            example,
        ));
    }
    let from = words.required("from", "--from=cronjob/nightly")?;
    match from.split_once('/') {
        Some(("cronjob" | "cronjobs" | "cj" | "cronjob.batch" | "cronjobs.batch", name))
            if !name.is_empty() =>
        {
            Ok(name)
        }
        _ => Err(Failure::refused(
            format!("--from: {from:?} is no cronjob"),
            example,
        )),
    }
}

/// The job that a cronjob would make now.
pub(super) fn job_of(cronjob: &Object) -> Value {
    let at = |path: &[&str]| cronjob.at(path).cloned();
    let mut annotations = json!({INSTANTIATED: "manual"});
    let own = at(&["spec", "jobTemplate", "metadata", "annotations"]);
    for (key, value) in own
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        annotations[key.as_str()] = value.clone();
    }
    let mut body = json!({
        "annotations": annotations,
        "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "CronJob", "name": cronjob.name(), "uid": cronjob.uid(), "controller": true,
        }],
        "spec": at(&["spec", "jobTemplate", "spec"]).unwrap_or_default(),
    });
    if let Some(labels) = at(&["spec", "jobTemplate", "metadata", "labels"]) {
        body["labels"] = labels;
    }
    body
}

/// How many pods have to run on while somebody clears nodes.
pub(super) fn disruption_budget(words: &Words<'_>) -> Result<Value, Failure> {
    words.required("selector", "--selector=app=web")?;
    let labels = roles::labels("selector", &words.listed("selector"))?;
    let (field, amount) = match (words.value("min-available"), words.value("max-unavailable")) {
        (Some(amount), None) => ("minAvailable", amount),
        (None, Some(amount)) => ("maxUnavailable", amount),
        (None, None) => {
            return Err(Failure::refused(
                "one of min-available or max-unavailable must be specified",
                "add --min-available=1 or --max-unavailable=25%",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Failure::refused(
                "min-available and max-unavailable cannot be both specified",
                "leave one of them out",
            ));
        }
    };
    let amount = match amount.parse::<i32>() {
        Ok(number) => json!(number),
        Err(_) => json!(amount),
    };
    Ok(json!({"spec": {"selector": {"matchLabels": labels}, field: amount}}))
}
