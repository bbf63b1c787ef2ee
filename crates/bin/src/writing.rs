//! Commands that write to the control plane, and those that only suppose it: from what was typed to the call.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use cli::interpret::{self, Trial};
use cli::{Answer, Failure, Manifest, Marks, Propagation, Reach};
use client::PatchKind;
use object::Value;
use object::duration::Duration;

use crate::arguments::{
    Apply, ApplyCommand, Cascade, Create, Delete, Document, Edit, Interpret, LastApplied, Making,
    Mark, Patch, PatchType, Promote, Simulate, Telling,
};
use crate::clusters::now;
use crate::given::{self, named, read, read_named};
use crate::print;
use crate::reading::{answer, ask_raw};
use crate::running::block_on;
use crate::terminal;

/// Applies objects.
pub(crate) fn apply(reach: &Reach, typed: Apply) -> Result<(), Failure> {
    if let Some(ApplyCommand::ViewLastApplied(typed)) = typed.command {
        return view_last_applied(reach, typed);
    }
    let propagation = match (typed.all_clusters, typed.clusters.is_empty()) {
        (true, false) => {
            return Err(Failure::refused(
                "--all-clusters and --cluster cannot be used together",
                "leave one of them out",
            ));
        }
        (true, true) => Propagation::AllClusters,
        (false, false) => Propagation::Clusters(typed.clusters),
        (false, true) => Propagation::Elsewhere,
    };
    if typed.prune || typed.applyset.is_some() || !typed.prune_allowlist.is_empty() {
        return Err(Failure::refused(
            "deleting what is not in files is left to kubectl",
            "`kubectl apply --prune` works against the control plane",
        ));
    }
    if typed.force {
        return Err(Failure::refused(
            "nothing is deleted by applying",
            "`karavel delete -f FILE`, then `karavel apply -f FILE`, makes objects anew",
        ));
    }
    let manifests = Manifest::select(read(&typed.files)?, &typed.selector)?;
    let options = cli::ApplyOptions {
        writing: typed.writing.try_into()?,
        respect_owners: typed.respect_owners || (typed.server_side && !typed.force_conflicts),
        propagation,
        subresource: typed.subresource,
    };
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::apply(&control, &manifests, &options, &mut print).await
    })??)
}

/// Shows what objects were last applied with.
fn view_last_applied(reach: &Reach, typed: LastApplied) -> Result<(), Failure> {
    let is_json = typed.output == Document::Json;
    let mut asked = vec![(typed.words, typed.namespace)];
    if !typed.files.is_empty() {
        let default = asked.pop().and_then(|(_, namespace)| namespace);
        for manifest in read_named(&typed.files)? {
            let namespace = manifest.namespace(default.as_deref())?;
            asked.push((vec![manifest.word()], namespace));
        }
    }
    answer(block_on(async {
        let control = reach.connect().await?;
        let mut whole = cli::Answer::default();
        for (words, namespace) in asked {
            let writing = cli::Writing {
                namespace,
                ..cli::Writing::default()
            };
            let part = cli::view_last_applied(&control, &words, &writing, is_json).await?;
            if !whole.text.is_empty() && !is_json {
                whole.text.push_str("---\n");
            }
            whole.text.push_str(&part.text);
            whole.failure = part.failure.or(whole.failure);
        }
        Ok::<_, Failure>(whole)
    })??)
}

/// Creates objects.
pub(crate) fn create(reach: &Reach, typed: Create) -> Result<(), Failure> {
    if let Some(path) = &typed.raw {
        let [file] = typed.files.files.as_slice() else {
            return Err(Failure::refused(
                "--raw can only use a single local file or stdin",
                "name it with -f, or - for standard input",
            ));
        };
        return ask_raw(reach, cli::RawVerb::Post, path, given::bytes(file)?);
    }
    let save_config = typed.tolerated.save_config == Some(true);
    let making = typed.making;
    let pairs = making.pairs();
    let writing: cli::Writing = typed.writing.try_into()?;
    let words = match typed.words.as_slice() {
        [] => None,
        [kind, name] if kind == "token" => {
            cli::check_flags(Some(kind), &pairs)?;
            return create_token(reach, name, &making, writing);
        }
        words => Some(cli::read_words_to_create(words)?),
    };
    let files = match words {
        None => {
            cli::check_flags(None, &pairs)?;
            if typed.files.is_empty() {
                return Err(Failure::refused(
                    "must specify one of -f, -k, and a type with a name",
                    "for example: karavel create deployment web --image=nginx, or karavel create -f web.yaml",
                ));
            }
            Manifest::select(read(&typed.files)?, &typed.labels)?
        }
        Some(_) => Vec::new(),
    };
    let options = cli::CreateOptions {
        writing,
        save_config,
        is_of_words: words.is_some(),
    };
    if let Some((kind, name)) = &words
        && let Some(text) = cli::create_here((kind, name), &pairs, &options)?
    {
        return print(&text);
    }
    if !typed.edit {
        return answer(create_all(reach, words, &pairs, files, &options)?);
    }
    let mut text = String::new();
    let change = |shown: &str| {
        text = in_editor(shown)?;
        Ok(text.clone())
    };
    let edited = cli::edit_first(&files, change);
    let Some(files) = edited.map_err(|failure| with_copy(failure, &text))? else {
        return print("Edit cancelled, no changes made.\n");
    };
    let mut created = create_all(reach, words, &pairs, files, &options)?;
    created.failure = created.failure.map(|failure| with_copy(failure, &text));
    answer(created)
}

