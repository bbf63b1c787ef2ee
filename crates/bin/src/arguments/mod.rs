//! What can be typed.

mod bench;
mod care;
mod clusters;
mod files;
mod making;
mod places;
mod pods;
mod reading;
mod scheduling;
mod security;
mod server;
mod sim;
mod storage;
mod tokens;
mod writing;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use bench::{Bench, BenchCommand, BenchSize};
pub(crate) use care::{Care, Eviction, PurgeMode};
pub(crate) use clusters::{Clusters, Cordon, Join, Taint, Unjoin};
pub(crate) use files::{Backup, Crds, Restore};
pub(crate) use making::Making;
pub(crate) use pods::{Attach, Exec, Logs, PortForward, Terminal};
pub(crate) use reading::{ApiResources, ApiVersions, Describe, Events, Explain, Get, Telling, Top};
pub(crate) use scheduling::{Estimator, Estimators, Scheduling};
pub(crate) use security::{Audit, Oidc, Security};
pub(crate) use server::{LogFormat, Server, Up};
pub(crate) use sim::{Fault, Sim, SimCommand, Trouble};
pub(crate) use storage::{Storage, StoreKind};
pub(crate) use tokens::{CreateToken, Otherwise, Token};
pub(crate) use writing::{
    Apply, ApplyCommand, Cascade, Create, Delete, Document, Edit, Files, Interpret, LastApplied,
    Mark, Patch, PatchType, Promote, Simulate,
};

/// A multi-cluster Kubernetes control plane in one binary.
#[derive(Debug, Parser)]
#[command(name = "karavel", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which control plane a command is for.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reach {
    /// The control plane's kubeconfig; KUBECONFIG or the file in the home directory if absent.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of that kubeconfig; its current one if absent.
    #[arg(long, value_name = "CONTEXT", global = true)]
    pub(crate) karmada_context: Option<String>,
    /// A YAML file with flags: `data-dir: ./data`. Flags and the environment go before it.
    #[arg(long, env = "KARAVEL_CONFIG", value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// The namespace, for commands that look into one; what the kubeconfig names if absent.
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        global = true,
        hide = true,
        id = "namespace"
    )]
    pub(crate) namespace: Option<String>,
    /// How much to say of what happens on the way; kept for scripts, 0 is all there is.
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        global = true,
        hide = true
    )]
    pub(crate) verbosity: Option<String>,
}

