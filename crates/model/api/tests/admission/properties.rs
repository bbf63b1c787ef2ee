//! What holds of any object: mutating it twice is mutating it once, nothing unknown is lost, and nothing panics.

use karavel_api::{
    Kind,
    admission::{AdmissionRules, Operation, Request, rules},
    well_known::feature_gates::{FeatureGates, Gate},
};
use object::{GroupVersionKind, Object};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::{arbitrary, case};

fn rules_of<T: Kind>() -> &'static dyn AdmissionRules {
    let kind = GroupVersionKind::from_api_version(T::API_VERSION, T::KIND).expect("a kind");
    rules(&kind).expect("a kind with rules")
}

fn check<T: Kind>(object: &Object, operation: Operation) -> Result<(), TestCaseError> {
    let gates = FeatureGates::default()
        .with(Gate::FederatedQuotaEnforcement, true)
        .with(Gate::MultiplePodTemplatesScheduling, true);
    // A binding that names a namespace is written in that one, or it is refused.
    let named = object.text_at(&["spec", "resource", "namespace"]);
    let namespace = named.unwrap_or(object.namespace()).to_owned();
    let request = Request {
        operation,
        namespace: &namespace,
        ..case::request(&gates)
    };
    let rules = rules_of::<T>();
    let old = (operation == Operation::Update).then_some(object);
    let once = match rules.mutate(&request, old, object.clone()) {
        Ok(once) => once,
        // A work whose manifests were made up may hold something that is no manifest, a new binding a name that is none.
        Err(refusal) => {
            let expected = match refusal.errors() {
                [] => 500,
                errors => {
                    let of_names = errors.iter().all(|error| {
                        error.path.to_string().ends_with(".name") && operation == Operation::Create
                    });
                    prop_assert!(of_names, "{}", refusal);
                    422
                }
            };
            prop_assert_eq!(refusal.code(), expected, "{}", refusal);
            return Ok(());
        }
    };
    let twice = rules
        .mutate(&request, old, once.clone())
        .expect("it was mutated before");
    prop_assert_eq!(&twice, &once);
    keeps_unknown(object.fields(), once.fields(), "")?;
    // Whatever the verdict, it is one.
    let _ = rules.validate(&request, old, &once);
    let finished = rules
        .finish(&request, once)
        .expect("it was readable before");
    let again = rules
        .finish(&request, finished.clone())
        .expect("it was finished before");
    prop_assert_eq!(again, finished);
    Ok(())
}

/// Every unknown field of objects, as far as they are the same objects, is still there.
fn keeps_unknown(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    path: &str,
) -> Result<(), TestCaseError> {
    for (name, was) in before {
        let path = format!("{path}/{name}");
        if name.starts_with(arbitrary::UNKNOWN) {
            prop_assert_eq!(after.get(name), Some(was), "{}", path);
        } else if let (Value::Object(was), Some(Value::Object(now))) = (was, after.get(name)) {
            keeps_unknown(was, now, &path)?;
        }
    }
    Ok(())
}

/// One test for each kind with rules, so that a failure names it.
macro_rules! every_kind {
    ($($name:ident: $kind:ty),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                proptest! {
                    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

                    #[test]
                    fn is_the_same_after_a_second_mutation(object in arbitrary::object::<$kind>(), is_new in any::<bool>()) {
                        let operation = if is_new { Operation::Create } else { Operation::Update };
                        check::<$kind>(&object, operation)?;
                    }
                }
            }
        )+
    };
}

every_kind! {
    cron_federated_hpa: karavel_api::autoscaling::CronFederatedHPA,
    federated_hpa: karavel_api::autoscaling::FederatedHPA,
    interpreter_customization: karavel_api::config::ResourceInterpreterCustomization,
    interpreter_webhook: karavel_api::config::ResourceInterpreterWebhookConfiguration,
    multi_cluster_ingress: karavel_api::networking::MultiClusterIngress,
    multi_cluster_service: karavel_api::networking::MultiClusterService,
    cluster_override_policy: karavel_api::policy::ClusterOverridePolicy,
    cluster_propagation_policy: karavel_api::policy::ClusterPropagationPolicy,
    cluster_taint_policy: karavel_api::policy::ClusterTaintPolicy,
    federated_resource_quota: karavel_api::policy::FederatedResourceQuota,
    override_policy: karavel_api::policy::OverridePolicy,
    propagation_policy: karavel_api::policy::PropagationPolicy,
    resource_registry: karavel_api::search::ResourceRegistry,
    work: karavel_api::work::v1alpha1::Work,
    cluster_resource_binding: karavel_api::work::v1alpha2::ClusterResourceBinding,
    resource_binding: karavel_api::work::v1alpha2::ResourceBinding,
    cluster: karavel_api::cluster::Cluster,
}

#[test]
fn kinds_without_rules_have_none() {
    for (group, kind) in [
        ("remedy.karmada.io", "Remedy"),
        ("apps.karmada.io", "WorkloadRebalancer"),
        ("apps", "Deployment"),
    ] {
        assert!(rules(&GroupVersionKind::new(group, "v1alpha1", kind)).is_none());
    }
}
