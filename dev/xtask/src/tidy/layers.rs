//! Which crate may use which: the drawing in ARCHITECTURE.md, held against `cargo metadata`.
//!
//! ```text
//! bin ──> parts ──> logic ──> model
//!             └───> infra ──> model        logic and infra never meet; parts never use parts
//! ```
//!
//! docs/adr/0001-workspace-layers.md gives the reasons; an arrow not drawn here needs an ADR of its own.

use super::repository::short_name;
use super::{Crate, Dependency, DependencyKind, Repository, Violation};

/// A layer's name, the folder that holds its crates, and the other layers they may use.
struct Layer {
    name: &'static str,
    folder: &'static str,
    uses: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer {
        name: "model",
        folder: "crates/model",
        uses: &[],
    },
    Layer {
        name: "logic",
        folder: "crates/logic",
        uses: &["model"],
    },
    Layer {
        name: "infra",
        folder: "crates/infra",
        uses: &["model"],
    },
    Layer {
        name: "parts",
        folder: "crates/parts",
        uses: &["logic", "infra", "model"],
    },
    Layer {
        name: "bin",
        folder: "crates",
        uses: &["parts", "infra", "model"],
    },
    Layer {
        name: "dev",
        folder: "dev",
        uses: &["bin", "parts", "logic", "infra", "model"],
    },
];

/// The arrows inside a layer: the layer, who uses, who is used. `*` is any crate of the layer.
const ARROWS: &[(&str, &str, &str)] = &[
    ("model", "api", "object"),
    ("model", "intent", "object"),
    ("model", "protocol", "api"),
    ("model", "protocol", "object"),
    ("model", "schema", "object"),
    ("model", "builtin", "object"),
    ("model", "builtin", "schema"),
    ("model", "cel", "object"),
    ("model", "cel", "schema"),
    ("logic", "schedule", "estimate"),
    ("infra", "serve", "store"),
    ("infra", "kinds", "serve"),
    ("infra", "kinds", "store"),
    ("infra", "access", "serve"),
    ("infra", "access", "listen"),
    ("infra", "admission", "serve"),
    ("infra", "control", "client"),
    ("infra", "control", "runtime"),
    ("infra", "client", "runtime"),
    ("infra", "*", "telemetry"),
];

/// Crates that may use less than their layer: the crate's folder and the layers left to it.
const NARROWER: &[(&str, &[&str])] = &[("dev/testkit", &["model"])];

/// Every manifest names its layer, and the crate lies in that layer's folder.
pub(super) fn check_layers(repository: &Repository) -> Vec<Violation> {
    repository
        .crates
        .iter()
        .filter_map(|member| layer_problem(repository, member))
        .collect()
}

/// Every dependency between members follows the drawing.
pub(super) fn check_arrows(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in &repository.crates {
        // A crate in no known layer is told so by `check_layers`; its arrows cannot be judged.
        let Some(from) = layer_of(&member.folder) else {
            continue;
        };
        for dependency in &member.dependencies {
            let Some(to) = layer_of(&dependency.folder) else {
                continue;
            };
            // A crate may use itself in its tests, with a feature turned on.
            if dependency.folder == member.folder {
                continue;
            }
            let Some((wrong, instead)) = arrow_problem(member, from, dependency, to) else {
                continue;
            };
            let manifest = member.manifest();
            let line = dependency_line(repository.text(&manifest).unwrap_or_default(), dependency);
            violations.push(Violation::new(&manifest, line, wrong, instead));
        }
    }
    violations
}

fn layer_problem(repository: &Repository, member: &Crate) -> Option<Violation> {
    let manifest = member.manifest();
    let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name).collect();
    let Some(written) = member.layer.as_deref() else {
        return Some(Violation::new(
            &manifest,
            1,
            "the manifest names no layer",
            format!(
                "add `[package.metadata.karavel]` with `layer = \"…\"`, one of {}",
                names.join(", ")
            ),
        ));
    };
    let text = repository.text(&manifest).unwrap_or_default();
    let line = line_starting(text, "layer").unwrap_or(1);
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == written) else {
        return Some(Violation::new(
            &manifest,
            line,
            format!("there is no layer `{written}`"),
            format!("choose one of {}", names.join(", ")),
        ));
    };
    if layer_of(&member.folder).is_some_and(|found| found.name == layer.name) {
        return None;
    }
    Some(Violation::new(
        &manifest,
        line,
        format!(
            "the crate says layer `{written}` but lies in `{}`",
            member.folder
        ),
        format!("move it to `{}` or correct the layer", home(layer)),
    ))
}

fn home(layer: &Layer) -> String {
    match layer.name {
        "bin" => String::from("crates/bin"),
        _ => format!("{}/{{name}}", layer.folder),
    }
}

