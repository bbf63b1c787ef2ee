//! Commands that read objects.

use clap::{Args, Subcommand, ValueEnum};

use super::places::{Namespaces, OnePlace, Places};

/// Read objects.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// `TYPE[.VERSION][.GROUP]` and names, several types with commas in between, or TYPE/NAME for each; absent with files.
    #[arg(
        required_unless_present_any = ["files", "kustomize", "raw"],
        value_name = "TYPE [NAME...] | TYPE/NAME"
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: super::Files,
    #[command(flatten)]
    pub(crate) namespaces: Namespaces,
    /// Ask this path of the control plane, such as /readyz?verbose, and print what it answers with.
    // Whatever else would change what is asked, or how the answer looks, would have no effect.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = [
            "words", "files", "kustomize", "output", "template", "selector", "field_selector", "all_namespaces", "watch",
            "watch_only", "scope", "clusters", "subresource", "sort_by", "show_labels", "label_columns",
        ]
    )]
    pub(crate) raw: Option<String>,
    /// A part of the objects that are named, such as status or scale.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) subresource: String,
    /// Only objects with these labels, such as app=web,tier!=test.
    #[arg(
        short = 'l',
        long = "labels",
        visible_alias = "selector",
        value_name = "SELECTOR",
        default_value = ""
    )]
    pub(crate) selector: String,
    /// Only objects with these fields, such as metadata.name=web.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(crate) field_selector: String,
    #[command(flatten)]
    pub(crate) places: Places,
    /// How to write it: table, wide, json, yaml, kyaml, name, jsonpath=..., custom-columns=..., go-template=... In json and yaml,
    /// objects of members are marked by the annotation resource.karmada.io/cached-from-cluster.
    #[arg(short, long, value_name = "FORMAT", value_parser = format, default_value = "table")]
    pub(crate) output: Format,
    /// The template for -o go-template and -o jsonpath, where it is not given along with them.
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) template: Option<String>,
    /// Has no effect: what a template does not find is nothing.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_missing_template_keys: Option<bool>,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// A column with all labels.
    #[arg(long)]
    pub(crate) show_labels: bool,
    /// The kind before every name.
    #[arg(long)]
    pub(crate) show_kind: bool,
    /// A column for each of these labels.
    #[arg(short = 'L', long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) label_columns: Vec<String>,
    /// Show who wrote which field, in json and yaml.
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
    /// Sort by the value at this path, such as .metadata.creationTimestamp.
    #[arg(long, value_name = "PATH", default_value = "")]
    pub(crate) sort_by: String,
    /// A named object that is not there is no mistake.
    #[arg(long)]
    pub(crate) ignore_not_found: bool,
    /// Go on with what changes, in all places at once, until interrupted.
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Show what changes from now on, not what is there already.
    #[arg(long)]
    pub(crate) watch_only: bool,
    /// Say of each row whether the object is new, changed or gone; with --watch or --watch-only.
    #[arg(long)]
    pub(crate) output_watch_events: bool,
    /// Has no effect: long lists are always read in pages.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) chunk_size: Option<u32>,
    /// Has no effect: tables are made by servers where they can.
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) server_print: Option<bool>,
}

/// What stands after `-o`: whole, or a word for which `--template` has the rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Format {
    /// All of it.
    Whole(cli::Output),
    /// Only the word.
    Word(String),
}

fn format(text: &str) -> Result<Format, String> {
    match cli::Output::needs_template(text) {
        true => Ok(Format::Word(text.to_owned())),
        false => cli::Output::parse(text).map(Format::Whole),
    }
}

impl Get {
    /// How the answer is written.
    pub(crate) fn written(&self) -> Result<cli::Output, String> {
        self.output.with(self.template.as_deref())
    }
}

impl Format {
    /// The whole, with a template that was given apart from it.
    pub(crate) fn with(&self, template: Option<&str>) -> Result<cli::Output, String> {
        match (self, template) {
            (Self::Whole(cli::Output::Table), Some(template)) => {
                cli::Output::with_template("go-template", template)
            }
            (Self::Whole(output), _) => Ok(output.clone()),
            (Self::Word(word), Some(template)) => cli::Output::with_template(word, template),
            (Self::Word(word), None) => cli::Output::parse(word),
        }
    }
}

/// Describe objects.
#[derive(Args, Debug)]
pub(crate) struct Describe {
    /// `TYPE[.VERSION][.GROUP]` and beginnings of names, or TYPE/NAME for each; absent with files.
    #[arg(
        value_name = "TYPE [NAME...] | TYPE/NAME",
        required_unless_present_any = ["files", "kustomize"]
    )]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: super::Files,
    #[command(flatten)]
    pub(crate) namespaces: Namespaces,
    /// Only objects with these labels, such as app=web.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    #[command(flatten)]
    pub(crate) place: OnePlace,
    /// What happened lately too.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) show_events: bool,
    /// Has no effect: long lists are always read in pages.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) chunk_size: Option<u32>,
}

