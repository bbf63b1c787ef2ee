//! Commands that write to the control plane, and those that only suppose it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::reading::Format;

/// What all writes share.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Say what would be done and do nothing: client sends nothing that writes, server has everything checked.
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = DryRun::None,
        default_missing_value = "client"
    )]
    pub(crate) dry_run: DryRun,
    /// Print the object afterwards: json, yaml, kyaml, name, jsonpath=..., custom-columns=..., go-template=...
    #[arg(short, long, value_name = "FORMAT", value_parser = written)]
    pub(crate) output: Option<Format>,
    /// Who owns the fields that are written; the program itself if absent.
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) field_manager: Option<String>,
    /// The template for -o go-template and -o jsonpath, where it is not given along with them.
    #[arg(long, value_name = "TEMPLATE", hide = true)]
    pub(crate) template: Option<String>,
    /// Show who wrote which field, where objects are printed.
    #[arg(long, hide = true)]
    pub(crate) show_managed_fields: bool,
    /// Has no effect: what a template does not find is nothing.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_missing_template_keys: Option<bool>,
    /// Has no effect.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) record: Option<bool>,
    /// Has no effect: lines end as they do here.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) windows_line_endings: Option<bool>,
}

fn written(text: &str) -> Result<Format, String> {
    match cli::Output::needs_template(text) {
        true => Ok(Format::Word(text.to_owned())),
        false => cli::Output::parse_written(text).map(Format::Whole),
    }
}

/// How far a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// It is done.
    #[value(alias = "false")]
    None,
    /// Nothing is sent that writes.
    #[value(alias = "true")]
    Client,
    /// The server checks everything and keeps nothing.
    Server,
}

/// Flags of kubectl that change nothing here, for scripts that have them.
#[derive(Args, Debug)]
pub(crate) struct Tolerated {
    /// Has no effect: the server always checks.
    #[arg(long, hide = true, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) validate: Option<String>,
    /// Has no effect: what others wrote is taken over.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) overwrite: Option<bool>,
    /// Note what was written as kubectl does, for its next `apply`; `apply` itself leaves records to the server.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) save_config: Option<bool>,
}

/// Which files.
#[derive(Args, Debug, Default)]
pub(crate) struct Files {
    /// A file or directory with objects in YAML or JSON; - for standard input. Several with commas, or the flag again.
    #[arg(short, long = "filename", value_name = "FILE", value_delimiter = ',')]
    pub(crate) files: Vec<PathBuf>,
    /// Look into directories below too.
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// A directory for kustomize, which kubectl builds.
    #[arg(
        short = 'k',
        long,
        value_name = "DIR",
        conflicts_with_all = ["files", "recursive"]
    )]
    pub(crate) kustomize: Option<PathBuf>,
}

impl Files {
    /// Whether no file is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.kustomize.is_none()
    }
}

/// Apply objects.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Apply {
    #[command(subcommand)]
    pub(crate) command: Option<ApplyCommand>,
    #[command(flatten)]
    pub(crate) files: Files,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Send each object to these clusters by a policy of its own, with commas in between.
    #[arg(
        short = 'C',
        long = "cluster",
        visible_alias = "clusters",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = super::places::cluster
    )]
    pub(crate) clusters: Vec<String>,
    /// Send each object to every cluster by a policy of its own.
    #[arg(long)]
    pub(crate) all_clusters: bool,
    /// Only objects of the files with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    /// Apply a part of the objects, such as status; with --server-side.
    #[arg(long, value_name = "NAME", requires = "server_side")]
    pub(crate) subresource: Option<String>,
    /// Refuse to change fields that others own, as kubectl does with it. Objects are applied by the server without it too.
    #[arg(long)]
    pub(crate) server_side: bool,
    /// Delete what cannot be changed and create it anew, which is left to whoever wants that.
    #[arg(long, hide = true)]
    pub(crate) force: bool,
    /// Has no effect: all objects of the files are applied.
    #[arg(long, hide = true)]
    pub(crate) all: bool,
    /// Has no effect: goes with --force and --prune.
    #[arg(
        long,
        hide = true,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    pub(crate) grace_period: Option<i64>,
    /// Has no effect: goes with --force and --prune.
    #[arg(long, hide = true, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "background")]
    pub(crate) cascade: Option<Cascade>,
    /// Has no effect: the server knows its kinds.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) openapi_patch: Option<bool>,
    /// With --server-side: take over fields that others own.
    #[arg(long, conflicts_with = "respect_owners")]
    pub(crate) force_conflicts: bool,
    /// Refuse to change fields that others own.
    #[arg(long)]
    pub(crate) respect_owners: bool,
    /// Delete what is not in the files, which is left to kubectl.
    #[arg(long, hide = true)]
    pub(crate) prune: bool,
    /// Goes with --prune.
    #[arg(long, hide = true, value_name = "KINDS")]
    pub(crate) prune_allowlist: Vec<String>,
    /// Goes with --prune.
    #[arg(long, hide = true, value_name = "NAME")]
    pub(crate) applyset: Option<String>,
    /// Has no effect: nothing is deleted that could be waited for.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) wait: Option<bool>,
    /// Has no effect: goes with --wait.
    #[arg(long, hide = true, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    #[command(flatten)]
    pub(crate) tolerated: Tolerated,
}

