//! Commands that read objects: from what was typed to the call.

use cli::{Answer, Failure, Reach};

use crate::arguments;
use crate::{print, running, say};

/// Reads objects in the control plane and in members. What was found is printed even if not everybody answered.
pub(crate) fn get(reach: &Reach, typed: arguments::Get) -> Result<(), Failure> {
    let query = typed.into();
    let Answer {
        text,
        notes,
        failure,
    } = running::block_on(async {
        let control = reach.connect().await?;
        cli::get(&control, &query).await
    })??;
    print(&text)?;
    for note in notes {
        say(&format!("{note}\n"));
    }
    failure.map_or(Ok(()), Err)
}

/// Explains where a template goes.
pub(crate) fn explain(reach: &Reach, typed: &arguments::Explain) -> Result<(), Failure> {
    let text = running::block_on(async {
        let control = reach.connect().await?;
        let namespace = typed.namespace.as_deref();
        cli::explain(&control, &typed.words, namespace, typed.output.into()).await
    })??;
    print(&text)
}