/// Creates what words or files say.
fn create_all(
    reach: &Reach,
    words: Option<(String, String)>,
    pairs: &[(String, String)],
    files: Vec<Manifest>,
    options: &cli::CreateOptions,
) -> Result<Answer, Failure> {
    block_on(async {
        let control = match &words {
            // What is wrong with the words themselves is told without a control plane.
            Some((kind, name)) => {
                cli::check_words(kind, name, pairs)?;
                reach.connect().await?
            }
            None => reach.connect().await?,
        };
        let manifests = match &words {
            Some((kind, name)) => {
                vec![cli::generate(&control, &options.writing, (kind, name), pairs).await?]
            }
            None => files,
        };
        cli::create(&control, &manifests, options, &mut print).await
    })?
}

/// Makes a token of a service account.
fn create_token(
    reach: &Reach,
    account: &str,
    typed: &Making,
    writing: cli::Writing,
) -> Result<(), Failure> {
    let seconds = typed.duration.as_deref().map(str::parse::<Duration>);
    let seconds = seconds.transpose().map_err(|error| {
        Failure::refused(format!("--duration: {error}"), "write a time such as 1h")
    })?;
    let bound_to = typed.bound_object_kind.clone().map(|kind| {
        let name = typed.bound_object_name.clone().unwrap_or_default();
        (
            kind,
            name,
            typed.bound_object_uid.clone().unwrap_or_default(),
        )
    });
    let query = cli::AccountTokenQuery {
        account: account.to_owned(),
        audiences: typed.audience.clone(),
        seconds: seconds.map(|time| time.to_wait().as_secs()),
        bound_to,
        writing,
    };
    let text = block_on(async {
        let control = reach.connect().await?;
        cli::create_account_token(&control, &query).await
    })??;
    print(&text)
}

/// Deletes objects.
pub(crate) fn delete(reach: &Reach, typed: Delete) -> Result<(), Failure> {
    if let Some(path) = &typed.raw {
        let body = match typed.files.files.as_slice() {
            [] => Vec::new(),
            [file] => given::bytes(file)?,
            _ => {
                return Err(Failure::refused(
                    "--raw can only use a single local file or stdin",
                    "name one file with -f, or none",
                ));
            }
        };
        return ask_raw(reach, cli::RawVerb::Delete, path, body);
    }
    let manifests = match typed.files.is_empty() {
        true => Vec::new(),
        false => read_named(&typed.files)?,
    };
    if manifests.is_empty() && typed.words.is_empty() {
        return Err(Failure::refused(
            "you must provide one or more resources by argument or filename",
            "for example: karavel delete deployment/web, or karavel delete -f web.yaml",
        ));
    }
    let timeout = typed
        .timeout
        .as_deref()
        .map(str::parse::<Duration>)
        .transpose();
    let timeout = timeout.map_err(|error| {
        Failure::refused(format!("--timeout: {error}"), "write a time such as 30s")
    })?;
    let grace = match (typed.force, typed.now) {
        (true, _) => Some(0),
        (false, true) => Some(1),
        (false, false) => u64::try_from(typed.grace_period).ok(),
    };
    let query = cli::DeleteQuery {
        words: typed.words,
        manifests,
        selector: typed.selector,
        field_selector: typed.field_selector,
        all: typed.all,
        all_namespaces: typed.all_namespaces,
        writing: typed.writing.try_into()?,
        propagation: match typed.cascade {
            Cascade::Background => intent::Propagation::Background,
            Cascade::Foreground => intent::Propagation::Foreground,
            Cascade::Orphan => intent::Propagation::Orphan,
        },
        grace_seconds: grace,
        wait: typed.wait,
        timeout: timeout
            .map(Duration::to_wait)
            .filter(|timeout| !timeout.is_zero()),
        ignore_not_found: typed.ignore_not_found,
    };
    answer(block_on(async {
        let control = reach.connect().await?;
        let mut ask = confirm;
        let ask = typed.interactive.then_some(&mut ask as cli::Asking<'_>);
        cli::delete(&control, &query, &mut print, ask).await
    })??)
}

/// Asks whoever sits at the terminal. Everything but a yes is a no, also the end of the input.
fn confirm(what: &str) -> Result<bool, Failure> {
    print(&format!("{what}Do you want to continue? (y/N): "))?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|error| {
        let what = format!("cannot read standard input: {error}");
        Failure::failed(what, "leave --interactive out")
    })?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
}