/// Show what happened lately.
#[derive(Args, Debug)]
pub(crate) struct Events {
    /// Only about this object: TYPE/NAME.
    #[arg(long = "for", value_name = "TYPE/NAME")]
    pub(crate) about: Option<String>,
    #[command(flatten)]
    pub(crate) namespaces: Namespaces,
    /// Only events of these types, with commas in between: Normal, Warning.
    #[arg(
        long,
        value_name = "TYPES",
        value_delimiter = ',',
        value_enum,
        ignore_case = true
    )]
    pub(crate) types: Vec<EventType>,
    /// Go on with what happens, in all places at once, until interrupted.
    #[arg(short, long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) places: Places,
    /// How to write it: table, json, yaml, kyaml, name, jsonpath=..., custom-columns=..., go-template=...
    #[arg(short, long, value_name = "FORMAT", value_parser = cli::Output::parse, default_value = "table")]
    pub(crate) output: cli::Output,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Has no effect: long lists are always read in pages.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) chunk_size: Option<u32>,
}

/// How serious an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventType {
    /// As it should be.
    #[value(name = "Normal")]
    Normal,
    /// Not as it should be.
    #[value(name = "Warning")]
    Warning,
}

/// Show the kinds there are.
#[derive(Args, Debug)]
pub(crate) struct ApiResources {
    /// Only kinds of this group.
    #[arg(long, value_name = "GROUP")]
    pub(crate) api_group: Option<String>,
    /// Only kinds that live in namespaces; with =false, only those that do not.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) namespaced: Option<bool>,
    /// Only kinds with all these verbs, with commas in between.
    #[arg(long, value_name = "VERBS", value_delimiter = ',')]
    pub(crate) verbs: Vec<String>,
    /// Only kinds of all these categories, with commas in between.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) categories: Vec<String>,
    /// What rows are sorted by; the group if absent.
    #[arg(long, value_enum)]
    pub(crate) sort_by: Option<ApiOrder>,
    /// How to write it: wide, name.
    #[arg(short, long, value_name = "FORMAT", value_parser = cli::Output::parse, default_value = "table")]
    pub(crate) output: cli::Output,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Has no effect: nothing is kept between two calls.
    #[arg(long, hide = true)]
    pub(crate) cached: bool,
    #[command(flatten)]
    pub(crate) place: OnePlace,
}

/// What kinds are sorted by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ApiOrder {
    /// The plural.
    Name,
    /// The kind.
    Kind,
}

/// Show the groups and versions of the API.
#[derive(Args, Debug)]
pub(crate) struct ApiVersions {
    #[command(flatten)]
    pub(crate) place: OnePlace,
}

/// Show what nodes and pods use.
#[derive(Debug, Subcommand)]
pub(crate) enum Top {
    /// Show what the members' nodes use, of how much.
    ///
    /// Example: karavel top nodes --clusters member1
    #[command(name = "node", visible_aliases = ["nodes", "no"])]
    Node(Usage),
    /// Show what the members' pods use.
    ///
    /// Example: karavel top pods -A --sort-by memory
    #[command(name = "pod", visible_aliases = ["pods", "po"])]
    Pod(Usage),
}

/// Whose use.
#[derive(Args, Debug)]
pub(crate) struct Usage {
    /// Only this one.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) namespaces: Namespaces,
    /// Only those with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    /// Only those with these fields.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(crate) field_selector: String,
    /// Which members, with commas in between; all if absent.
    #[arg(short = 'C', long, value_name = "NAMES", value_delimiter = ',', value_parser = super::places::cluster)]
    pub(crate) clusters: Vec<String>,
    /// The largest first.
    #[arg(long, value_enum)]
    pub(crate) sort_by: Option<SortBy>,
    /// A row for each container.
    #[arg(long)]
    pub(crate) containers: bool,
    /// A last row with the sum.
    #[arg(long)]
    pub(crate) sum: bool,
    /// Shares of all a node has, not of what pods may have.
    #[arg(long)]
    pub(crate) show_capacity: bool,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Has no effect: answers are small.
    #[arg(long, hide = true, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) use_protocol_buffers: bool,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SortBy {
    /// Processors.
    Cpu,
    /// Memory.
    Memory,
}

