//! Commands that read objects: from what was typed to the call.

use cli::{Answer, Failure, Reach};

use crate::arguments;
use crate::running::block_on;
use crate::{clusters::now, given, offer, print, say};

/// Reads objects in the control plane and in members. What was found is printed even if not everybody answered.
pub(crate) fn get(reach: &Reach, mut typed: arguments::Get) -> Result<(), Failure> {
    if let Some(path) = &typed.raw {
        return ask_raw(reach, cli::RawVerb::Get, path, Vec::new());
    }
    let output = typed.written();
    let output = output.map_err(|why| Failure::refused(why, "correct --output and --template"))?;
    let (watch, only) = (typed.watch || typed.watch_only, typed.watch_only);
    let events = typed.output_watch_events;
    if events && !watch {
        return Err(Failure::refused(
            "--output-watch-events option can only be used with --watch or --watch-only",
            "add --watch",
        ));
    }
    let files = std::mem::take(&mut typed.files);
    let query = cli::Query {
        output,
        ..typed.into()
    };
    let query = get_query(query, &files)?;
    if !watch {
        return answer(block_on(async {
            let control = reach.connect().await?;
            cli::get(&control, &query).await
        })??);
    }
    if !query.objects.is_empty() {
        return Err(Failure::refused(
            "several objects of files cannot be watched at once",
            "give a file with one object",
        ));
    }
    block_on(async {
        let control = reach.connect().await?;
        let reader = Reader::default();
        let (mut show, mut note) = (|text: &str| reader.show(text), tell);
        let sinks: (cli::Sink<'_>, cli::Sink<'_>) = (&mut show, &mut note);
        cli::watch(&control, &query, (only, events), sinks, reader.is_done()).await
    })?
}

/// Asks a path as it is.
pub(crate) fn ask_raw(
    reach: &Reach,
    verb: cli::RawVerb,
    path: &str,
    body: Vec<u8>,
) -> Result<(), Failure> {
    let text = block_on(async {
        let control = reach.connect().await?;
        cli::raw(&control, verb, path, body).await
    })??;
    print(&text)
}

/// What is to be read: what was named, or what files name.
fn get_query(whole: cli::Query, files: &arguments::Files) -> Result<cli::Query, Failure> {
    if files.is_empty() {
        return Ok(whole);
    }
    if !whole.words.is_empty() {
        return Err(Failure::refused(
            "files and names cannot be given at once",
            "leave -f or the names out",
        ));
    }
    let mut objects = Vec::new();
    for manifest in given::read_named(files)? {
        let namespace = manifest.namespace(whole.namespace.as_deref())?;
        objects.push((manifest.word(), namespace));
    }
    // One alone is as if it had been named.
    if objects.len() == 1
        && let Some((word, namespace)) = objects.pop()
    {
        return Ok(cli::Query {
            words: vec![word],
            namespace,
            ..whole
        });
    }
    Ok(cli::Query { objects, ..whole })
}

/// Shows objects in full.
pub(crate) fn describe(reach: &Reach, typed: arguments::Describe) -> Result<(), Failure> {
    let queries = describe_queries(typed)?;
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::describe_all(&control, &queries, now()).await
    })??)
}

/// What is to be described: what was named, or what files name.
fn describe_queries(mut typed: arguments::Describe) -> Result<Vec<cli::DescribeQuery>, Failure> {
    let files = std::mem::take(&mut typed.files);
    if files.is_empty() {
        return Ok(vec![typed.into()]);
    }
    if !typed.words.is_empty() {
        return Err(Failure::refused(
            "files and names cannot be given at once",
            "leave -f or the names out",
        ));
    }
    let manifests = given::read_named(&files)?;
    let whole: cli::DescribeQuery = typed.into();
    let query = |manifest: &cli::Manifest| {
        Ok(cli::DescribeQuery {
            words: vec![manifest.word()],
            namespace: manifest.namespace(whole.namespace.as_deref())?,
            ..whole.clone()
        })
    };
    manifests.iter().map(query).collect()
}

