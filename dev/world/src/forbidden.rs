//! What a server is told to refuse, as those do who run it.

use client::DeleteOptions;
use intent::Propagation;

use crate::api::{Api, key};

/// The name of the policy by which something is forbidden.
const NAME: &str = "forbidden";

impl Api {
    /// Lets an operation (`CREATE`, `UPDATE`, `DELETE`) on objects of a kind be refused with a message from now on.
    pub async fn forbid(&self, operation: &str, kind: &str, message: &str) {
        self.forbid_unless(operation, kind, "false", message).await;
    }

    /// The same, but for objects of which an expression is true.
    pub async fn forbid_unless(
        &self,
        operation: &str,
        kind: &str,
        expression: &str,
        message: &str,
    ) {
        let resource = self.resource(kind, None).await;
        let (group, version, plural) = (
            &resource.kind.group,
            &resource.kind.version,
            &resource.plural,
        );
        self.apply(&format!(
            "
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata: {{name: {NAME}}}
            spec:
              matchConstraints: {{resourceRules: [{{operations: [{operation}], apiGroups: ['{group}'], apiVersions: [{version}], resources: [{plural}]}}]}}
              validations: [{{expression: \"{expression}\", message: {message}}}]
            ---
            {{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: {NAME}}}, spec: {{policyName: {NAME}, validationActions: [Deny]}}}}
            "
        ))
        .await;
    }

    /// Lets nothing be refused any more.
    pub async fn allow(&self) {
        self.delete("validatingadmissionpolicybindings", NAME).await;
    }

    /// Deletes an object, and says what becomes of what it owns.
    pub async fn delete_with(&self, kind: &str, name: &str, propagation: Propagation) {
        let resource = self.resource(kind, None).await;
        let options = DeleteOptions {
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        let deleted = self.client().delete(&resource, &key(name), &options).await;
        if let Err(error) = deleted {
            self.fail("delete", kind, name, &error)
        }
    }
}