/// Explain where a template goes.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// `TYPE[.VERSION][.GROUP]/NAME`, or the two apart; without a name, `TYPE[.FIELD...]` shows what a kind's fields mean.
    #[arg(required = true, num_args = 1..=2, value_name = "TYPE/NAME | TYPE.FIELD")]
    pub(crate) words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Only what concerns this cluster; for fields, as this member describes them.
    #[arg(short = 'C', long, value_name = "NAME", value_parser = super::places::cluster)]
    pub(crate) cluster: Option<String>,
    /// How to write it.
    #[arg(short, long, value_enum, default_value_t = Telling::Text)]
    pub(crate) output: Telling,
    /// For fields: where to look.
    #[arg(short = 's', long = "operation-scope", value_enum)]
    pub(crate) scope: Option<super::places::Scope>,
    /// For fields: the names of all fields below too.
    #[arg(long)]
    pub(crate) recursive: bool,
    /// For fields: the group and version, such as apps/v1.
    #[arg(long, value_name = "VERSION")]
    pub(crate) api_version: Option<String>,
    #[command(flatten)]
    pub(crate) presumed: Presumed,
}

/// What the control plane is presumed to run with.
#[derive(Args, Debug)]
pub(crate) struct Presumed {
    /// Features that are on or off in the control plane, such as PropagationPolicyPreemption=true. As it says itself if
    /// absent; Karmada's own does not say.
    #[arg(long, value_name = "GATES")]
    pub(crate) feature_gates: Option<String>,
    /// The plugins of its scheduler: `*` for all, `*,-Name` for all but that one. As it says itself if absent.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) plugins: Vec<String>,
}

impl From<Presumed> for cli::Presumption {
    fn from(typed: Presumed) -> Self {
        Self {
            feature_gates: typed.feature_gates,
            plugins: typed.plugins,
        }
    }
}

/// How to write an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Telling {
    /// For people, in 80 columns.
    #[value(aliases = ["plaintext", "plaintext-openapiv2"])]
    Text,
    /// For programs.
    Json,
}

impl From<Telling> for cli::Telling {
    fn from(typed: Telling) -> Self {
        match typed {
            Telling::Text => Self::Text,
            Telling::Json => Self::Json,
        }
    }
}

impl From<Get> for cli::Query {
    fn from(typed: Get) -> Self {
        Self {
            words: typed.words,
            objects: Vec::new(),
            namespace: typed.namespaces.namespace,
            all_namespaces: typed.namespaces.all_namespaces,
            selector: typed.selector,
            field_selector: typed.field_selector,
            scope: typed.places.scope.into(),
            clusters: typed.places.clusters,
            output: cli::Output::default(),
            no_headers: typed.no_headers,
            no_adoption: false,
            show_labels: typed.show_labels,
            show_kind: typed.show_kind,
            label_columns: typed.label_columns,
            show_managed_fields: typed.show_managed_fields,
            sort_by: typed.sort_by,
            ignore_not_found: typed.ignore_not_found,
            subresource: typed.subresource,
        }
    }
}

impl From<Describe> for cli::DescribeQuery {
    fn from(typed: Describe) -> Self {
        Self {
            words: typed.words,
            namespace: typed.namespaces.namespace,
            all_namespaces: typed.namespaces.all_namespaces,
            selector: typed.selector,
            scope: typed.place.scope.map(Into::into),
            cluster: typed.place.cluster,
            show_events: typed.show_events,
        }
    }
}

impl From<Events> for cli::EventsQuery {
    fn from(typed: Events) -> Self {
        Self {
            about: typed.about,
            namespace: typed.namespaces.namespace,
            all_namespaces: typed.namespaces.all_namespaces,
            types: typed.types.iter().map(|kind| format!("{kind:?}")).collect(),
            scope: typed.places.scope.into(),
            clusters: typed.places.clusters,
            output: typed.output,
            no_headers: typed.no_headers,
        }
    }
}

impl From<ApiResources> for cli::ApisQuery {
    fn from(typed: ApiResources) -> Self {
        Self {
            scope: typed.place.scope.map(Into::into),
            cluster: typed.place.cluster,
            group: typed.api_group,
            namespaced: typed.namespaced,
            verbs: typed.verbs,
            categories: typed.categories,
            sort_by: typed.sort_by.map(|order| match order {
                ApiOrder::Name => cli::ApiOrder::Name,
                ApiOrder::Kind => cli::ApiOrder::Kind,
            }),
            output: typed.output,
            no_headers: typed.no_headers,
        }
    }
}

impl From<Usage> for cli::UsageQuery {
    fn from(typed: Usage) -> Self {
        Self {
            name: typed.name,
            namespace: typed.namespaces.namespace,
            all_namespaces: typed.namespaces.all_namespaces,
            selector: typed.selector,
            field_selector: typed.field_selector,
            clusters: typed.clusters,
            sort_by: typed.sort_by.map(|sort_by| match sort_by {
                SortBy::Cpu => cli::SortBy::Cpu,
                SortBy::Memory => cli::SortBy::Memory,
            }),
            containers: typed.containers,
            sum: typed.sum,
            capacity: typed.show_capacity,
            no_headers: typed.no_headers,
        }
    }
}