/// Changes an object in an editor.
pub(crate) fn edit(reach: &Reach, typed: Edit) -> Result<(), Failure> {
    let mut writing: cli::Writing = typed.writing.try_into()?;
    let (words, namespace) = named(typed.words, &typed.files, writing.namespace.as_deref())?;
    writing.namespace = namespace;
    let query = cli::EditQuery {
        words,
        writing,
        save_config: typed.save_config,
        output_patch: typed.output_patch,
        subresource: typed.subresource,
    };
    let mut edited = None;
    let written = block_on(async {
        let control = reach.connect().await?;
        let change = |text: &str| {
            let changed = in_editor(text)?;
            edited = Some(changed.clone());
            Ok(changed)
        };
        cli::edit(&control, &query, change).await
    })?;
    match (written, edited) {
        (Ok(text), _) => print(&text),
        (Err(failure), Some(text)) => Err(with_copy(failure, &text)),
        (Err(failure), None) => Err(failure),
    }
}

/// Keeps what was typed and could not be written, and says where.
fn with_copy(failure: Failure, text: &str) -> Failure {
    if text.is_empty() {
        return failure;
    }
    match private_file("karavel-edited", text) {
        Ok(path) => {
            let kept = format!("your text is in {}", path.display());
            let hint = match failure.hint() {
                "" => kept,
                hint => format!("{hint}\n{kept}"),
            };
            failure.advised(hint)
        }
        Err(_) => failure,
    }
}

/// A new file that only its owner can read: what is edited may be a secret.
fn private_file(name: &str, text: &str) -> std::io::Result<std::path::PathBuf> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.as_nanos());
    let name = format!("{name}-{}-{nanos}.yaml", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Lets the user's editor change a text.
fn in_editor(text: &str) -> Result<String, Failure> {
    let failed = |what: String| Failure::failed(what, "name your editor in KUBE_EDITOR or EDITOR");
    let editor = ["KUBE_EDITOR", "EDITOR"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|editor| !editor.trim().is_empty())
        .unwrap_or_else(|| "vi".to_owned());
    let path = private_file("karavel-edit", text).map_err(|error| {
        let directory = std::env::temp_dir();
        Failure::failed(
            format!("cannot write a file to edit: {error}"),
            format!(
                "make {} writable, or name another directory in TMPDIR",
                directory.display()
            ),
        )
    })?;
    // Through a shell, as kubectl does: editors are named along with their flags.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg(&editor)
        .arg(&path)
        .status();
    let changed = std::fs::read_to_string(&path);
    let _ = std::fs::remove_file(&path);
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            let what = format!("the editor {editor:?} ended with {status}");
            return Err(match status.code() {
                // So a shell says that there is no such program, or that it is none.
                Some(126 | 127) => failed(what),
                _ => Failure::failed(what, "nothing was changed; edit again"),
            });
        }
        Err(error) => {
            return Err(failed(format!(
                "the editor {editor:?} cannot be started: {error}"
            )));
        }
    }
    changed.map_err(|error| failed(format!("cannot read {}: {error}", path.display())))
}

/// Changes part of an object.
pub(crate) fn patch(reach: &Reach, typed: Patch) -> Result<(), Failure> {
    let patch = match (typed.patch, &typed.patch_file) {
        (Some(patch), _) => patch,
        (None, Some(path)) => text_of(path)?,
        (None, None) => {
            return Err(Failure::refused(
                "must specify --patch or --patch-file containing the contents of the patch",
                "for example: -p '{\"spec\":{\"replicas\":3}}'",
            ));
        }
    };
    let mut writing: cli::Writing = typed.writing.try_into()?;
    let kind = match typed.kind {
        PatchType::Json => PatchKind::Json,
        PatchType::Merge => PatchKind::Merge,
        PatchType::Strategic => PatchKind::Strategic,
    };
    if typed.local {
        for (number, manifest) in read(&typed.files)?.iter().enumerate() {
            let text = cli::patch_here(manifest, &patch, kind, &writing)?;
            print(&format!("{}{text}", writing.separator(number)))?;
        }
        return Ok(());
    }
    let (words, namespace) = named(typed.words, &typed.files, writing.namespace.as_deref())?;
    writing.namespace = namespace;
    let query = cli::PatchQuery {
        words,
        patch,
        kind,
        subresource: typed.subresource,
        writing,
    };
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::patch(&control, &query).await
    })??)
}

