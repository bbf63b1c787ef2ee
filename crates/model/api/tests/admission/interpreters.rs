//! Who explains kinds: scripts and services.

use crate::case::{ACCEPTED, CREATE, Case, check, denied};

/// A customization of one kind, by name, with the given scripts.
macro_rules! scripts {
    ($name:literal, $kind:literal, $scripts:literal) => {
        concat!(
            "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: ",
            $name,
            "}, spec: {target: {apiVersion: example.com/v1, kind: ",
            $kind,
            "}, customizations: {",
            $scripts,
            "}}}"
        )
    };
}

const HEALTH: &str = scripts!(
    "other",
    "Foo",
    "healthInterpretation: {luaScript: function end}"
);
const REFERENCES: &str = scripts!(
    "other",
    "Foo",
    "dependencyInterpretation: {luaScript: function end}"
);

#[test]
fn check_35_scripts_must_parse_and_not_meet() {
    check(&[
        Case {
            name: "35: what does not parse",
            new: scripts!(
                "new",
                "Foo",
                "retention: {luaScript: function}, statusReflection: {luaScript: return}, replicaResource: {luaScript: end}"
            ),
            expect: denied(&[
                "spec.customizations.retention.luaScript Invalid",
                "spec.customizations.statusReflection.luaScript Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "35: the same operation of the same kind",
            new: scripts!("new", "Foo", "healthInterpretation: {luaScript: end}"),
            related: &[HEALTH],
            expect: denied(&["spec.customizations.healthInterpretation.luaScript Forbidden"]),
            ..CREATE
        },
        Case {
            name: "another operation",
            new: scripts!(
                "new",
                "Foo",
                "retention: {luaScript: end}, healthInterpretation: {luaScript: ''}"
            ),
            related: &[HEALTH],
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "another kind",
            new: scripts!("new", "Bar", "healthInterpretation: {luaScript: end}"),
            related: &[HEALTH],
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "the object itself",
            new: scripts!("other", "Foo", "healthInterpretation: {luaScript: end}"),
            old: Some(HEALTH),
            related: &[HEALTH],
            expect: ACCEPTED,
            ..CREATE
        },
        Case {
            name: "35: references add up",
            new: scripts!("new", "Foo", "dependencyInterpretation: {luaScript: end}"),
            related: &[REFERENCES],
            expect: ACCEPTED,
            ..CREATE
        },
    ]);
}

/// A configuration with one webhook.
macro_rules! webhook {
    ($webhook:literal) => {
        concat!(
            "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterWebhookConfiguration, metadata: {name: w}, webhooks: [",
            $webhook,
            "]}"
        )
    };
}

#[test]
fn check_36_services_must_be_reachable_and_say_what_they_explain() {
    check(&[
        Case {
            name: "36: an operation that is not asked",
            new: webhook!(
                "{name: a.b, clientConfig: {url: 'https://h/p'}, interpreterContextVersions: [v1alpha1], rules: [{operations: [Prune], apiGroups: [''], apiVersions: [v1], kinds: [Foo]}]}"
            ),
            expect: denied(&["webhooks[0].rules[0].operations[0] NotSupported"]),
            ..CREATE
        },
        Case {
            name: "36: plain http",
            new: webhook!(
                "{name: a.b, clientConfig: {url: 'http://h'}, interpreterContextVersions: [v1alpha1]}"
            ),
            expect: denied(&["webhooks[0].clientConfig.url Invalid"]),
            ..CREATE
        },
        Case {
            name: "36: a service without a port",
            new: webhook!(
                "{name: a.b., clientConfig: {service: {namespace: ns, name: s, path: /a/b/}}, interpreterContextVersions: [v2, v1alpha1], timeoutSeconds: 30, rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], kinds: ['*']}]}"
            ),
            expect: crate::case::Expect::Stored(
                "webhooks: [{clientConfig: {service: {port: null}}}]",
            ),
            ..CREATE
        },
        Case {
            name: "names, timeouts, versions",
            new: webhook!(
                "{name: '', clientConfig: {}, timeoutSeconds: 0}, {name: ab, clientConfig: {url: 'https://h', service: {}}, timeoutSeconds: 31, interpreterContextVersions: [v2, v2, '2']}, {name: A.b, clientConfig: {url: '%zz'}, interpreterContextVersions: [v1alpha1]}, {name: a.b, clientConfig: {url: 'https://u@/?q#f'}, interpreterContextVersions: [v1alpha1]}, {name: a.b, clientConfig: {service: {port: 0, path: a}}, interpreterContextVersions: [v1alpha1]}, {name: c.d, clientConfig: {service: {namespace: ns, name: s, path: //A}}, interpreterContextVersions: [v1alpha1]}"
            ),
            expect: denied(&[
                "webhooks[0].name Required",
                "webhooks[0].timeoutSeconds Invalid",
                "webhooks[0].clientConfig Required",
                "webhooks[0].interpreterContextVersions Required",
                "webhooks[1].name Invalid",
                "webhooks[1].timeoutSeconds Invalid",
                "webhooks[1].clientConfig Required",
                "webhooks[1].interpreterContextVersions[1] Invalid",
                "webhooks[1].interpreterContextVersions[2] Invalid",
                "webhooks[1].interpreterContextVersions Invalid",
                "webhooks[2].name Invalid",
                "webhooks[2].clientConfig.url Required",
                "webhooks[3].clientConfig.url Invalid",
                "webhooks[3].clientConfig.url Invalid",
                "webhooks[3].clientConfig.url Invalid",
                "webhooks[3].clientConfig.url Invalid",
                "webhooks[4].clientConfig.service.name Required",
                "webhooks[4].clientConfig.service.namespace Required",
                "webhooks[4].clientConfig.service.port Invalid",
                "webhooks[4].clientConfig.service.path Invalid",
                "webhooks[4].name Duplicate",
                "webhooks[5].clientConfig.service.path Invalid",
                "webhooks[5].clientConfig.service.path Invalid",
            ]),
            ..CREATE
        },
        Case {
            name: "lists of rules",
            new: webhook!(
                "{name: a.b, clientConfig: {url: 'https://h'}, interpreterContextVersions: [v1alpha1], rules: [{}, {operations: ['*', Retain], apiGroups: ['*', x], apiVersions: ['*', ''], kinds: ['']}]}"
            ),
            expect: denied(&[
                "webhooks[0].rules[0].operations Required",
                "webhooks[0].rules[0].apiGroups Required",
                "webhooks[0].rules[0].apiVersions Required",
                "webhooks[0].rules[0].kinds Required",
                "webhooks[0].rules[1].operations Invalid",
                "webhooks[0].rules[1].apiGroups Invalid",
                "webhooks[0].rules[1].apiVersions Invalid",
                "webhooks[0].rules[1].apiVersions[1] Required",
                "webhooks[0].rules[1].kinds[0] Required",
            ]),
            ..CREATE
        },
    ]);
}
