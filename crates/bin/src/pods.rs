//! Commands about what runs in members: from what was typed to the call.

use cli::{Failure, LogQuery, PodQuery, Reach, Streams, Told};
use object::duration::Duration;

use crate::arguments::{Attach, Exec, Logs, PortForward, Terminal};
use crate::reading::{tell, until_interrupted};
use crate::running::block_on;
use crate::terminal::{self, Raw};
use crate::{print, say};

/// Prints logs.
pub(crate) fn logs(reach: &Reach, typed: Logs) -> Result<(), Failure> {
    let query = log_query(typed)?;
    block_on(async {
        let control = reach.connect().await?;
        let (mut show, mut note) = (print, tell);
        until_interrupted(cli::logs(&control, &query, &mut show, &mut note)).await
    })?
}

fn log_query(typed: Logs) -> Result<LogQuery, Failure> {
    let example = "for example: karavel logs POD -C NAME, or karavel logs -l app=web -C NAME";
    let word = match (typed.word, typed.selector.is_empty()) {
        (Some(_), false) => {
            return Err(Failure::refused(
                "only a selector (-l) or a POD name is allowed",
                example,
            ));
        }
        (None, true) => {
            return Err(Failure::refused(
                "neither a pod nor a selector is named",
                example,
            ));
        }
        (word, _) => word.unwrap_or_default(),
    };
    let since = typed
        .since
        .as_deref()
        .map(str::parse::<Duration>)
        .transpose();
    let of_since = |why: String| {
        let what = format!("--since: {why}");
        Failure::refused(what, "write a time such as 5s, 2m or 3h")
    };
    let since = since.map_err(|error| of_since(error.to_string()))?;
    if since.is_some_and(|since| since < Duration::ZERO) {
        return Err(of_since("it must be greater than 0".to_owned()));
    }
    // Upstream: none at all is all of it.
    let since = since.filter(|since| *since > Duration::ZERO);
    Ok(LogQuery {
        pod: PodQuery {
            word,
            namespace: typed.namespace,
            container: typed.container.or(typed.second),
            scope: None,
            cluster: typed.cluster,
        },
        selector: typed.selector,
        follow: typed.follow,
        previous: typed.previous,
        all_containers: typed.all_containers,
        all_pods: typed.all_pods,
        prefix: typed.prefix,
        timestamps: typed.timestamps,
        tail: typed.tail,
        since_seconds: since.map(|since| since.to_wait().as_secs().max(1).cast_signed()),
        since_time: typed.since_time,
        limit_bytes: typed.limit_bytes,
        at_once: typed.max_log_requests,
        ignore_errors: typed.ignore_errors,
    })
}

/// Runs a command in a container, and ends as it does.
pub(crate) fn exec(reach: &Reach, typed: Exec) -> Result<(), Failure> {
    let Exec {
        word,
        file,
        mut pod,
        terminal,
        command,
    } = typed;
    let word = match file {
        None => word.unwrap_or_default(),
        Some(path) => {
            let manifest = cli::Manifest::read_one(&path)?;
            pod.namespace = manifest.namespace(pod.namespace.as_deref())?;
            manifest.word()
        }
    };
    let query = pod.called(word);
    let mut raw = None;
    let ended = terminal::run(async {
        let control = reach.connect().await?;
        cli::exec(&control, &query, &command, |told| {
            connect(&terminal, told, &mut raw)
        })
        .await
    })?;
    drop(raw);
    ended
}

/// Connects to what runs in a container.
pub(crate) fn attach(reach: &Reach, typed: Attach) -> Result<(), Failure> {
    let Attach {
        word,
        pod,
        terminal,
    } = typed;
    let query = pod.called(word);
    let mut raw = None;
    let ended = terminal::run(async {
        let control = reach.connect().await?;
        cli::attach(&control, &query, |told| connect(&terminal, told, &mut raw)).await
    })?;
    drop(raw);
    ended
}

/// Reaches ports of a pod on this machine.
pub(crate) fn port_forward(reach: &Reach, typed: PortForward) -> Result<(), Failure> {
    let PortForward {
        word,
        pod,
        ports,
        address,
    } = typed;
    let query = pod.called(word);
    block_on(async {
        let control = reach.connect().await?;
        let (mut show, mut note) = (print, tell);
        let forwarding = cli::forward(&control, &query, &address, &ports, &mut show, &mut note);
        until_interrupted(forwarding).await
    })?
}

fn connect(typed: &Terminal, told: Told, raw: &mut Option<Raw>) -> Streams {
    if !typed.quiet {
        for line in told.0 {
            say(&format!("{line}\n"));
        }
    }
    let mut wants_terminal = typed.tty;
    if typed.tty && !terminal::is_input_terminal() {
        say("Unable to use a TTY - input is not a terminal or the right kind of file\n");
        wants_terminal = false;
    }
    if wants_terminal && typed.stdin {
        *raw = Raw::begin();
    }
    Streams {
        input: typed.stdin.then(terminal::input),
        output: Box::new(tokio::io::stdout()),
        errors: Box::new(tokio::io::stderr()),
        sizes: wants_terminal.then(terminal::sizes),
    }
}