/// Sets labels or annotations.
pub(crate) fn mark(reach: &Reach, typed: Mark, marks: Marks) -> Result<(), Failure> {
    let manifests = match (typed.files.is_empty(), typed.local) {
        (true, _) => Vec::new(),
        (false, true) => read(&typed.files)?,
        (false, false) => read_named(&typed.files)?,
    };
    let query = cli::MarkQuery {
        marks,
        words: typed.words,
        manifests,
        selector: typed.selector,
        field_selector: typed.field_selector,
        resource_version: typed.resource_version,
        all: typed.all,
        all_namespaces: typed.all_namespaces,
        overwrite: typed.overwrite,
        list: typed.list,
        writing: typed.writing.try_into()?,
    };
    if typed.local {
        return answer(cli::mark_here(&query, &mut print)?);
    }
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::mark(&control, &query, &mut print).await
    })??)
}

/// Takes an object of a member over.
pub(crate) fn promote(reach: &Reach, typed: Promote) -> Result<(), Failure> {
    let context = typed
        .cluster_context
        .unwrap_or_else(|| typed.cluster.clone());
    let member = typed.cluster_kubeconfig.map(|path| Reach {
        kubeconfig: Some(path),
        context: Some(context),
    });
    let query = cli::PromoteQuery {
        words: typed.words,
        namespace: typed.namespace,
        cluster: typed.cluster,
        dependencies: typed.dependencies,
        with_policy: typed.auto_create_policy,
        policy_name: typed.policy_name,
        output: typed.output,
        dry_run: typed.dry_run.into(),
    };
    block_on(async {
        let control = reach.connect().await?;
        let member = match member {
            Some(reach) => Some(reach.connect_member().await?),
            None => None,
        };
        cli::promote(&control, member.as_ref(), &query, &mut print).await
    })?
}

/// Says what would happen.
pub(crate) fn simulate(reach: &Reach, typed: Simulate) -> Result<(), Failure> {
    let manifests = match typed.files.is_empty() {
        true => Vec::new(),
        false => read(&typed.files)?,
    };
    let supposed = cli::Supposition {
        manifests,
        lost: typed.lose,
        namespace: typed.namespace,
        manager: typed.field_manager,
        json: typed.output == Telling::Json,
        all: typed.all,
        only_reads: !typed.dry_run_members,
        presumed: typed.presumed.into(),
        tell: terminal::progress(),
    };
    answer(block_on(async {
        let control = reach.connect().await?;
        cli::simulate(&control, &supposed, now()).await
    })??)
}

/// Tries customizations.
pub(crate) fn try_rules(typed: Interpret) -> Result<(), Failure> {
    if typed.edit {
        return Err(Failure::refused(
            "scripts are not changed here",
            "change the file, or use `karavel edit resourceinterpretercustomization NAME`; then --check it",
        ));
    }
    let one = |path: &Option<std::path::PathBuf>| {
        let read = path.as_deref().map(Manifest::read_one);
        read.transpose()
    };
    let customizations = match typed.files.is_empty() {
        true => Vec::new(),
        false => read(&typed.files)?,
    };
    if typed.check {
        if customizations.is_empty() {
            return Err(Failure::refused(
                "nothing is to be checked",
                "name a file with -f",
            ));
        }
        return interpret::check(&customizations, &mut print);
    }
    let statuses = match &typed.status_file {
        None => Vec::new(),
        Some(path) => statuses(path)?,
    };
    let trial = Trial {
        customizations,
        operation: typed.operation,
        desired: one(&typed.desired_file)?,
        observed: one(&typed.observed_file)?,
        statuses,
        replicas: typed.desired_replica,
    };
    match typed.trace {
        true => interpret::trace(&trial, &mut print),
        false => interpret::run(&trial, &mut print),
    }
}

fn statuses(path: &Path) -> Result<Vec<Value>, Failure> {
    cli::read_values(&path.display().to_string(), &text_of(path)?)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    cli::read_text(path).map_err(|why| why.of("", &path.display().to_string()))
}
