//! Rules about pods and pod templates.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use object::names;

use super::{
    container::{resource_amount, resource_name},
    metadata,
    spot::{Errors, Spot},
    words::{in_range, ip_address, not_negative},
};

/// Most name servers, search domains and characters of the search list.
const NAME_SERVERS: usize = 3;
const SEARCH_DOMAINS: usize = 32;
const SEARCH_CHARACTERS: usize = 2048;

/// A pod that is created, in contrast to one that is only described.
pub(super) fn pod(pod: &Spot<'_>, errors: &mut Errors) {
    let spec = pod.field("spec");
    if !spec.is_set() {
        errors.push(spec.required(""));
    }
}

/// The description of pods in a workload.
pub(super) fn template(template: &Spot<'_>, errors: &mut Errors) {
    // Upstream: labels and annotations of a template are reported without the `metadata` in between.
    let (above, path) = (template.field("metadata"), template.path());
    metadata::labels(&above.field("labels"), &path.child("labels"), errors);
    metadata::annotations(
        &above.field("annotations"),
        &path.child("annotations"),
        errors,
    );
    let spec = template.field("spec");
    let ephemeral = spec.field("ephemeralContainers");
    if !ephemeral.is_empty() {
        errors.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// What a pod runs and where.
pub(super) fn spec(spec: &Spot<'_>, errors: &mut Errors) {
    let containers = spec.field("containers");
    if containers.is_empty() {
        errors.push(containers.required(""));
    }
    unique_names(spec, errors);
    init_containers(spec, errors);
    mounts_exist(spec, errors);
    host_ports(spec, errors);
    not_negative(&spec.field("terminationGracePeriodSeconds"), errors);
    in_range(
        &spec.field("activeDeadlineSeconds"),
        1,
        i64::from(i32::MAX),
        errors,
    );
    for field in [
        "serviceAccountName",
        "nodeName",
        "priorityClassName",
        "runtimeClassName",
    ] {
        let name = spec.field(field);
        if !name.is_empty() {
            name.complain(names::check_dns1123_subdomain(name.text()), errors);
        }
    }
    for field in ["hostname", "subdomain"] {
        let name = spec.field(field);
        if !name.is_empty() {
            name.complain(names::check_dns1123_label(name.text()), errors);
        }
    }
    let selector = spec.field("nodeSelector");
    metadata::labels(&selector, &selector.path(), errors);
    let share = spec.field("shareProcessNamespace");
    if share.is_true() && spec.field("hostPID").is_true() {
        errors.push(share.invalid("ShareProcessNamespace and HostPID cannot both be enabled"));
    }
    for (resource, amount) in spec.field("overhead").entries() {
        resource_name(resource, &amount, errors);
        resource_amount(resource, &amount, errors);
    }
    resolver_is_named(spec, errors);
    os_is_known(spec, errors);
}

/// A line of the hosts file.
pub(super) fn host_alias(alias: &Spot<'_>, errors: &mut Errors) {
    let address = alias.field("ip");
    // That there is none is told by its type. Upstream: zeros in front of a number are let in here.
    let parts = address.text().split('.').map(|part| {
        let number = part.trim_start_matches('0');
        if number.is_empty() { "0" } else { number }
    });
    let plain = parts.collect::<Vec<_>>().join(".");
    if !address.is_empty() && plain.parse::<Ipv4Addr>().is_err() {
        ip_address(&address, errors);
    }
    for name in alias.field("hostnames").elements() {
        name.complain(names::check_dns1123_subdomain(name.text()), errors);
    }
}

/// A condition that others set before a pod counts as ready.
pub(super) fn readiness_gate(gate: &Spot<'_>, errors: &mut Errors) {
    let condition = gate.field("conditionType");
    if !condition.is_empty() {
        condition.complain(names::check_qualified_name(condition.text()), errors);
    }
}

/// The name servers of a pod.
pub(super) fn resolver(config: &Spot<'_>, errors: &mut Errors) {
    let servers = config.field("nameservers");
    if servers.len() > NAME_SERVERS {
        errors.push(servers.invalid(format!(
            "must not have more than {NAME_SERVERS} nameservers"
        )));
    }
    let searches = config.field("searches");
    if searches.len() > SEARCH_DOMAINS {
        errors.push(searches.invalid(format!(
            "must not have more than {SEARCH_DOMAINS} search paths"
        )));
    }
    let characters = searches
        .elements()
        .map(|search| search.text().len() + 1)
        .sum::<usize>()
        .saturating_sub(1);
    if characters > SEARCH_CHARACTERS {
        errors.push(searches.invalid(format!(
            "must not have more than {SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )));
    }
    for search in searches.elements() {
        let name = search.text().trim_end_matches('.');
        search.complain(names::check_dns1123_subdomain(name), errors);
    }
}

fn resolver_is_named(spec: &Spot<'_>, errors: &mut Errors) {
    if spec.field("dnsPolicy").text() != "None" {
        return;
    }
    let config = spec.field("dnsConfig");
    if !config.is_set() {
        errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
        return;
    }
    let servers = config.field("nameservers");
    if servers.is_empty() {
        errors.push(
            servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None"),
        );
    }
}

fn os_is_known(spec: &Spot<'_>, errors: &mut Errors) {
    let os = spec.field("os");
    let name = os.field("name");
    if !name.is_empty() && !matches!(name.text(), "linux" | "windows") {
        errors.push(name.not_supported(&["linux", "windows"]));
    }
}

/// Names of containers, and names of volumes, occur once.
fn unique_names(spec: &Spot<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.field(list).elements() {
            let name = container.field("name");
            if !name.is_empty() && !seen.insert(name.text().to_owned()) {
                errors.push(name.duplicate());
            }
        }
    }
    let mut seen = BTreeSet::new();
    for volume in spec.field("volumes").elements() {
        let name = volume.field("name");
        if !name.is_empty() && !seen.insert(name.text().to_owned()) {
            errors.push(name.duplicate());
        }
    }
}

/// Init containers end before the others start, so they are not probed; those that stay are sidecars.
fn init_containers(spec: &Spot<'_>, errors: &mut Errors) {
    for container in spec.field("initContainers").elements() {
        if container.field("restartPolicy").text() == "Always" {
            continue;
        }
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            let field = container.field(field);
            if field.is_set() {
                errors.push(
                    field.forbidden(
                        "may not be set for init containers without restartPolicy=Always",
                    ),
                );
            }
        }
    }
}

/// What a container mounts is one of the pod's volumes, each at a place of its own. The claims that a StatefulSet makes for
/// each of its pods become volumes of that name.
fn mounts_exist(spec: &Spot<'_>, errors: &mut Errors) {
    let volumes = spec.field("volumes");
    let owner = spec.above().and_then(Spot::above).map(|owner| owner.value);
    let claims = owner.and_then(|owner| owner["volumeClaimTemplates"].as_array());
    let claimed = claims.into_iter().flatten();
    let claimed = claimed.filter_map(|claim| claim["metadata"]["name"].as_str());
    let known: BTreeSet<String> = volumes
        .elements()
        .map(|volume| volume.field("name").text().to_owned())
        .chain(claimed.map(str::to_owned))
        .collect();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.field(list).elements() {
            for (list, place) in [
                ("volumeMounts", "mountPath"),
                ("volumeDevices", "devicePath"),
            ] {
                let mut places = BTreeSet::new();
                for mount in container.field(list).elements() {
                    let name = mount.field("name");
                    if !known.contains(name.text()) {
                        errors.push(name.not_found());
                    }
                    let place = mount.field(place);
                    if !place.is_empty() && !places.insert(place.text().to_owned()) {
                        errors.push(place.invalid("must be unique"));
                    }
                }
            }
        }
    }
}

/// On the node's network a container's port is the node's, and no two containers can have the same.
fn host_ports(spec: &Spot<'_>, errors: &mut Errors) {
    let host_network = spec.field("hostNetwork").is_true();
    let mut taken = BTreeSet::new();
    for container in spec.field("containers").elements() {
        for port in container.field("ports").elements() {
            let host_port = port.field("hostPort");
            let Some(number) = host_port.number().filter(|number| *number != 0) else {
                continue;
            };
            if host_network && port.field("containerPort").number() != Some(number) {
                errors.push(
                    host_port.invalid("must match `containerPort` when `hostNetwork` is true"),
                );
            }
            let protocol = port.field("protocol").text().to_owned();
            let address = port.field("hostIP").text().to_owned();
            if !taken.insert((protocol.clone(), address.clone(), number)) {
                let text = format!("{protocol}/{address}/{number}");
                errors.push(object::field::FieldError::duplicate(host_port.path(), text));
            }
        }
    }
}