/// The layer that a crate's folder puts it into.
fn layer_of(folder: &str) -> Option<&'static Layer> {
    let (parent, name) = folder.rsplit_once('/')?;
    LAYERS
        .iter()
        .find(|layer| layer.folder == parent && (layer.name != "bin" || name == "bin"))
}

/// What is wrong with an arrow, and what to do instead; `None` when it is allowed.
fn arrow_problem(
    member: &Crate,
    from: &Layer,
    dependency: &Dependency,
    to: &Layer,
) -> Option<(String, String)> {
    let user = member.name();
    let used = short_name(&dependency.folder);
    if to.name == "dev" {
        if dependency.kind == DependencyKind::Dev {
            return None;
        }
        return Some((
            format!("`{user}` ships with `{used}`, a crate for development"),
            format!("move it to `[dev-dependencies]`, which is all that may use `{used}`"),
        ));
    }
    if from.name == to.name {
        let drawn = ARROWS
            .iter()
            .any(|(layer, a, b)| *layer == from.name && (*a == "*" || *a == user) && *b == used);
        if drawn {
            return None;
        }
        let wrong = format!("`{user}` uses `{used}` of its own layer `{}`", from.name);
        let instead = match from.name {
            "parts" => {
                "parts meet only through the API: move what they share into `logic`, `infra` or `model`"
            }
            _ => {
                "move what they share into a layer below, or draw the arrow in an ADR and in tidy's table"
            }
        };
        return Some((wrong, instead.to_owned()));
    }
    let uses = NARROWER
        .iter()
        .find(|(folder, _)| *folder == member.folder)
        .map_or(from.uses, |(_, uses)| uses);
    if uses.contains(&to.name) {
        return None;
    }
    let wrong = format!(
        "`{user}` of layer `{}` uses `{used}` of layer `{}`",
        from.name, to.name
    );
    let instead = match (from.name, to.name) {
        ("logic", "infra") | ("infra", "logic") => String::from(
            "logic and infra never meet: let a crate of `parts` call both and hand the result over as a value",
        ),
        _ if uses.is_empty() => format!(
            "`{}` stands on nothing: move the code up or the value down",
            from.name
        ),
        _ => format!(
            "depend only on {}: move the code up or the value down",
            uses.join(", ")
        ),
    };
    Some((wrong, instead))
}

/// The line of the manifest where a dependency is declared.
fn dependency_line(manifest: &str, dependency: &Dependency) -> usize {
    let section = dependency.kind.section();
    let key = dependency.key.as_str();
    let mut inside = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            // Also `[target.….dependencies]`, and a dependency as a table of its own.
            inside = header.rsplit('.').next() == Some(section);
            if header.ends_with(&format!("{section}.{key}")) {
                return index + 1;
            }
        } else if inside && starts_with_key(line, key) {
            return index + 1;
        }
    }
    1
}

fn line_starting(text: &str, key: &str) -> Option<usize> {
    text.lines()
        .position(|line| starts_with_key(line, key))
        .map(|index| index + 1)
}

