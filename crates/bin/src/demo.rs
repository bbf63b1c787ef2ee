//! The sample application of `up --demo`: applied, and watched on its way.

use std::time::{Duration, Instant};

use cli::{ApplyOptions, Failure, Manifest};
use client::{CallError, Client};
use object::{Object, ObjectKey, ResourceType, Value};

use crate::up::step;

/// What is applied; also the file that newcomers read.
const SHOP: &str = include_str!("../../../examples/demo/shop.yaml");
/// How long it may take to be placed, and then to arrive: a machine may have much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(20);
/// Where it is.
const NAMESPACE: &str = "shop";
const NAME: &str = "web";

/// Applies the application and says how far it has come. `members` are those of the `running` ones that have joined; without
/// any there is nothing to show, and nothing is applied; nor where it is already, perhaps changed since. Says whether there is
/// anything to look at now.
pub(crate) async fn show(
    control: &Client,
    begun: Instant,
    members: &[&str],
    running: usize,
) -> Result<bool, Failure> {
    if members.is_empty() {
        let why = match running {
            0 => "no member runs",
            _ => "all members that run were let go",
        };
        step(begun, &format!("demo: left out, because {why}"))?;
        return Ok(false);
    }
    let namespaces = ResourceType::cluster("", "v1", "Namespace", "namespaces");
    match control
        .get_metadata(&namespaces, &ObjectKey::cluster(NAMESPACE))
        .await
    {
        Ok(_) => {
            step(
                begun,
                "demo: the namespace shop is there already, and is left as it is",
            )?;
            return has_application(control).await;
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(cli::call_failure(&error)),
    }
    let manifests = Manifest::parse("the demonstration", SHOP)?;
    let mut count = 0_usize;
    let options = ApplyOptions::default();
    let applied = cli::apply(control, &manifests, &options, &mut |_: &str| {
        count += 1;
        Ok(())
    })
    .await?;
    if let Some(failure) = applied.failure {
        return Err(failure);
    }
    step(
        begun,
        &format!("demo: {count} objects of the application shop are applied"),
    )?;
    let deployment = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
    let binding = ResourceType::namespaced(
        "work.karmada.io",
        "v1alpha2",
        "ResourceBinding",
        "resourcebindings",
    );
    let placed = until(control, &binding, "web-deployment", |found| {
        let clusters = found.at(&["spec", "clusters"]).and_then(Value::as_array)?;
        let shares = clusters.iter().map(|target| {
            let name = target["name"].as_str().unwrap_or_default();
            format!("{} to {name}", target["replicas"])
        });
        let shares: Vec<String> = shares.collect();
        let elsewhere = clusters.iter().any(|target| {
            let name = target["name"].as_str();
            name.is_none_or(|name| !members.contains(&name))
        });
        let said = shares.join(", ");
        (!shares.is_empty()).then_some((said, elsewhere))
    });
    let Some((placed, elsewhere)) = placed.await? else {
        step(
            begun,
            "demo: it has not been placed yet; `karavel explain deployment/web -n shop` says why",
        )?;
        return Ok(true);
    };
    step(begun, &format!("demo: 6 replicas are divided: {placed}"))?;
    if elsewhere {
        step(
            begun,
            "demo: some of them wait for a member that is not run, and move when it is given up",
        )?;
        return Ok(true);
    }
    let ready = until(control, &deployment, NAME, |found| {
        let wanted = found.integer_at(&["spec", "replicas"])?;
        let ready = found.integer_at(&["status", "readyReplicas"])?;
        (ready >= wanted).then(|| ready.to_string())
    });
    let said = match ready.await? {
        Some(ready) => {
            format!("demo: {ready} pods are ready in the members, and the status is back")
        }
        None => {
            "demo: not all pods are ready yet; `karavel get pods -n shop -s members` shows them"
                .to_owned()
        }
    };
    step(begun, &said)?;
    Ok(true)
}

/// Whether what is there already is the application, so that there is something to look at: the namespace may be anybody's.
async fn has_application(control: &Client) -> Result<bool, Failure> {
    let deployment = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
    let key = ObjectKey::namespaced(NAMESPACE, NAME);
    match control.get_metadata(&deployment, &key).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(cli::call_failure(&error)),
    }
}

/// Looks at an object until it says something; `None` if it does not in time.
async fn until<T>(
    control: &Client,
    kind: &ResourceType,
    name: &str,
    look: impl Fn(&Object) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let key = ObjectKey::namespaced(NAMESPACE, name);
    let looking = async {
        loop {
            match control.get(kind, &key).await {
                Ok(found) => {
                    if let Some(said) = look(&found) {
                        return Ok::<_, CallError>(said);
                    }
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(said) => said.map(Some).map_err(|error| cli::call_failure(&error)),
        Err(_) => Ok(None),
    }
}
