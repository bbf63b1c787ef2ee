//! ResourceInterpreterCustomization: scripts that explain a kind.

use object::{
    Object,
    field::{FieldError, FieldPath},
};

use serde_json::Value;

use super::{
    AdmissionRules, Reach, Related, Request, Verdict,
    verdict::{read, webhook_verdict},
};
use crate::{
    config::{
        CustomizationRules, ResourceInterpreterCustomization, Script,
        interpreter_operation as operation,
    },
    registry::RESOURCE_INTERPRETER_CUSTOMIZATION,
};

/// The rules of the kind.
pub(super) struct Rules;

/// One operation: its name, its field, and where its script is.
struct Slot {
    operation: &'static str,
    field: &'static str,
    script: fn(&CustomizationRules) -> &Option<Script>,
}

const SLOTS: &[Slot] = &[
    Slot {
        operation: operation::RETAIN,
        field: "retention",
        script: |rules| &rules.retention,
    },
    Slot {
        operation: operation::INTERPRET_REPLICA,
        field: "replicaResource",
        script: |rules| &rules.replica_resource,
    },
    Slot {
        operation: operation::INTERPRET_COMPONENT,
        field: "componentResource",
        script: |rules| &rules.component_resource,
    },
    Slot {
        operation: operation::REVISE_REPLICA,
        field: "replicaRevision",
        script: |rules| &rules.replica_revision,
    },
    Slot {
        operation: operation::INTERPRET_STATUS,
        field: "statusReflection",
        script: |rules| &rules.status_reflection,
    },
    Slot {
        operation: operation::AGGREGATE_STATUS,
        field: "statusAggregation",
        script: |rules| &rules.status_aggregation,
    },
    Slot {
        operation: operation::INTERPRET_HEALTH,
        field: "healthInterpretation",
        script: |rules| &rules.health_interpretation,
    },
    Slot {
        operation: operation::INTERPRET_DEPENDENCY,
        field: "dependencyInterpretation",
        script: |rules| &rules.dependency_interpretation,
    },
];

impl AdmissionRules for Rules {
    fn related(&self, _request: &Request<'_>) -> Option<Related> {
        Some(Related {
            resource: &RESOURCE_INTERPRETER_CUSTOMIZATION,
            reach: Reach::Everywhere,
        })
    }

    fn validate(&self, request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let customization: ResourceInterpreterCustomization = read(new)?;
        let mut errors = Vec::new();
        for other in request
            .related
            .iter()
            .filter(|other| other.name() != new.name())
        {
            let other: ResourceInterpreterCustomization = read(other)?;
            errors.extend(check_conflicts(&customization, &other));
        }
        for slot in SLOTS {
            let Some(script) = slot.scripted(&customization) else {
                continue;
            };
            if let Err(problem) = (request.check_script)(script) {
                let detail = format!(
                    "the script for {} is not valid Lua: {problem}",
                    slot.operation
                );
                // The script itself may be long; the error shows where in it the problem is.
                let error = FieldError::invalid(slot.path(), Value::Null, detail);
                errors.push(FieldError {
                    value: None,
                    ..error
                });
            }
        }
        webhook_verdict("resourceinterpretercustomization.karmada.io", errors)
    }
}

/// Two objects may explain the same kind, but not the same of it. References from several scripts add up.
fn check_conflicts(
    new: &ResourceInterpreterCustomization,
    other: &ResourceInterpreterCustomization,
) -> Vec<FieldError> {
    if new.spec.target != other.spec.target {
        return Vec::new();
    }
    let single = SLOTS
        .iter()
        .filter(|slot| slot.operation != operation::INTERPRET_DEPENDENCY);
    single
        .filter(|slot| slot.scripted(new).is_some() && slot.scripted(other).is_some())
        .map(|slot| {
            FieldError::forbidden(
                slot.path(),
                format!(
                    "conflicting with InterpreterOperation({}) of existing ResourceInterpreterCustomization({})",
                    slot.operation, other.metadata.name
                ),
            )
        })
        .collect()
}

impl Slot {
    /// The script for the operation, if there is one.
    fn scripted<'a>(&self, customization: &'a ResourceInterpreterCustomization) -> Option<&'a str> {
        let script = (self.script)(&customization.spec.customizations).as_ref()?;
        Some(script.lua_script.as_str()).filter(|text| !text.is_empty())
    }

    fn path(&self) -> FieldPath {
        FieldPath::from("spec.customizations")
            .child(self.field)
            .child("luaScript")
    }
}
