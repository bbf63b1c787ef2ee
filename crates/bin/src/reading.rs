//! Commands that read objects: from what was typed to the call.

use cli::{Answer, Failure, Reach};

use crate::arguments;
use crate::running::block_on;
use crate::{clusters::now, print, say};

/// Reads objects in the control plane and in members. What was found is printed even if not everybody answered.
pub(crate) fn get(reach: &Reach, typed: arguments::Get) -> Result<(), Failure> {
    let (watch, only) = (typed.watch || typed.watch_only, typed.watch_only);
    let events = typed.output_watch_events;
    if events && !watch {
        return Err(Failure::refused(
            "--output-watch-events option can only be used with --watch or --watch-only",
            "add --watch",
        ));
    }
    let query = typed.into();
    if !watch {
        return answer(block_on(async {
            let control = reach.connect().await?;
            cli::get(&control, &query).await
        })??);
    }
    block_on(async {
        let control = reach.connect().await?;
        let mut show = print;
        let mut note = tell;
        let watching = cli::watch(&control, &query, (only, events), &mut show, &mut note);
        until_interrupted(watching).await
    })?
}

/// Shows objects in full.
pub(crate) fn describe(reach: &Reach, typed: arguments::Describe) -> Result<(), Failure> {
    let query = typed.into();
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::describe(&control, &query, now()).await
    })??)
}

/// Shows what happened lately.
pub(crate) fn events(reach: &Reach, typed: arguments::Events) -> Result<(), Failure> {
    let query = typed.into();
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
    let question = cli::Question {
        words: typed.words,
        namespace: typed.namespace,
        cluster: typed.cluster,
        telling: typed.output.into(),
    };
    let text = block_on(async {
        let control = reach.connect().await?;
        cli::explain(&control, &question).await
    })??;
    print(&text)
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
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}