/// What else can be asked about applying.
#[derive(Debug, Subcommand)]
pub(crate) enum ApplyCommand {
    /// Show what objects were last applied with: the fields that karavel applied, or what kubectl noted.
    ///
    /// Example: karavel apply view-last-applied deployment/web
    ViewLastApplied(LastApplied),
}

/// Show what objects were last applied with.
#[derive(Args, Debug)]
pub(crate) struct LastApplied {
    /// A type and names, or TYPE/NAME for each; absent with files.
    #[arg(
        value_name = "TYPE NAME... | TYPE/NAME",
        required_unless_present_any = ["files", "kustomize"]
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: Files,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// How to write it.
    #[arg(short, long, value_enum, default_value_t = Document::Yaml)]
    pub(crate) output: Document,
}

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// For people.
    Yaml,
    /// For programs.
    Json,
}

/// Create objects.
#[derive(Args, Debug)]
pub(crate) struct Create {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Instead of files: a type and a name, such as deployment web. Known types: namespace, deployment, job, cronjob,
    /// configmap, secret generic (tls, docker-registry), serviceaccount, service clusterip (nodeport, loadbalancer,
    /// externalname), ingress, poddisruptionbudget, role, clusterrole, rolebinding, clusterrolebinding, quota,
    /// priorityclass; token for a token of a service account.
    #[arg(value_name = "TYPE NAME")]
    pub(crate) words: Vec<String>,
    /// Only objects of the files with these labels.
    #[arg(
        short = 'l',
        value_name = "SELECTOR",
        default_value = "",
        id = "labels"
    )]
    pub(crate) labels: String,
    /// Change the objects of the files in an editor first.
    #[arg(long, conflicts_with_all = ["words", "raw"])]
    pub(crate) edit: bool,
    /// Send the file to this path of the control plane as it is, and print what it answers with.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["words", "kustomize", "recursive", "labels", "output", "dry_run"])]
    pub(crate) raw: Option<String>,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) making: super::Making,
    #[command(flatten)]
    pub(crate) tolerated: Tolerated,
}

/// Delete objects.
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// A type and names, or TYPE/NAME for each; absent with files.
    #[arg(value_name = "TYPE [NAME...] | TYPE/NAME")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: Files,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Those with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    /// Those with these fields, such as status.phase=Failed.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(crate) field_selector: String,
    /// All of the type in the namespace.
    #[arg(long)]
    pub(crate) all: bool,
    /// In all namespaces; with --all or a selector.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Delete what this path of the control plane has, with what the file says if one is given, and print what it answers
    /// with.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["words", "kustomize", "recursive", "selector", "field_selector", "all", "output", "interactive", "dry_run"])]
    pub(crate) raw: Option<String>,
    /// Say what would go, and ask first.
    #[arg(short, long)]
    pub(crate) interactive: bool,
    /// What becomes of what it owns.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_value_t = Cascade::Background, default_missing_value = "background")]
    pub(crate) cascade: Cascade,
    /// How many seconds it may take to end.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = -1)]
    pub(crate) grace_period: i64,
    /// At once: a grace period of one second.
    #[arg(long)]
    pub(crate) now: bool,
    /// Without grace.
    #[arg(long)]
    pub(crate) force: bool,
    /// Return when it is gone.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) wait: bool,
    /// Give up waiting after this, such as 30s.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// What is not there is no mistake.
    #[arg(long)]
    pub(crate) ignore_not_found: bool,
}

