//! What the fields of a kind mean, as the server's own description of its API says.

mod slips;
mod text;
mod walk;

use client::{CallError, Client, Discovered, Discovery};
use http::Method;
use object::{GroupVersionKind, Value};

use crate::failure::Failure;
use crate::reading::{self, Scope};
use walk::{Depth, Described};

pub(crate) use slips::{meant_fields, write_failure};

/// What is to be told of a kind.
#[derive(Clone, Debug, Default)]
pub struct SchemaQuery {
    /// `TYPE`, or `TYPE.FIELD.FIELD`.
    pub word: String,
    /// The group and version, such as apps/v1; the server's favourite if absent.
    pub api_version: Option<String>,
    /// The names of all fields below too, without their descriptions.
    pub recursive: bool,
    /// Where to look; where the cluster is if absent.
    pub scope: Option<Scope>,
    /// The member.
    pub cluster: Option<String>,
}

/// Tells what a kind or one of its fields is, and what fields it has.
pub async fn explain_kind(control: &Client, query: &SchemaQuery) -> Result<String, Failure> {
    let place = reading::place(control, query.scope, query.cluster.as_deref()).await?;
    let client = place.client();
    let discovery = client.discover().await;
    let discovery = discovery.map_err(|error| place.failure(&error))?;
    let (found, fields) = split(&discovery, &query.word, query.api_version.as_deref())?;
    let kind = &found.resource.kind;
    let document = read(&client, kind)
        .await
        .map_err(|error| place.failure(&error))?;
    let schemas = &document["components"]["schemas"];
    let root = walk::find_kind(schemas, kind).ok_or_else(|| {
        Failure::refused(
            format!("the server does not describe {}", kind.kind),
            "kinds without a schema have no fields that are known",
        )
    })?;
    let depth = match query.recursive {
        true => Depth::All,
        false => Depth::Fields,
    };
    let described = Described::walk(schemas, root, &fields, depth).map_err(|unknown| {
        let what = format!("field {:?} does not exist", unknown.field);
        let hint = match unknown.near {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!(
                "`karavel explain {}` shows the fields there are",
                unknown.above(&query.word)
            ),
        };
        Failure::refused(what, hint)
    })?;
    Ok(text::write(kind, &fields, &described, query.recursive))
}

/// The kind that a word begins with, and the fields that follow.
fn split<'d>(
    discovery: &'d Discovery,
    word: &str,
    api_version: Option<&str>,
) -> Result<(&'d Discovered, Vec<String>), Failure> {
    // A kind may be named along with its group.
    if api_version.is_none()
        && let Ok(found) = reading::resolve(discovery, word)
    {
        return Ok((found, Vec::new()));
    }
    let mut parts = word.split('.');
    let name = parts.next().unwrap_or_default();
    let fields: Vec<String> = parts.map(str::to_owned).collect();
    if fields.iter().any(String::is_empty) {
        return Err(Failure::refused(
            format!("{word:?} names no field"),
            "for example: karavel explain deployment.spec.replicas",
        ));
    }
    let found = reading::resolve(discovery, name)?;
    let Some(wanted) = api_version else {
        return Ok((found, fields));
    };
    let plural = &found.resource.plural;
    let mut versions = discovery.resources.iter().filter(|other| {
        other.resource.plural == *plural && other.resource.kind.api_version() == wanted
    });
    match versions.next() {
        Some(found) => Ok((found, fields)),
        None => Err(Failure::refused(
            format!("{name} are not served as {wanted}"),
            "`karavel api-versions` lists the groups and versions there are",
        )),
    }
}

/// The server's description of a group and version.
async fn read(client: &Client, kind: &GroupVersionKind) -> Result<Value, CallError> {
    let path = match kind.group.as_str() {
        "" => format!("api/{}", kind.version),
        group => format!("apis/{group}/{}", kind.version),
    };
    let index = get(client, "/openapi/v3").await?;
    let place = index["paths"][path.as_str()]["serverRelativeURL"].as_str();
    get(client, place.unwrap_or(&format!("/openapi/v3/{path}"))).await
}

async fn get(client: &Client, path: &str) -> Result<Value, CallError> {
    let bytes = client
        .request(Method::GET, path, "application/json", Vec::new().into())
        .await?;
    serde_json::from_slice(&bytes).map_err(|source| CallError::Unreadable {
        request: format!("GET {}", path.split('?').next().unwrap_or_default()),
        source: source.into(),
    })
}
