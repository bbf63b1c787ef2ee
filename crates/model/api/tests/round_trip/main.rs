//! Objects of every kind, made up from the kind's own schema: they read, print and read again to the same value, keep
//! what their type does not know, and are refused with the path of the field when something does not fit.

mod arbitrary;
mod bad_input;
mod check;
mod schema_walk;

use proptest::{prelude::*, test_runner::RngSeed};

/// The same objects in every run; a failure prints the smallest that fails.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6b61_7261),
        ..ProptestConfig::default()
    }
}

/// One test for each kind and version, so that a failure names it.
macro_rules! every_kind {
    ($($name:ident: $kind:ty),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                proptest! {
                    #![proptest_config(config())]

                    #[test]
                    fn reads_prints_and_reads_again_to_the_same_value(object in arbitrary::object::<$kind>()) {
                        check::round_trip::<$kind>(&object)?;
                    }

                    #[test]
                    fn keeps_unknown_fields_through_an_edit(object in arbitrary::object::<$kind>()) {
                        check::edit::<$kind>(&object)?;
                    }

                    #[test]
                    fn names_the_field_that_does_not_fit(
                        object in arbitrary::object::<$kind>(),
                        pick in any::<prop::sample::Index>(),
                    ) {
                        check::wrong_type::<$kind>(object, pick)?;
                    }
                }
            }
        )+

        #[test]
        fn no_kind_is_left_out() {
            let tested = [$((<$kind as karavel_api::TypeName>::API_VERSION, <$kind as karavel_api::TypeName>::KIND)),+];
            for (kind, _) in karavel_api::schema::schemas() {
                assert!(
                    tested.contains(&(kind.api_version().as_str(), kind.kind.as_str())),
                    "{kind} is not tested"
                );
            }
        }
    };
}

every_kind! {
    workload_rebalancer: karavel_api::apps::WorkloadRebalancer,
    cron_federated_hpa: karavel_api::autoscaling::CronFederatedHPA,
    federated_hpa: karavel_api::autoscaling::FederatedHPA,
    cluster: karavel_api::cluster::Cluster,
    interpreter_customization: karavel_api::config::ResourceInterpreterCustomization,
    interpreter_webhook: karavel_api::config::ResourceInterpreterWebhookConfiguration,
    service_export: karavel_api::multicluster::ServiceExport,
    service_import: karavel_api::multicluster::ServiceImport,
    multi_cluster_ingress: karavel_api::networking::MultiClusterIngress,
    multi_cluster_service: karavel_api::networking::MultiClusterService,
    cluster_override_policy: karavel_api::policy::ClusterOverridePolicy,
    cluster_propagation_policy: karavel_api::policy::ClusterPropagationPolicy,
    cluster_taint_policy: karavel_api::policy::ClusterTaintPolicy,
    federated_resource_quota: karavel_api::policy::FederatedResourceQuota,
    override_policy: karavel_api::policy::OverridePolicy,
    propagation_policy: karavel_api::policy::PropagationPolicy,
    remedy: karavel_api::remedy::Remedy,
    resource_registry: karavel_api::search::ResourceRegistry,
    old_cluster_resource_binding: karavel_api::work::v1alpha1::ClusterResourceBinding,
    old_resource_binding: karavel_api::work::v1alpha1::ResourceBinding,
    work: karavel_api::work::v1alpha1::Work,
    cluster_resource_binding: karavel_api::work::v1alpha2::ClusterResourceBinding,
    resource_binding: karavel_api::work::v1alpha2::ResourceBinding,
}
