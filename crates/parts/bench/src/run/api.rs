//! Requests to the API server: one object at a time, and lists.

use http::Method;

use super::Bench;
use super::measure::{Done, NAMESPACE, Watching};
use crate::error::BenchError;
use crate::load::{self, Load};
use crate::objects::Kind;
use crate::report::Step;
use crate::target::Target;
use crate::wire::{APPLY_PATCH, Ask, MERGE_PATCH};
use crate::workload::{Asked, Planned, Work};

/// What is done to each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    Get,
    Patch,
    Apply,
    Delete,
}

const KIND: Kind = Kind::ConfigMap;
/// Who fills namespaces that are to be listed.
const FILLERS: usize = 16;

impl Bench<'_> {
    pub(super) async fn requests(
        &self,
        target: &Target,
        name: &str,
        asked: &Asked,
        verb: Verb,
    ) -> Result<Step, BenchError> {
        let count = asked.count.at(self.settings.size);
        let collection = KIND.path(NAMESPACE);
        if verb != Verb::Create {
            // There may be fewer than this step asks for, or none if it is run alone.
            self.fill(target, &collection, "item", count).await?;
        }
        let load = Load {
            count,
            clients: asked.clients,
            pace: None,
        };
        let watching = Watching::begin(target);
        let make = move |index: usize| verb.ask(&collection, index);
        let outcome = load::run(&target.control, load, self.progress, make).await?;
        Ok(watching.end(name, target, outcome.into()))
    }

    /// Sees to it that a collection has this many objects, whoever made them.
    pub(super) async fn fill(
        &self,
        target: &Target,
        collection: &str,
        prefix: &'static str,
        count: usize,
    ) -> Result<(), BenchError> {
        let mut wire = crate::wire::Wire::open(&target.control).await?;
        let last = format!("{collection}/{prefix}-{}", count.saturating_sub(1));
        if wire.ask(Ask::get(last)).await?.status.is_success() {
            return Ok(());
        }
        let load = Load {
            count,
            clients: FILLERS,
            pace: None,
        };
        let collection = collection.to_owned();
        let make = move |index: usize| {
            let body = KIND.object(&format!("{prefix}-{index}"), 0);
            Ask::post(collection.clone(), body)
        };
        load::run(&target.control, load, self.progress, make)
            .await
            .map(drop)
    }

    pub(super) async fn lists(
        &self,
        target: &Target,
        planned: &Planned,
    ) -> Result<Step, BenchError> {
        let Work::List {
            objects,
            lists,
            clients,
            selected,
        } = &planned.work
        else {
            return Err(BenchError::Unfit {
                workload: planned.name.clone(),
                needs: "a list",
            });
        };
        let objects = objects.at(self.settings.size);
        let collection = KIND.path(NAMESPACE);
        self.fill(target, &collection, "listed", objects).await?;
        let path = match selected {
            true => format!("{collection}?labelSelector=part%3Dp7"),
            false => collection,
        };
        let load = Load {
            count: lists.at(self.settings.size),
            clients: *clients,
            pace: None,
        };
        let watching = Watching::begin(target);
        let make = move |_| Ask::get(path.clone());
        let outcome = load::run(&target.control, load, self.progress, make).await?;
        let (bytes, took) = (outcome.bytes, outcome.took);
        let mut step = watching.end(&planned.name, target, Done::from(outcome));
        step.figure("objects", objects as f64);
        step.figure("MB/s", bytes as f64 / 1e6 / took.as_secs_f64());
        Ok(step)
    }
}

impl Verb {
    fn ask(self, collection: &str, index: usize) -> Ask {
        let name = format!("item-{index}");
        let path = format!("{collection}/{name}");
        match self {
            Self::Create => Ask::post(collection, KIND.object(&name, 0)),
            Self::Get => Ask::get(path),
            Self::Patch => Ask::new(
                Method::PATCH,
                path,
                MERGE_PATCH,
                format!(r#"{{"data":{{"turn":"patched-{index}"}}}}"#),
            ),
            Self::Apply => Ask::new(
                Method::PATCH,
                format!("{path}?fieldManager=bench&force=true"),
                APPLY_PATCH,
                KIND.object(&name, index + 1),
            ),
            Self::Delete => Ask::new(Method::DELETE, path, "", bytes::Bytes::new()),
        }
    }
}
