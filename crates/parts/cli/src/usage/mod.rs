//! What nodes and pods use, as the members' own metrics say.

mod amounts;
mod nodes;
mod pods;

pub use nodes::top_nodes;
pub use pods::top_pods;

use client::{CallError, Client};
use futures_util::stream::{self, StreamExt as _};
use http::Method;
use object::Value;

use crate::failure::Failure;
use crate::reading::{self, Place, Scope};

/// How many places are asked at once.
const PLACES: usize = 32;

/// Whose use is asked for.
#[derive(Clone, Debug, Default)]
pub struct UsageQuery {
    /// Only this one.
    pub name: Option<String>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// All namespaces.
    pub all_namespaces: bool,
    /// Only those with these labels; empty for all.
    pub selector: String,
    /// Only those with these fields; empty for all.
    pub field_selector: String,
    /// Which members; all if empty.
    pub clusters: Vec<String>,
    /// The largest first.
    pub sort_by: Option<SortBy>,
    /// A row for each container.
    pub containers: bool,
    /// A last row with the sum.
    pub sum: bool,
    /// Shares of all there is, not of what pods may have.
    pub capacity: bool,
    /// No headline.
    pub no_headers: bool,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// Processors.
    Cpu,
    /// Memory.
    Memory,
}

impl UsageQuery {
    fn check(&self) -> Result<(), Failure> {
        if self.name.is_some() && !self.selector.is_empty() {
            return Err(Failure::refused(
                "a name cannot be given along with a selector",
                "leave the name or --selector out",
            ));
        }
        Ok(())
    }
}

/// Asks every member the same, and keeps what went wrong apart.
async fn ask_members<T, F>(
    control: &Client,
    clusters: &[String],
    ask: impl Fn(Place) -> F,
) -> Result<(Vec<(String, T)>, Vec<(String, Failure)>), Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let places = reading::places(control, Scope::Members, clusters).await?;
    let answers: Vec<(String, Result<T, Failure>)> = stream::iter(places)
        .map(|place| {
            let name = place.name.clone();
            let answer = ask(place);
            async move { (name, answer.await) }
        })
        .buffered(PLACES)
        .collect()
        .await;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for (place, answer) in answers {
        match answer {
            Ok(answer) => found.push((place, answer)),
            Err(failure) => failed.push((place, failure)),
        }
    }
    Ok((found, failed))
}

/// A document of the metrics API.
async fn read(place: &Place, path: &str) -> Result<Value, Failure> {
    let client = place.client();
    let bytes = client
        .request(Method::GET, path, "application/json", Vec::new().into())
        .await
        .map_err(|error| refused(place, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::failed(
            format!("the metrics make no sense: {error}"),
            "see the member's log",
        )
    })
}

/// Members without metrics answer that there is no such path.
fn refused(place: &Place, error: &CallError) -> Failure {
    let failure = place.failure(error);
    // A metrics server that is away is told by the member's API server in these words.
    let is_away = |message: &str| message.contains("currently unable to handle the request");
    match error.refusal() {
        Some(refusal)
            if refusal.code == 404 && !refusal.message.contains('"')
                || refusal.code == 503 && is_away(&refusal.message) =>
        {
            failure
                .reworded(|_| "metrics API not available".to_owned())
                .advised("install a metrics server in the member")
        }
        _ => failure,
    }
}