/// What becomes of what an object owns.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Cascade {
    /// It goes afterwards.
    Background,
    /// It goes first.
    Foreground,
    /// It stays.
    Orphan,
}

/// Edit an object.
#[derive(Args, Debug)]
pub(crate) struct Edit {
    /// A type and a name, or TYPE/NAME; absent with files.
    #[arg(
        required_unless_present_any = ["files", "kustomize"],
        num_args = 1..=2,
        value_name = "TYPE/NAME"
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: Files,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Note what was written as kubectl does, for its next `apply`.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false, action = clap::ArgAction::Set)]
    pub(crate) save_config: bool,
    /// Show the change that is sent.
    #[arg(long)]
    pub(crate) output_patch: bool,
    /// The part of the object, such as status.
    #[arg(long, value_name = "NAME")]
    pub(crate) subresource: Option<String>,
    /// Has no effect: the server always checks.
    #[arg(long, hide = true, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) validate: Option<String>,
}

/// Change part of an object.
#[derive(Args, Debug)]
pub(crate) struct Patch {
    /// A type and a name, or TYPE/NAME; absent with files.
    #[arg(
        required_unless_present_any = ["files", "kustomize"],
        num_args = 1..=2,
        value_name = "TYPE/NAME"
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: Files,
    /// The change, in JSON or YAML.
    #[arg(short, long, value_name = "PATCH")]
    pub(crate) patch: Option<String>,
    /// A file with the change.
    #[arg(long, value_name = "FILE", conflicts_with = "patch")]
    pub(crate) patch_file: Option<PathBuf>,
    /// What the change is written in.
    #[arg(long = "type", value_enum, default_value_t = PatchType::Strategic)]
    pub(crate) kind: PatchType,
    /// The part of the object, such as status or scale.
    #[arg(long, value_name = "NAME")]
    pub(crate) subresource: Option<String>,
    /// Change the object of the file and print it with -o; the control plane is not asked.
    #[arg(long, conflicts_with_all = ["words", "subresource"])]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// What a change is written in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PatchType {
    /// A list of operations.
    Json,
    /// The fields to change.
    Merge,
    /// The fields to change, lists by rules of built-in kinds.
    Strategic,
}

/// Set labels or annotations.
#[derive(Args, Debug)]
pub(crate) struct Mark {
    /// A type and names or TYPE/NAME for each, then KEY=VALUE to set and KEY- to remove.
    #[arg(
        required_unless_present_any = ["files", "kustomize"],
        allow_hyphen_values = false,
        value_name = "TYPE NAME... KEY=VALUE | KEY-"
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: Files,
    /// Those with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    /// All of the type in the namespace.
    #[arg(long)]
    pub(crate) all: bool,
    /// In all namespaces; with --all or a selector.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Change the objects of files and print them with -o; the control plane is not asked.
    #[arg(long)]
    pub(crate) local: bool,
    /// Those with these fields, such as metadata.name=web.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(crate) field_selector: String,
    /// Only if the object has this revision; for one object.
    #[arg(long, value_name = "REVISION")]
    pub(crate) resource_version: Option<String>,
    /// Change what is there already.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print what is there afterwards.
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// Take an object of a member over.
#[derive(Args, Debug)]
pub(crate) struct Promote {
    /// A type and a name, or TYPE/NAME.
    #[arg(required = true, num_args = 1..=2, value_name = "TYPE/NAME")]
    pub(crate) words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// The member that has it.
    #[arg(short = 'C', long, value_name = "NAME", value_parser = super::places::cluster)]
    pub(crate) cluster: String,
    /// What it refers to comes along.
    #[arg(short, long)]
    pub(crate) dependencies: bool,
    /// Create a policy that sends it where it is.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) auto_create_policy: bool,
    /// What the policy is to be called; a computed name if absent.
    #[arg(long, value_name = "NAME")]
    pub(crate) policy_name: Option<String>,
    /// Print what would be created, and create nothing: json, yaml, kyaml, name, jsonpath=..., custom-columns=..., go-template=...
    #[arg(short, long, value_name = "FORMAT", value_parser = cli::Output::parse_written)]
    pub(crate) output: Option<cli::Output>,
    /// Have everything checked and create nothing.
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = DryRun::None,
        default_missing_value = "client"
    )]
    pub(crate) dry_run: DryRun,
    /// The member's kubeconfig; the way through the control plane if absent.
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_kubeconfig: Option<PathBuf>,
    /// The context of the member's kubeconfig; the cluster's name if absent.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) cluster_context: Option<String>,
}