/// Shows the kinds there are.
pub(crate) fn api_resources(reach: &Reach, typed: arguments::ApiResources) -> Result<(), Failure> {
    let query = typed.into();
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::api_resources(&control, &query).await
    })??)
}

/// Shows the groups and versions there are.
pub(crate) fn api_versions(reach: &Reach, typed: arguments::ApiVersions) -> Result<(), Failure> {
    let (scope, cluster) = (typed.place.scope.map(Into::into), typed.place.cluster);
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::api_versions(&control, scope, cluster.as_deref()).await
    })??)
}

/// Shows what happened lately.
pub(crate) fn events(reach: &Reach, typed: arguments::Events) -> Result<(), Failure> {
    let watch = typed.watch;
    let query: cli::EventsQuery = typed.into();
    if watch {
        return block_on(async {
            let control = reach.connect().await?;
            let reader = Reader::default();
            let (mut show, mut note) = (|text: &str| reader.show(text), tell);
            let sinks: (cli::Sink<'_>, cli::Sink<'_>) = (&mut show, &mut note);
            cli::watch_events(&control, &query, sinks, reader.is_done()).await
        })?;
    }
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::events(&control, &query, now()).await
    })??)
}

/// Shows what nodes and pods use.
pub(crate) fn top(reach: &Reach, typed: arguments::Top) -> Result<(), Failure> {
    answer(block_on(async {
        let control = reach.connect().await?;
        match typed {
            arguments::Top::Node(usage) => cli::top_nodes(&control, &usage.into()).await,
            arguments::Top::Pod(usage) => cli::top_pods(&control, &usage.into()).await,
        }
    })??)
}

/// Explains where a template goes.
pub(crate) fn explain(reach: &Reach, typed: arguments::Explain) -> Result<(), Failure> {
    if let [word] = typed.words.as_slice()
        && !word.contains('/')
    {
        if typed.output != arguments::Telling::Text {
            return Err(Failure::refused(
                "what fields mean is told as text only",
                "leave -o out; where an object goes is told as JSON too: karavel explain TYPE/NAME -o json",
            ));
        }
        let query = cli::SchemaQuery {
            word: word.clone(),
            api_version: typed.api_version,
            recursive: typed.recursive,
            scope: typed.scope.map(Into::into),
            cluster: typed.cluster,
        };
        let text = block_on(async {
            let control = reach.connect().await?;
            cli::explain_kind(&control, &query).await
        })??;
        return print(&text);
    }
    let question = cli::Question {
        words: typed.words,
        namespace: typed.namespace,
        cluster: typed.cluster,
        telling: typed.output.into(),
        presumed: typed.presumed.into(),
    };
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::explain(&control, &question).await
    })??)
}

/// Prints what was found, says what is worth knowing, and ends with what could not be read.
pub(crate) fn answer(answer: Answer) -> Result<(), Failure> {
    let Answer {
        text,
        notes,
        failure,
    } = answer;
    print(&text)?;
    for note in notes {
        say(&format!("{note}\n"));
    }
    failure.map_or(Ok(()), Err)
}

/// Says something beside the output.
pub(crate) fn tell(text: &str) -> Result<(), Failure> {
    say(text);
    Ok(())
}

/// Runs something endless until somebody has seen enough, which is no failure.
pub(crate) async fn until_interrupted<F>(endless: F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    tokio::select! {
        ended = endless => ended,
        () = interrupted() => Ok(()),
    }
}

/// Who reads what a watch says: somebody at a terminal, or another program, which may have gone.
#[derive(Default)]
struct Reader {
    gone: tokio::sync::Notify,
}

impl Reader {
    fn show(&self, text: &str) -> Result<(), Failure> {
        if !offer(text)? {
            self.gone.notify_one();
        }
        Ok(())
    }

    /// Until it has seen enough.
    async fn is_done(&self) {
        tokio::select! {
            () = interrupted() => {}
            () = self.gone.notified() => {}
        }
    }
}

/// Until somebody has seen enough.
async fn interrupted() {
    // Where nobody can say so, nobody does.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