impl From<Reach> for cli::Reach {
    fn from(typed: Reach) -> Self {
        Self {
            kubeconfig: typed.kubeconfig,
            context: typed.karmada_context,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process: the control plane and simulated members, already joined.
    ///
    /// Example: karavel up --members 3
    Up(Box<Up>),
    /// Run the control plane.
    ///
    /// Example: karavel server --data-dir ./data
    Server(Box<Server>),
    /// Run simulated Kubernetes clusters, for demonstrations, tests and benches.
    ///
    /// Example: karavel sim --name member1 --data-dir ./member1
    Sim(Box<Sim>),
    /// Answer schedulers how much still fits into one member, from its nodes.
    ///
    /// Example: karavel estimator --cluster-name member1 --kubeconfig ./member1/kubeconfig
    Estimator(Box<Estimator>),
    /// Join a cluster to the control plane.
    ///
    /// Example: karavel join member1 --cluster-kubeconfig ./member1/kubeconfig
    Join(Join),
    /// Let a joined cluster go.
    ///
    /// What the control plane has put into it is taken out first, but for namespaces; --dry-run says what.
    /// Said again with --cluster-kubeconfig after the cluster is gone, it takes away what joining made in it.
    ///
    /// Example: karavel unjoin member1 --cluster-kubeconfig ./member1/kubeconfig
    Unjoin(Unjoin),
    /// Show all joined clusters: how they are, and how full.
    ///
    /// Example: karavel clusters
    Clusters(Clusters),
    /// Keep new work away from a cluster.
    ///
    /// Example: karavel cordon member1
    Cordon(Cordon),
    /// Let new work into a cluster again.
    ///
    /// Example: karavel uncordon member1
    Uncordon(Cordon),
    /// Mark clusters so that only work that tolerates it goes there.
    ///
    /// Example: karavel taint clusters member1 gpu=yes:NoSchedule
    Taint(Taint),
    /// Show objects, in the control plane and in members.
    ///
    /// Example: karavel get clusters
    Get(Box<Get>),
    /// Describe objects: what they are, how they are, what belongs to them, and what happened to them lately.
    ///
    /// Example: karavel describe cluster member1
    Describe(Box<Describe>),
    /// Print what containers in a member have written.
    ///
    /// Example: karavel logs deployment/web -C member1 --tail 5
    Logs(Box<Logs>),
    /// Run a command in a container of a member, and end as it does.
    ///
    /// Example: karavel exec deployment/web -C member1 -- date
    Exec(Box<Exec>),
    /// Connect to what runs in a container of a member.
    ///
    /// Example: karavel attach deployment/web -C member1
    Attach(Box<Attach>),
    /// Reach ports of a pod in a member on this machine.
    ///
    /// Example: karavel port-forward deployment/web 8080:80 -C member1
    PortForward(Box<PortForward>),
    /// Show what nodes and pods of members use.
    ///
    /// Example: karavel top nodes
    #[command(subcommand)]
    Top(Box<Top>),
    /// Show what happened lately, in the control plane and in members.
    ///
    /// Example: karavel events -A -s all
    Events(Box<Events>),
    /// Explain why a template is where it is, and what became of it there.
    ///
    /// Tells the policy that claims it and why the others do not, what the scheduler held of every cluster, how replicas
    /// were divided, what overrides change, the works, and what members have.
    ///
    /// Without a name it tells what the fields of a kind mean: karavel explain propagationpolicy.spec
    ///
    /// Example: karavel explain deployment/web
    Explain(Explain),
    /// Say what would happen, without doing it: what would be placed, moved, changed, created and deleted.
    ///
    /// Objects of files come in their order, as with `karavel apply`. Members are asked by a dry run whether they would take
    /// what they would get.
    ///
    /// Example: karavel simulate --lose member1
    Simulate(Box<Simulate>),
    /// Apply objects from files, and on request send them to clusters.
    ///
    /// Example: karavel apply -f examples/first-steps
    Apply(Box<Apply>),
    /// Create objects from files, or of a few words.
    ///
    /// Example: karavel create deployment web --image=nginx --replicas=3 --dry-run
    Create(Box<Create>),
    /// Delete objects.
    ///
    /// Example: karavel delete deployment old-web --ignore-not-found
    Delete(Box<Delete>),
    /// Change an object in an editor.
    ///
    /// Example: EDITOR=true karavel edit cluster member1
    Edit(Box<Edit>),
    /// Change part of an object.
    ///
    /// Example: karavel patch cluster member1 --type merge -p '{"spec":{"region":"eu"}}'
    Patch(Box<Patch>),
    /// Set and remove labels.
    ///
    /// Example: karavel label clusters member1 tier=gold --overwrite
    Label(Box<Mark>),
    /// Set and remove annotations.
    ///
    /// Example: karavel annotate clusters member1 owner=shop --overwrite
    Annotate(Box<Mark>),
    /// Take an object that a member has into the control plane.
    ///
    /// The member's copy goes on as it is, and gets the labels and annotations by which the control plane knows what is its
    /// own.
    ///
    /// Example: karavel promote deployment web -C member1 -o yaml
    Promote(Box<Promote>),
    /// Show the kinds there are, in the control plane or in a member.
    ///
    /// Example: karavel api-resources --api-group policy.karmada.io
    ApiResources(ApiResources),
    /// Show the groups and versions of the API, in the control plane or in a member.
    ///
    /// Example: karavel api-versions
    ApiVersions(ApiVersions),
    /// Make, show and delete tokens that newcomers introduce themselves with.
    ///
    /// Example: karavel token create --ttl 1h
    #[command(subcommand)]
    Token(Box<Token>),
    /// Say how a control plane is started: there is nothing to install.
    ///
    /// Example: karavel server --data-dir ./data
    Init(Otherwise),
    /// Say how a control plane is removed: nothing was installed.
    ///
    /// Example: karavel backup last.karavel
    Deinit(Otherwise),
    /// Say how addons are switched on: they are in the server.
    ///
    /// Example: karavel server --data-dir ./data --enable-descheduler
    Addons(Otherwise),
    /// Say how clusters join; registering them with an agent is not built yet.
    ///
    /// Example: karavel join member1 --cluster-kubeconfig ./member1/kubeconfig
    Register(Otherwise),
    /// Say how clusters are let go; registering them with an agent is not built yet.
    ///
    /// Example: karavel unjoin member1
    Unregister(Otherwise),
    /// Try customizations: check scripts, run one rule on objects from files, say who answers.
    ///
    /// Example: karavel interpret -f examples/interpretation/customization.yaml --check
    Interpret(Box<Interpret>),
    /// Print the multi-cluster kinds as CustomResourceDefinitions.
    ///
    /// Example: karavel crds propagationpolicies
    Crds(Crds),
    /// Measure a control plane, this or another, with named workloads.
    ///
    /// Example: karavel bench --self --size small api
    Bench(Box<Bench>),
    /// Save everything a running server has into a file.
    ///
    /// Example: karavel backup today.karavel --kubeconfig ./data/kubeconfig
    Backup(Backup),
    /// Begin a new data directory from a backup.
    ///
    /// Example: karavel restore today.karavel --data-dir ./restored
    Restore(Restore),
    /// Print the version.
    ///
    /// Example: karavel version
    Version {
        /// Has no effect: the version is that of the program.
        #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        client: Option<bool>,
    },
    /// Print the flags that all commands take.
    ///
    /// Example: karavel options
    Options,
    /// Print a script that completes commands, flags, types and names in a shell.
    ///
    /// Example: karavel completion bash
    Completion {
        /// The shell: bash, zsh, fish.
        #[arg(value_name = "SHELL")]
        shells: Vec<String>,
    },
    /// Print the reference of all commands, as the documentation has it.
    #[command(name = "__reference", hide = true)]
    Reference,
    /// What may come next on a line; for the scripts of `completion`.
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The words so far, the last one unfinished.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_the_contract_says_can_be_typed() {
        for line in [
            "up",
            "up --data-dir d --listen 127.0.0.1:6000 --members 2",
            "server --data-dir d --listen 127.0.0.1:0 --controllers *,-scheduler",
            "server --data-dir d --controllers -binding,-scheduler",
            "server --data-dir d --store etcd --etcd-servers http://127.0.0.1:2379",
            "sim --name m --data-dir d --listen 127.0.0.1:0 --nodes 2 --cpu 8 --memory 16Gi --pods 110",
            "sim --data-dir d --count 100",
            "estimator --cluster-name m --kubeconfig k --server-port 0 --metrics-bind-address 0 --health-probe-bind-address :1",
            "server --data-dir d --plugins *,-ClusterEviction --feature-gates WorkloadAffinity=true --enable-scheduler-estimator",
            "sim fault show",
            "sim fault cut-off --member a,b --kubeconfig k",
            "sim fault -m a slow 3s",
            "sim fault fail 30% -m a",
            "sim fault fail-pods web shop/db",
            "sim fault restart --lose-data",
            "sim fault heal lose-node n1 n2",
            "join m --cluster-kubeconfig f --cluster-context c --kubeconfig k",
            "--karmada-context x join m --cluster-kubeconfig f",
            "unjoin m --wait 90s --force",
            "taint clusters a b k=v:NoSchedule k2-",
            "cordon a --dry-run",
            "clusters --kubeconfig k",
            "get pods",
            "get deploy web db -n shop -s members -C a,b -o wide",
            "get deployments.v1.apps/web -s all -o json --ignore-not-found",
            "get pods,svc -A -l app=web -s members --no-headers",
            "explain deployment/web -n shop -o json",
            "explain deployment web",
            "explain deployment.spec --recursive --api-version apps/v1 --output plaintext -s members --cluster m",
            "apply -f x --server-side --validate=strict --overwrite --save-config=false --field-manager me",
            "apply -k dir",
            "get -k dir",
            "describe -k dir",
            "delete -k dir",
            "simulate -k dir",
            "simulate --lose m1 --dry-run-members=false",
            "label -k dir a=b",
            "apply -f x -l app=web --all --grace-period=-1 --cascade=foreground --openapi-patch=true",
            "create service clusterip web --tcp 80:8080",
            "create job once --image busybox -- date -u",
            "create clusterrolebinding x --clusterrole view --user jane --group devs",
            "clusters -o wide",
            "api-resources --api-group apps --namespaced=false --verbs get,list --sort-by kind -o wide --cached --no-headers --categories all -s members --cluster m",
            "api-versions -s members --cluster m",
            "token create --ttl 0 --usages signing --groups system:bootstrappers:x --description d --print-register-command",
            "token list",
            "token delete abcdef abcdef.0123456789abcdef",
            "init --karmada-data /etc/karmada -p 32443 --etcd-replicas 3 --config f",
            "deinit -f --purge-namespace",
            "addons enable karmada-search --karmada-kubeconfig f -C m",
            "register 10.0.0.1:5443 --token t --discovery-token-ca-cert-hash h",
            "unregister m --cluster-kubeconfig f",
            "join m --cluster-kubeconfig f --karmada-as jane --karmada-as-group devs --karmada-as-uid u",
            "promote deployment web -C m --dry-run=server",
            "describe -f x.yaml -R --chunk-size 100",
            "logs p -C m --insecure-skip-tls-verify-backend",
            "-n shop get pods",
            "get -f x.yaml -R",
            "version --client",
            "--namespace=shop --karmada-context c delete pods --all -i --field-selector a=b",
            "delete all --all -A",
            "create role r --verb=get,list --resource=pods --resource=deployments.apps --resource-name x",
            "create ingress i --rule=a.io/*=web:80,tls=c --class nginx",
            "create pdb p --selector app=web --min-available 50%",
            "create secret tls t --cert c --key k",
            "create secret docker-registry d --docker-username u --docker-password p",
            "create configmap c --from-env-file f --append-hash",
            "port-forward svc/web 8080:http :metrics 443",
            "promote deployment web -C m -o name",
            "create job j --from cronjob/c",
            "create token default --duration 1h --audience a --bound-object-kind Pod --bound-object-name p",
            "exec -f pod.yaml -C m -- date",
            "patch -f x.yaml -p {}",
            "annotate -f x.yaml a=b",
            "label pods x a=b --resource-version 7",
            "edit deployment web --save-config --output-patch",
            "apply -f x --wait --timeout 5s",
            "apply view-last-applied deployment/web -o json",
            "get pods -o go-template --template {{.a}}",
            "events --watch --types Warning",
            "simulate -f x --feature-gates PropagationPolicyPreemption=true --plugins *,-TaintToleration",
            "explain deployment/web --plugins -ClusterAffinity",
            "backup f --kubeconfig k",
            "bench --self api --size small --report r.json --report r.html",
            "bench --control k,c --members a=f,c --members b=g --pid 7",
            "bench compare a.json b.json",
            "bench --list",
        ] {
            let words = std::iter::once("karavel").chain(line.split(' '));
            if let Err(error) = Arguments::try_parse_from(words) {
                panic!("{line}: {error}");
            }
        }
    }

    #[test]
    fn no_cluster_is_named_by_an_empty_word() {
        for (line, expected) in [
            (&["unjoin", ""][..], "cluster name is required"),
            (&["unjoin", "", "--dry-run"], "cluster name is required"),
            (&["join", ""], "cluster name is required"),
            (&["cordon", ""], "cluster name is required"),
            (&["uncordon", "m", " "], "cluster name is required"),
            (&["clusters", ""], "cluster name is required"),
            (
                &["taint", "clusters", "", "a=b:NoSchedule"],
                "names and taints may not be empty",
            ),
            (&["apply", "-f", "x", "-C", ""], "must specify a cluster"),
            (
                &["apply", "-f", "x", "-C", "member1,"],
                "must specify a cluster",
            ),
            (&["logs", "p", "-C", ""], "must specify a cluster"),
            (
                &["exec", "p", "-C", "", "--", "date"],
                "must specify a member cluster",
            ),
            (&["promote", "cm", "x", "-C", ""], "must specify a cluster"),
            (&["top", "pods", "-C", ""], "must specify a cluster"),
            (
                &["get", "pods", "-s", "members", "-C", ""],
                "must specify a cluster",
            ),
            (&["explain", "cm/x", "-C", ""], "must specify a cluster"),
            (&["simulate", "--lose", ""], "must specify a cluster"),
            (&["simulate", "--lose", "a,,b"], "must specify a cluster"),
            (
                &["describe", "pod", "p", "-s", "members", "-C", ""],
                "must specify a member cluster",
            ),
            (
                &["api-resources", "-C", " "],
                "must specify a member cluster",
            ),
        ] {
            let words = std::iter::once("karavel").chain(line.iter().copied());
            let said = Arguments::try_parse_from(words).map_err(|error| error.to_string());
            let said = said.err().unwrap_or_default();
            let first = said.lines().next().unwrap_or_default();
            assert!(first.ends_with(expected), "{line:?}: {said}");
        }
    }

    #[test]
    fn a_path_is_asked_as_it_is() {
        for beside in [
            "-o json",
            "-l a=b",
            "-A",
            "-w",
            "--watch-only",
            "-s members",
            "-C m",
            "--field-selector a=b",
            "--subresource status",
            "--sort-by .a",
            "--show-labels",
            "-L a",
            "pods",
        ] {
            let line = format!("karavel get --raw /readyz {beside}");
            let found = Arguments::try_parse_from(line.split(' ')).map_err(|error| error.kind());
            let conflict = Some(clap::error::ErrorKind::ArgumentConflict);
            assert_eq!(found.err(), conflict, "{line}");
        }
        for (line, is_fine) in [
            ("karavel get --raw /readyz -n default --no-headers", true),
            ("karavel create --raw /api -f x", true),
            ("karavel create --raw /api -f x --dry-run=server", false),
            ("karavel delete --raw /api --dry-run=server", false),
        ] {
            let found = Arguments::try_parse_from(line.split(' '));
            assert_eq!(found.is_ok(), is_fine, "{line}");
        }
    }
}
