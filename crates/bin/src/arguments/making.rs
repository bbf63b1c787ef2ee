//! What flags say of an object that is made of words.

use clap::Args;

/// What flags say of an object that is made of words. Each goes with certain types only.
#[derive(Args, Debug)]
#[command(next_help_heading = "Objects of words")]
pub(crate) struct Making {
    /// The image of a deployment, job or cronjob; a deployment may have several.
    #[arg(long, value_name = "IMAGE")]
    image: Vec<String>,
    /// The replicas of a deployment.
    #[arg(short, long, value_name = "N")]
    replicas: Option<String>,
    /// The port that a deployment's container listens on.
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// The cronjob that a job is made from, such as cronjob/nightly.
    #[arg(long, value_name = "CRONJOB/NAME")]
    from: Option<String>,
    /// When a cronjob runs, such as '0 * * * *'.
    #[arg(long, value_name = "TIMES")]
    schedule: Option<String>,
    /// Whether pods of a cronjob are restarted: OnFailure, Never.
    #[arg(long, value_name = "WHEN")]
    restart: Option<String>,
    /// An entry of a configmap or a secret; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    from_literal: Vec<String>,
    /// A file as an entry of a configmap or a secret, or a directory of them; may be given several times.
    #[arg(long, value_name = "[KEY=]FILE")]
    from_file: Vec<String>,
    /// A file of KEY=VALUE lines as entries of a configmap or a secret; may be given several times.
    #[arg(long, value_name = "FILE")]
    from_env_file: Vec<String>,
    /// Append a hash of what is in a configmap or a secret to its name.
    #[arg(long)]
    append_hash: bool,
    /// The type of a secret.
    #[arg(long = "type", value_name = "TYPE")]
    secret_type: Option<String>,
    /// The certificate of a secret tls, in PEM.
    #[arg(long, value_name = "FILE")]
    cert: Option<String>,
    /// Its key, in PEM.
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// The registry of a secret docker-registry.
    #[arg(long, value_name = "SERVER")]
    docker_server: Option<String>,
    /// Who is known there.
    #[arg(long, value_name = "NAME")]
    docker_username: Option<String>,
    /// By which password.
    #[arg(long, value_name = "WORD")]
    docker_password: Option<String>,
    /// And under which address.
    #[arg(long, value_name = "ADDRESS")]
    docker_email: Option<String>,
    /// A port of a service, and the pods' port behind it; may be given several times.
    #[arg(long, value_name = "PORT:TARGET")]
    tcp: Vec<String>,
    /// The address of a service; None for none.
    #[arg(long, value_name = "ADDRESS")]
    clusterip: Option<String>,
    /// The port of a nodeport service on nodes.
    #[arg(long, value_name = "PORT")]
    node_port: Option<String>,
    /// The name that an externalname service leads to.
    #[arg(long, value_name = "NAME")]
    external_name: Option<String>,
    /// Where an ingress leads requests, such as 'shop.io/*=web:80,tls=cert'; may be given several times.
    #[arg(long, value_name = "HOST/PATH=SERVICE:PORT")]
    rule: Vec<String>,
    /// Where it leads all others.
    #[arg(long, value_name = "SERVICE:PORT")]
    default_backend: Option<String>,
    /// Who serves an ingress.
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// An annotation of an ingress; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    annotation: Vec<String>,
    /// The pods of a poddisruptionbudget, such as app=web.
    #[arg(long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// How many of them have to run, such as 1 or 50%.
    #[arg(long, value_name = "AMOUNT")]
    min_available: Option<String>,
    /// How many of them may be away, such as 1 or 50%.
    #[arg(long, value_name = "AMOUNT")]
    max_unavailable: Option<String>,
    /// What a role or clusterrole allows, such as get,list,watch.
    #[arg(long, value_name = "VERBS")]
    verb: Vec<String>,
    /// On which types, such as pods,deployments.apps,pods/log.
    #[arg(long, value_name = "TYPES")]
    resource: Vec<String>,
    /// Only on objects of these names.
    #[arg(long, value_name = "NAMES")]
    resource_name: Vec<String>,
    /// On which paths, for a clusterrole.
    #[arg(long, value_name = "PATHS")]
    non_resource_url: Vec<String>,
    /// The labels of cluster roles that a clusterrole is the sum of.
    #[arg(long, value_name = "KEY=VALUE,...")]
    aggregation_rule: Option<String>,
    /// The role of a rolebinding.
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// The cluster role of a rolebinding or clusterrolebinding.
    #[arg(long, value_name = "NAME")]
    clusterrole: Option<String>,
    /// A user who gets the role; may be given several times.
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// A group that gets the role; may be given several times.
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// A service account that gets the role; may be given several times.
    #[arg(long, value_name = "NAMESPACE:NAME")]
    serviceaccount: Vec<String>,
    /// The limits of a quota.
    #[arg(long, value_name = "RESOURCE=AMOUNT,...")]
    hard: Vec<String>,
    /// What a quota counts, such as BestEffort.
    #[arg(long, value_name = "SCOPES")]
    scopes: Vec<String>,
    /// The number of a priorityclass.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    value: Option<String>,
    /// What a priorityclass is for.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Whether pods without a priorityclass have this one.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    global_default: Option<String>,
    /// Whether pods of a priorityclass take the place of others: PreemptLowerPriority, Never.
    #[arg(long, value_name = "POLICY")]
    preemption_policy: Option<String>,
    /// Who is to accept a token; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) audience: Vec<String>,
    /// How long a token is to hold, such as 1h.
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// The kind of the object that a token ends with: Pod, Secret, Node.
    #[arg(long, value_name = "KIND")]
    pub(crate) bound_object_kind: Option<String>,
    /// Its name.
    #[arg(long, value_name = "NAME", requires = "bound_object_kind")]
    pub(crate) bound_object_name: Option<String>,
    /// Its uid.
    #[arg(long, value_name = "UID", requires = "bound_object_kind")]
    pub(crate) bound_object_uid: Option<String>,
    /// What a deployment, job or cronjob runs, behind two dashes.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Making {
    /// What was said, as pairs of a flag without its dashes and a value; the command under the empty name.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let single = [
            ("replicas", &self.replicas),
            ("port", &self.port),
            ("from", &self.from),
            ("schedule", &self.schedule),
            ("restart", &self.restart),
            ("type", &self.secret_type),
            ("cert", &self.cert),
            ("key", &self.key),
            ("docker-server", &self.docker_server),
            ("docker-username", &self.docker_username),
            ("docker-password", &self.docker_password),
            ("docker-email", &self.docker_email),
            ("clusterip", &self.clusterip),
            ("node-port", &self.node_port),
            ("external-name", &self.external_name),
            ("default-backend", &self.default_backend),
            ("class", &self.class),
            ("selector", &self.selector),
            ("min-available", &self.min_available),
            ("max-unavailable", &self.max_unavailable),
            ("aggregation-rule", &self.aggregation_rule),
            ("role", &self.role),
            ("clusterrole", &self.clusterrole),
            ("value", &self.value),
            ("description", &self.description),
            ("global-default", &self.global_default),
            ("preemption-policy", &self.preemption_policy),
            ("duration", &self.duration),
            ("bound-object-kind", &self.bound_object_kind),
            ("bound-object-name", &self.bound_object_name),
            ("bound-object-uid", &self.bound_object_uid),
        ];
        let several = [
            ("image", &self.image),
            ("from-literal", &self.from_literal),
            ("from-file", &self.from_file),
            ("from-env-file", &self.from_env_file),
            ("tcp", &self.tcp),
            ("rule", &self.rule),
            ("annotation", &self.annotation),
            ("verb", &self.verb),
            ("resource", &self.resource),
            ("resource-name", &self.resource_name),
            ("non-resource-url", &self.non_resource_url),
            ("user", &self.user),
            ("group", &self.group),
            ("serviceaccount", &self.serviceaccount),
            ("hard", &self.hard),
            ("scopes", &self.scopes),
            ("audience", &self.audience),
            ("", &self.command),
        ];
        let single = single
            .into_iter()
            .flat_map(|(flag, value)| value.iter().map(move |value| (flag, value)));
        let several = several
            .into_iter()
            .flat_map(|(flag, values)| values.iter().map(move |value| (flag, value)));
        let yes = "true".to_owned();
        let hash = self.append_hash.then_some(("append-hash", &yes));
        let pairs = single.chain(several).chain(hash);
        pairs
            .map(|(flag, value)| (flag.to_owned(), value.clone()))
            .collect()
    }
}
