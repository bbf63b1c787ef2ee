//! Which rules belong to which type, and the bounds of single numbers.

use super::{
    access, admission_match, admission_policy, bounds, cluster, config, container, definition,
    extension, network, pod, scaling, scheduling, security, selector, service,
    spot::{Errors, Spot},
    storage, volume, words, workload,
};

/// Reports what is wrong with a value of one type, what is below it apart.
pub(super) type Rule = fn(&Spot<'_>, &mut Errors);

/// Types whose fields are not looked at one by one.
pub(super) fn is_closed(type_name: &str) -> bool {
    matches!(
        type_name,
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
            | "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
            | "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
            | "io.k8s.api.admissionregistration.v1.AuditAnnotation"
            | "io.k8s.api.admissionregistration.v1.Validation"
            | "io.k8s.api.admissionregistration.v1.Variable"
            | "io.k8s.api.rbac.v1.RoleRef"
            | "io.k8s.api.rbac.v1.Subject"
            | "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation"
            | "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition"
            | "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale"
            | "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.SelectableField"
            | "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion"
    )
}

/// The rule of a type.
pub(super) fn of(type_name: &str) -> Option<Rule> {
    let (package, name) = type_name.rsplit_once('.')?;
    Some(match package {
        "io.k8s.apimachinery.pkg.apis.meta.v1" if name == "LabelSelector" => {
            selector::label_selector
        }
        "io.k8s.api.core.v1" => match name {
            "Pod" => pod::pod,
            "PodSpec" => pod::spec,
            "PodTemplateSpec" => pod::template,
            "PodDNSConfig" => pod::resolver,
            "Container" => container::container,
            "EphemeralContainer" => container::common,
            "SecurityContext" => security::container,
            "PodSecurityContext" => security::pod,
            "EnvFromSource" => container::variables,
            "ExecAction" => container::command,
            "HostAlias" => pod::host_alias,
            "PodReadinessGate" => pod::readiness_gate,
            "EnvVar" => container::variable,
            "Probe" => container::probe,
            "LifecycleHandler" => container::handler,
            "HTTPGetAction" | "TCPSocketAction" => container::address,
            "GRPCAction" => container::rpc,
            "ResourceRequirements" => container::resources,
            "Volume" => volume::volume,
            "KeyToPath" | "DownwardAPIVolumeFile" => volume::file,
            "HostPathVolumeSource" | "LocalVolumeSource" => volume::host_path,
            "Toleration" => scheduling::toleration,
            "Taint" => scheduling::taint,
            "NodeSelector" => scheduling::node_selector,
            "NodeSelectorRequirement" => scheduling::node_requirement,
            "PreferredSchedulingTerm" | "WeightedPodAffinityTerm" => scheduling::weight,
            "PodAffinityTerm" => scheduling::affinity_term,
            "TopologySpreadConstraint" => scheduling::spread,
            "Service" => service::service,
            "ServicePort" => service::port,
            "EndpointSubset" => service::subset,
            "ConfigMap" => config::config_map,
            "Secret" => config::secret,
            "PersistentVolume" => storage::persistent_volume,
            "PersistentVolumeClaimSpec" => storage::claim,
            "ReplicationController" => workload::replication_controller,
            "LimitRangeItem" => bounds::limit_range_item,
            "LimitRangeSpec" => bounds::limit_range,
            "ResourceQuotaSpec" => bounds::quota,
            "Node" => cluster::node,
            _ => return None,
        },
        "io.k8s.api.apps.v1" => match name {
            "Deployment" => workload::deployment,
            "ReplicaSet" => workload::replica_set,
            "StatefulSet" => workload::stateful_set,
            "DaemonSet" => workload::daemon_set,
            "ControllerRevision" => workload::revision,
            _ => return None,
        },
        "io.k8s.api.batch.v1" => match name {
            "Job" => workload::job,
            "JobSpec" => workload::job_spec,
            "CronJob" => workload::cron_job,
            _ => return None,
        },
        "io.k8s.api.autoscaling.v1" | "io.k8s.api.autoscaling.v2" => match name {
            "HorizontalPodAutoscalerSpec" => scaling::autoscaler,
            "HPAScalingRules" => scaling::scaling_rules,
            "HPAScalingPolicy" => scaling::scaling_policy,
            "MetricSpec" => scaling::metric,
            "MetricTarget" => scaling::metric_target,
            "ObjectMetricSource" => scaling::object_metric,
            "ExternalMetricSource" => scaling::external_metric,
            "PodsMetricSource" => scaling::pods_metric,
            "ResourceMetricSource" | "ContainerResourceMetricSource" => scaling::resource_metric,
            "Scale" => scaling::scale,
            _ => return None,
        },
        "io.k8s.api.policy.v1" if name == "PodDisruptionBudgetSpec" => scaling::disruption_budget,
        "io.k8s.api.networking.v1" => match name {
            "IngressSpec" => network::ingress,
            "IngressRule" => network::ingress_rule,
            "HTTPIngressPath" => network::ingress_path,
            "IngressBackend" => network::backend,
            "IngressTLS" => network::certificate,
            "IngressClassSpec" => network::ingress_class,
            "IPBlock" => network::block,
            "NetworkPolicyPeer" => network::peer,
            "NetworkPolicyPort" => network::policy_port,
            "NetworkPolicySpec" => network::policy,
            "ServiceCIDRSpec" => network::service_network,
            _ => return None,
        },
        "io.k8s.api.discovery.v1" if name == "EndpointSlice" => service::endpoint_slice,
        "io.k8s.api.rbac.v1" => match name {
            "Role" => access::role,
            "ClusterRole" => access::cluster_role,
            "RoleBinding" => access::role_binding,
            "ClusterRoleBinding" => access::cluster_role_binding,
            "Subject" => access::subject,
            _ => return None,
        },
        "io.k8s.api.certificates.v1" if name == "CertificateSigningRequestSpec" => {
            access::signing_request
        }
        "io.k8s.api.authorization.v1" => match name {
            "SubjectAccessReviewSpec" => access::access_review,
            "SelfSubjectAccessReviewSpec" => access::self_access_review,
            _ => return None,
        },
        "io.k8s.api.storage.v1" => match name {
            "StorageClass" => storage::storage_class,
            "CSIDriver" => storage::driver,
            "VolumeAttachmentSource" => storage::attachment_source,
            "VolumeAttributesClass" => storage::attributes_class,
            _ => return None,
        },
        "io.k8s.api.scheduling.v1" if name == "PriorityClass" => cluster::priority_class,
        "io.k8s.api.coordination.v1" if name == "LeaseSpec" => cluster::lease,
        "io.k8s.api.node.v1" if name == "RuntimeClass" => cluster::runtime_class,
        "io.k8s.api.admissionregistration.v1" => match name {
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                extension::webhooks
            }
            "MutatingWebhook" | "ValidatingWebhook" => extension::webhook,
            "RuleWithOperations" => admission_match::rule,
            "NamedRuleWithOperations" => admission_match::named_rule,
            "MatchResources" => admission_match::match_resources,
            "MatchCondition" => admission_match::condition,
            "ValidatingAdmissionPolicy" => admission_policy::policy,
            "ValidatingAdmissionPolicyBinding" => admission_policy::binding,
            _ => return None,
        },
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
            if name == "CustomResourceDefinition" =>
        {
            definition::definition
        }
        "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1" if name == "APIService" => {
            extension::api_service
        }
        _ => return None,
    })
}

/// Numbers that must not be negative, by type; the fields of one object.
pub(super) fn counts(spot: &Spot<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        words::not_negative(&spot.field(field), errors);
    }
}
