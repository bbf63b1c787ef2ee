//! The same random requests to our server and to a real one; what they answer differently.
//!
//! A case is a definition and sequences of requests, all made from one seed. A sequence whose answers differ is made
//! smaller until nothing can be left out, and then told. Differences that are there for a reason are listed as data.

mod builtin;
mod compare;
mod known;
mod requests;
mod schema;
mod side;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use self::compare::{differences, signature};
use self::known::{Known, reason};
use self::requests::{Body, Request, sequence};
use self::side::{Answer, Side};
use crate::cache::Cache;
use crate::dice::Dice;
use crate::peer::Judge;
use crate::process::Karavel;
use crate::script::make_folder;

/// What to compare.
#[derive(Debug)]
pub struct Choice {
    /// The server under test.
    pub karavel: PathBuf,
    /// The first seed; each definition takes the next.
    pub seed: u64,
    /// How many definitions.
    pub definitions: u64,
    /// How many sequences for each, and how many requests in each.
    pub sequences: usize,
    /// How many requests a sequence has.
    pub length: usize,
    /// Only this judge: `extensions` or `kubernetes`; both if empty.
    pub only: Vec<String>,
}

/// What came of it.
#[derive(Default)]
struct Tally {
    requests: usize,
    compared: usize,
    listed: BTreeMap<&'static str, usize>,
    /// The first case of each sort, and how often it was met.
    found: BTreeMap<String, (String, usize)>,
}

/// Runs the comparison and reports on the terminal; true when nothing differs that is not listed.
pub fn run(cache: &Cache, choice: &Choice) -> Result<bool> {
    let wants =
        |judge: &str| choice.only.is_empty() || choice.only.iter().any(|only| only == judge);
    let mut same = true;
    if wants("extensions") {
        let directory = tempfile::tempdir()?;
        let judge = Judge::extensions(cache, &make_folder(directory.path(), "judge")?)?;
        same &= compare("extensions", &judge, known::EXTENSIONS, choice)?;
    }
    if wants("kubernetes") {
        let directory = tempfile::tempdir()?;
        // Without controllers nobody would make the accounts that pods must have.
        let judge = Judge::kubernetes(
            cache,
            &make_folder(directory.path(), "judge")?,
            "ServiceAccount",
        )?;
        same &= compare("kubernetes", &judge, known::KUBERNETES, choice)?;
    }
    Ok(same)
}

fn compare(name: &str, judge: &Judge, listed: &'static [Known], choice: &Choice) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let server = Karavel::start(&choice.karavel, &directory.path().join("server"), &[])?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()?;
    let started = Instant::now();
    let tally = runtime.block_on(async {
        let mut pair = Pair {
            ours: Side::open(&server.kubeconfig()).await?,
            theirs: Side::open(&judge.kubeconfig).await?,
            count: 0,
            listed,
        };
        let mut tally = Tally::default();
        for seed in choice.seed..choice.seed + choice.definitions {
            match name {
                "extensions" => pair.try_definition(seed, choice, &mut tally).await?,
                _ => pair.try_builtin(seed, choice, &mut tally).await?,
            }
        }
        anyhow::Ok(tally)
    })?;
    tally.print(name, started.elapsed());
    Ok(tally.found.is_empty())
}

struct Pair {
    ours: Side,
    theirs: Side,
    count: usize,
    listed: &'static [Known],
}

/// How long a definition may take to be served.
const SERVED: Duration = Duration::from_secs(20);

impl Pair {
    async fn try_definition(
        &mut self,
        seed: u64,
        choice: &Choice,
        tally: &mut Tally,
    ) -> Result<()> {
        let mut dice = Dice::new(seed);
        let group = format!("s{seed}.oracle.test");
        let definition = schema::definition(&mut dice, &group);
        let created = self.define(&definition, seed, tally).await?;
        if !created {
            return Ok(());
        }
        for _ in 0..choice.sequences {
            let requests = sequence(&mut dice, &definition, choice.length);
            self.try_sequence(seed, requests, &definition, tally)
                .await?;
        }
        self.undefine(&definition).await
    }