fn starts_with_key(line: &str, key: &str) -> bool {
    line.strip_prefix(key)
        .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    /// Plants one arrow between two folders and returns what the check says to it.
    fn arrow(from: &str, to: &str, kind: DependencyKind) -> String {
        let layer = layer_of(from).map(|layer| layer.name);
        let repository = Repository::default()
            .with_crate(from, layer)
            .using(to, kind);
        report(check_arrows, &repository)
    }

    #[test]
    fn the_drawn_arrows_are_allowed() {
        let allowed = [
            ("crates/logic/policy", "crates/model/api"),
            ("crates/infra/store", "crates/model/object"),
            ("crates/parts/scheduler", "crates/logic/schedule"),
            ("crates/parts/scheduler", "crates/infra/control"),
            ("crates/parts/scheduler", "crates/model/intent"),
            ("crates/bin", "crates/parts/apiserver"),
            ("crates/bin", "crates/infra/telemetry"),
            ("dev/world", "crates/bin"),
            ("dev/testkit", "crates/model/api"),
            ("crates/model/api", "crates/model/object"),
            ("crates/model/builtin", "crates/model/schema"),
            ("crates/logic/schedule", "crates/logic/estimate"),
            ("crates/infra/serve", "crates/infra/store"),
            ("crates/infra/control", "crates/infra/runtime"),
            ("crates/infra/store", "crates/infra/telemetry"),
            ("crates/infra/store", "crates/infra/store"),
        ];
        for (from, to) in allowed {
            for kind in [
                DependencyKind::Normal,
                DependencyKind::Dev,
                DependencyKind::Build,
            ] {
                assert_eq!(arrow(from, to, kind), "", "{from} -> {to}");
            }
        }
    }

    #[test]
    fn any_other_arrow_is_refused_even_for_tests() {
        let refused = [
            ("crates/model/object", "crates/model/api"),
            ("crates/model/object", "crates/infra/store"),
            ("crates/logic/estimate", "crates/logic/schedule"),
            ("crates/logic/policy", "crates/infra/store"),
            ("crates/infra/store", "crates/logic/policy"),
            ("crates/infra/store", "crates/infra/serve"),
            ("crates/infra/telemetry", "crates/infra/runtime"),
            ("crates/infra/serve", "crates/parts/apiserver"),
            ("crates/parts/scheduler", "crates/parts/apiserver"),
            ("crates/parts/cli", "crates/bin"),
            ("crates/bin", "crates/logic/policy"),
            ("dev/testkit", "crates/infra/store"),
        ];
        for (from, to) in refused {
            for kind in [DependencyKind::Normal, DependencyKind::Dev] {
                assert_ne!(arrow(from, to, kind), "", "{from} -> {to}");
            }
        }
    }

    #[test]
    fn a_development_crate_is_only_ever_a_dev_dependency() {
        assert_eq!(
            arrow("crates/model/object", "dev/testkit", DependencyKind::Dev),
            ""
        );
        assert_eq!(
            arrow("crates/model/object", "dev/testkit", DependencyKind::Normal),
            "crates/model/object/Cargo.toml:1: `object` ships with `testkit`, a crate for development; \
             move it to `[dev-dependencies]`, which is all that may use `testkit`"
        );
        assert_ne!(arrow("dev/world", "dev/testkit", DependencyKind::Build), "");
    }

    #[test]
    fn a_refusal_names_the_line_the_layers_and_the_way_out() {
        let manifest = "[package]\nname = \"karavel-policy\"\n\n[dev-dependencies]\nstore = \"1\"\n\n\
                        [dependencies]\nstore-like = \"1\"\nstore.workspace = true\n";
        let repository = Repository::default()
            .with_file("crates/logic/policy/Cargo.toml", manifest)
            .with_crate("crates/logic/policy", Some("logic"))
            .using("crates/infra/store", DependencyKind::Normal);
        assert_eq!(
            report(check_arrows, &repository),
            "crates/logic/policy/Cargo.toml:9: `policy` of layer `logic` uses `store` of layer `infra`; \
             logic and infra never meet: let a crate of `parts` call both and hand the result over as a value"
        );
    }

    #[test]
    fn dependencies_are_found_in_every_form_of_section() {
        let line = |manifest: &str| {
            let dependency = Dependency {
                key: String::from("store"),
                folder: String::from("crates/infra/store"),
                kind: DependencyKind::Normal,
            };
            dependency_line(manifest, &dependency)
        };
        assert_eq!(line("[dependencies]\nstore = { path = \"x\" }\n"), 2);
        assert_eq!(line("[package]\n[dependencies.store]\npath = \"x\"\n"), 2);
        assert_eq!(
            line("[target.'cfg(unix)'.dependencies]\n\nstore.workspace = true\n"),
            3
        );
        assert_eq!(line("[dev-dependencies]\nstore = \"1\"\n"), 1);
    }

    #[test]
    fn a_crate_lies_in_the_folder_of_the_layer_it_names() {
        let check = |folder: &str, layer: Option<&str>| {
            let manifest = "[package.metadata.karavel]\nlayer = \"…\"\n";
            let repository = Repository::default()
                .with_file(&format!("{folder}/Cargo.toml"), manifest)
                .with_crate(folder, layer);
            report(check_layers, &repository)
        };
        assert_eq!(check("crates/model/object", Some("model")), "");
        assert_eq!(check("crates/bin", Some("bin")), "");
        assert_eq!(check("dev/xtask", Some("dev")), "");
        assert_eq!(
            check("crates/model/object", None),
            "crates/model/object/Cargo.toml:1: the manifest names no layer; \
             add `[package.metadata.karavel]` with `layer = \"…\"`, one of model, logic, infra, parts, bin, dev"
        );
        assert_eq!(
            check("crates/model/object", Some("infra")),
            "crates/model/object/Cargo.toml:2: the crate says layer `infra` but lies in `crates/model/object`; \
             move it to `crates/infra/{name}` or correct the layer"
        );
        assert_eq!(
            check("crates/model/object", Some("core")),
            "crates/model/object/Cargo.toml:2: there is no layer `core`; \
             choose one of model, logic, infra, parts, bin, dev"
        );
        assert_ne!(check("crates/loose", Some("bin")), "");
    }
}