/// Say what would happen.
#[derive(Args, Debug)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) files: Files,
    /// A cluster that is supposed to be lost; may be given several times.
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',', value_parser = super::places::cluster)]
    pub(crate) lose: Vec<String>,
    /// The namespace of objects that name none; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Who is supposed to apply the files, as --field-manager of `karavel apply`.
    #[arg(long, value_name = "NAME")]
    pub(crate) field_manager: Option<String>,
    /// Show what does not change too.
    #[arg(long)]
    pub(crate) all: bool,
    /// Ask members by a dry run whether they would take what they would get. Their servers and webhooks are relied on to
    /// keep nothing of it; with false, members are only read.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) dry_run_members: bool,
    /// How to write it.
    #[arg(short, long, value_enum, default_value_t = super::reading::Telling::Text)]
    pub(crate) output: super::reading::Telling,
    #[command(flatten)]
    pub(crate) presumed: super::reading::Presumed,
}

/// Try customizations.
#[derive(Args, Debug)]
pub(crate) struct Interpret {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Check the scripts.
    #[arg(long)]
    pub(crate) check: bool,
    /// Run this rule: Retain, InterpretReplica, InterpretComponent, ReviseReplica, InterpretStatus, AggregateStatus,
    /// InterpretHealth or InterpretDependency.
    #[arg(long, value_name = "OPERATION", value_parser = cli::interpret::operation)]
    pub(crate) operation: Option<cli::interpret::Operation>,
    /// The object as it is wanted.
    #[arg(long, value_name = "FILE")]
    pub(crate) desired_file: Option<PathBuf>,
    /// The object as a member has it.
    #[arg(long, value_name = "FILE")]
    pub(crate) observed_file: Option<PathBuf>,
    /// What members reported: items with clusterName and status.
    #[arg(long, value_name = "FILE")]
    pub(crate) status_file: Option<PathBuf>,
    /// So many replicas, for ReviseReplica.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) desired_replica: i32,
    /// Say who answers every question about the object, and who would otherwise.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Change scripts in an editor, which `karavel edit` is for.
    #[arg(long, hide = true)]
    pub(crate) edit: bool,
    /// Has no effect: goes with --edit.
    #[arg(long, hide = true)]
    pub(crate) show_doc: bool,
}

impl TryFrom<Writing> for cli::Writing {
    type Error = cli::Failure;

    fn try_from(typed: Writing) -> Result<Self, cli::Failure> {
        let output = match (typed.output, &typed.template) {
            (None, None) => Ok(None),
            (None, Some(template)) => cli::Output::with_template("go-template", template).map(Some),
            (Some(format), template) => format.with(template.as_deref()).map(Some),
        };
        let output =
            output.map_err(|why| cli::Failure::refused(why, "correct --output and --template"))?;
        Ok(Self {
            namespace: typed.namespace,
            dry_run: typed.dry_run.into(),
            output,
            manager: typed.field_manager,
            managed_fields: typed.show_managed_fields,
        })
    }
}

impl From<DryRun> for cli::DryRun {
    fn from(typed: DryRun) -> Self {
        match typed {
            DryRun::None => Self::No,
            DryRun::Client => Self::Client,
            DryRun::Server => Self::Server,
        }
    }
}