    async fn try_builtin(&mut self, seed: u64, choice: &Choice, tally: &mut Tally) -> Result<()> {
        let mut dice = Dice::new(seed);
        for _ in 0..choice.sequences {
            let requests = builtin::sequence(&mut dice, 3);
            self.try_sequence(seed, requests, &Value::Null, tally)
                .await?;
        }
        Ok(())
    }

    async fn try_sequence(
        &mut self,
        seed: u64,
        requests: Vec<Request>,
        definition: &Value,
        tally: &mut Tally,
    ) -> Result<()> {
        tally.compared += 1;
        tally.requests += requests.len();
        let Some(first) = self.replay(&requests, tally).await? else {
            return Ok(());
        };
        let known = tally.found.get_mut(&first.signature);
        if let Some((_, count)) = known {
            *count += 1;
            return Ok(());
        }
        let (smallest, last) = self.shrink(requests, &first).await?;
        let text = describe(seed, definition, &smallest, &last);
        println!("{text}\n");
        tally.found.insert(first.signature, (text, 1));
        Ok(())
    }

    /// Creates the definition on both and compares what they say; true when both took it.
    async fn define(&mut self, definition: &Value, seed: u64, tally: &mut Tally) -> Result<bool> {
        let name = definition["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let request = Request {
            method: "POST",
            path: format!("{DEFINITIONS}?fieldManager=oracle"),
            media: "application/json",
            body: Body::Json(definition.clone()),
        };
        tally.requests += 1;
        self.ours.forget(&name);
        self.theirs.forget(&name);
        let mut ours = self.ours.ask(&request).await?;
        let mut theirs = self.theirs.ask(&request).await?;
        let taken = (ours.code, theirs.code) == (201, 201);
        if taken {
            // Controllers fill the status in, each when it gets there.
            for answer in [&mut ours, &mut theirs] {
                answer.body["status"] = Value::Null;
            }
        }
        for difference in differences(&ours, &theirs) {
            if let Some(reason) = reason(self.listed, &shown(&request), &difference) {
                *tally.listed.entry(reason).or_default() += 1;
                continue;
            }
            let sort = signature("define", &difference);
            let text = format!("seed {seed}: {definition}\n  {difference}");
            if !tally.found.contains_key(&sort) {
                println!("{text}\n");
            }
            tally.found.entry(sort).or_insert((text, 0)).1 += 1;
        }
        if !taken {
            self.undefine(definition).await?;
            return Ok(false);
        }
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let list = Request {
            method: "GET",
            path: format!("/apis/{group}/v1/namespaces/default/things"),
            media: "application/json",
            body: Body::Nothing,
        };
        let deadline = Instant::now() + SERVED;
        loop {
            let served = (
                self.ours.ask(&list).await?.code,
                self.theirs.ask(&list).await?.code,
            );
            if served == (200, 200) {
                return Ok(true);
            }
            if Instant::now() > deadline {
                println!(
                    "seed {seed}: served {served:?} after {} s",
                    SERVED.as_secs()
                );
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn undefine(&mut self, definition: &Value) -> Result<()> {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let request = Request {
            method: "DELETE",
            path: format!("{DEFINITIONS}/{name}"),
            media: "application/json",
            body: Body::Nothing,
        };
        self.ours.ask(&request).await?;
        self.theirs.ask(&request).await?;
        Ok(())
    }

    /// Sends a sequence to both, about an object of a fresh name; the first difference that counts.
    async fn replay(&mut self, requests: &[Request], tally: &mut Tally) -> Result<Option<Found>> {
        self.count += 1;
        let name = format!("thing-x{}x", self.count);
        self.ours.forget(&name);
        self.theirs.forget(&name);
        for (index, request) in requests.iter().enumerate() {
            let ours = self.ours.ask(request).await?;
            let theirs = self.theirs.ask(request).await?;
            for difference in differences(&ours, &theirs) {
                if let Some(reason) = reason(self.listed, &shown(request), &difference) {
                    *tally.listed.entry(reason).or_default() += 1;
                    if part_ways(&ours, &theirs, &difference) {
                        return Ok(None);
                    }
                    continue;
                }
                return Ok(Some(Found {
                    index,
                    signature: signature(&sort_of(request), &difference),
                    difference,
                }));
            }
        }
        Ok(None)
    }

    /// Leaves out every request, then every field, without which the difference is still there.
    async fn shrink(
        &mut self,
        mut requests: Vec<Request>,
        found: &Found,
    ) -> Result<(Vec<Request>, String)> {
        let mut difference = found.difference.clone();
        requests.truncate(found.index + 1);
        let mut index = requests.len().saturating_sub(1);
        while index > 0 {
            index -= 1;
            let mut fewer = requests.clone();
            fewer.remove(index);
            if let Some(still) = self.still(&fewer, found).await? {
                difference = still;
                requests = fewer;
            }
        }
        for index in 0..requests.len() {
            let Some(Body::Json(body)) = requests.get(index).map(|request| request.body.clone())
            else {
                continue;
            };
            let mut body = body;
            for pointer in pointers(&body) {
                let mut smaller = body.clone();
                if !remove(&mut smaller, &pointer) {
                    continue;
                }
                let mut changed = requests.clone();
                if let Some(request) = changed.get_mut(index) {
                    request.body = Body::Json(smaller.clone());
                }
                if let Some(still) = self.still(&changed, found).await? {
                    difference = still;
                    requests = changed;
                    body = smaller;
                }
            }
        }
        Ok((requests, difference))
    }

    /// The difference, if a sequence still ends in one of the same sort.
    async fn still(&mut self, requests: &[Request], found: &Found) -> Result<Option<String>> {
        let again = self.replay(requests, &mut Tally::default()).await?;
        let same =
            |again: &Found| again.signature == found.signature && again.index + 1 == requests.len();
        Ok(again.filter(same).map(|again| again.difference))
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Whether two servers have different objects after a listed difference, so that what follows says nothing: one did what the
/// other refused, or only one still knows who owns what.
fn part_ways(ours: &Answer, theirs: &Answer, difference: &str) -> bool {
    let is_done = |answer: &Answer| answer.code < 300;
    // Only one of them still has it.
    let is_going = |answer: &Answer| !answer.body["metadata"]["deletionTimestamp"].is_null();
    is_done(ours) != is_done(theirs)
        || is_going(ours) != is_going(theirs)
        || (difference.starts_with(".metadata.managedFields: ours {")
            && difference.ends_with("theirs absent"))
}

struct Found {
    index: usize,
    signature: String,
    difference: String,
}

fn sort_of(request: &Request) -> String {
    let part = if request.path.contains("/status") {
        "/status"
    } else {
        ""
    };
    format!("{}{part} {}", request.method, request.media)
}

fn describe(seed: u64, definition: &Value, requests: &[Request], difference: &str) -> String {
    let schema =
        &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut text = format!("seed {seed}: {schema}\n");
    for request in requests {
        text += &format!("  {}\n", shown(request));
    }
    text + &format!("  {difference}")
}

fn shown(request: &Request) -> String {
    let body = match &request.body {
        Body::Nothing => String::new(),
        Body::Json(body) => body.to_string(),
        Body::Text(body) => body.clone(),
    };
    let Request {
        method,
        path,
        media,
        ..
    } = request;
    format!("{method} {path} {media} {body}")
}

/// Every field and item of a value, outermost first.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found.retain(|pointer| {
        !matches!(
            pointer.as_str(),
            "/apiVersion" | "/kind" | "/metadata" | "/metadata/name"
        )
    });
    found
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .rev()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => return,
    };
    for (name, _) in &inner {
        found.push(format!("{path}/{name}"));
    }
    for (name, value) in inner {
        collect(value, &format!("{path}/{name}"), found);
    }
}

fn remove(value: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return false;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields.shift_remove(&last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

impl Tally {
    fn print(&self, judge: &str, took: Duration) {
        println!(
            "oracle, {judge}: {} requests in {} sequences, {} s; {} sorts of differences in {} cases",
            self.requests,
            self.compared,
            took.as_secs(),
            self.found.len(),
            self.found.values().map(|(_, count)| count).sum::<usize>(),
        );
        for (sort, (_, count)) in &self.found {
            println!("  {count:>5} {sort}");
        }
        for (reason, count) in &self.listed {
            println!("  {count:>5} listed: {reason}");
        }
    }
}
