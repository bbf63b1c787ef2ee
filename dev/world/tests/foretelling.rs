//! A table of changes: what `simulate` foretells of every object in every member, against what the members then have.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::time::Duration;

use cli::{Manifest, Supposition, simulate};
use object::{Object, Value};
use world::World;

/// Long enough for everything that a change brings about.
const WHILE: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_secs(1);
const MEMBERS: [&str; 3] = ["m1", "m2", "m3"];

/// What is there, what is changed, and what is expected of an object: `Deployment web: m1 deleted, m2 created`.
struct Story {
    claim: &'static str,
    /// In the control plane, or in a member that is named.
    there: &'static [(&'static str, &'static str)],
    change: &'static str,
    expected: &'static [&'static str],
}

const HOME: &str = "";
const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 6, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}";
const BLUE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {colour: blue, size: large}}";
const EVERYTHING: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ConfigMap, name: a}, {apiVersion: v1, kind: Service}, {apiVersion: batch/v1, kind: Job}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";
const TO_M3: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m3]}}}}";
const HELD_BACK: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], suspension: {dispatching: true}, placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";
const TO_NOBODY: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m9]}}}}";
const OF_ALL: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: c}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m3]}}}}";
const FAILS_IN_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /data/none/below, operator: replace, value: x}]}}]}}";
const TWICE_IN_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /spec/template/spec/containers/0/env, operator: add, value: [{name: A, value: one}, {name: A, value: two}]}]}}]}}";
const FULL: &str = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {count/configmaps: \"1\"}}}";
const BANK: &str =
    "{apiVersion: v1, kind: Namespace, metadata: {name: bank, labels: {tier: gold}}}";

const GADGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.shop.io}, spec: {group: shop.io, scope: Namespaced, names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
const GADGETS_TO_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: kinds}, spec: {resourceSelectors: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: gadgets.shop.io}], placement: {clusterAffinity: {clusterNames: [m1]}}}}";
const GADGETS_EVERYWHERE: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: kinds}, spec: {resourceSelectors: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: gadgets.shop.io}]}}";
const GADGET: &str = "{apiVersion: shop.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3}}";
const ALL_GADGETS: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: objects}, spec: {resourceSelectors: [{apiVersion: shop.io/v1, kind: Gadget}]}}";

/// Where policies send things.
const PLACES: &[Story] = &[
    Story {
        claim: "a policy moves what it selects",
        there: &[(HOME, WEB), (HOME, BLUE), (HOME, EVERYTHING)],
        change: TO_M3,
        expected: &[
            "ConfigMap a: m1 deleted, m2 deleted, m3 created",
            "Deployment web: m1 deleted, m2 deleted, m3 created",
        ],
    },
    Story {
        claim: "what was held back goes to the clusters that are new alone",
        there: &[(HOME, BLUE), (HOME, HELD_BACK)],
        change: TO_M3,
        expected: &["ConfigMap a: m1 absent, m2 absent, m3 created"],
    },
    Story {
        claim: "what was held back stays so where no place is found",
        there: &[(HOME, BLUE), (HOME, HELD_BACK)],
        change: TO_NOBODY,
        expected: &["ConfigMap a: m1 absent, m2 absent"],
    },
    Story {
        claim: "replicas are divided anew",
        there: &[(HOME, WEB), (HOME, EVERYTHING)],
        change: "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [m2]}, weight: 1}, {targetCluster: {clusterNames: [m3]}, weight: 2}]}}}}}",
        expected: &["Deployment web: m1 deleted, m2 changed, m3 created"],
    },
    Story {
        claim: "one cluster of several is chosen",
        there: &[(HOME, WEB)],
        change: "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]}}}",
        expected: &["Deployment web: m1 created"],
    },
    Story {
        claim: "a namespaced policy does not take from a cluster-wide one what that holds",
        there: &[(HOME, WEB), (HOME, OF_ALL)],
        change: EVERYTHING,
        expected: &["Deployment web: m3 stays"],
    },
    Story {
        claim: "a cluster-wide policy does not take from a namespaced one",
        there: &[(HOME, WEB), (HOME, EVERYTHING)],
        change: OF_ALL,
        expected: &["Deployment web: m1 stays, m2 stays"],
    },
    Story {
        claim: "objects follow their definition to further clusters",
        there: &[
            (HOME, GADGETS),
            (HOME, GADGETS_TO_M1),
            (HOME, GADGET),
            (HOME, ALL_GADGETS),
        ],
        change: GADGETS_EVERYWHERE,
        expected: &["Gadget g: m1 stays, m2 created, m3 created"],
    },
];

/// What rules make of them.
const RULES: &[Story] = &[
    Story {
        claim: "a rule that fails keeps a new object away from its cluster alone",
        there: &[],
        change: "many",
        expected: &["ConfigMap a: m1 refused, m2 created"],
    },
    Story {
        claim: "a rule that fails leaves what is there as it is",
        there: &[(HOME, BLUE), (HOME, EVERYTHING)],
        change: FAILS_IN_M1,
        expected: &["ConfigMap a: m1 refused, m2 stays"],
    },
    Story {
        claim: "a namespace gets what overrides say",
        there: &[],
        change: "space",
        expected: &["Namespace bank: m1 created, m2 created, m3 created"],
    },
    Story {
        claim: "what a member stores and cannot apply is replaced",
        there: &[(HOME, WEB), (HOME, EVERYTHING)],
        change: TWICE_IN_M1,
        expected: &["Deployment web: m1 changed, m2 stays"],
    },
    Story {
        claim: "the same once it has been applied",
        there: &[(HOME, WEB), (HOME, EVERYTHING), (HOME, SCALED)],
        change: TWICE_IN_M1,
        expected: &["Deployment web: m1 changed, m2 stays"],
    },
];

/// What members make of what they are sent.
const THERE: &[Story] = &[
    Story {
        claim: "what left a template leaves the members",
        there: &[(HOME, BLUE), (HOME, EVERYTHING)],
        change: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {new: label}}, data: {colour: red}}",
        expected: &["ConfigMap a: m1 changed, m2 changed"],
    },
    Story {
        claim: "a full quota of a member refuses",
        there: &[("m1", FULL)],
        change: "quota",
        expected: &["ConfigMap a: m1 refused, m2 created"],
    },
    Story {
        claim: "what somebody else made stands in the way",
        there: &[(
            "m1",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {colour: green}}",
        )],
        change: "many-without-rules",
        expected: &["ConfigMap a: m1 conflict, m2 created"],
    },
    Story {
        claim: "a definition comes with its objects",
        there: &[],
        change: "gadgets",
        expected: &["Gadget g: m1 created, m2 created, m3 created"],
    },
    Story {
        claim: "a service keeps what its member gave it",
        there: &[
            (
                HOME,
                "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: web}, ports: [{port: 80}]}}",
            ),
            (HOME, EVERYTHING),
        ],
        change: "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: web}, ports: [{port: 81}]}}",
        expected: &["Service s: m1 changed, m2 changed"],
    },
    Story {
        claim: "a job's share is counted",
        there: &[(HOME, EVERYTHING)],
        change: "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 4, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}",
        expected: &["Job j: m1 created, m2 created"],
    },
];

const WEB_AND_A: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 6, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx, envFrom: [{configMapRef: {name: a}}]}]}}}}";
const A_TO_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: c}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], placement: {clusterAffinity: {clusterNames: [m1]}}}}";
const BRINGING: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {propagateDeps: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";
const BRINGING_TO_M3: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {propagateDeps: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [m3]}}}}";
const BRINGING_NOTHING: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {propagateDeps: false, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";

/// What comes along with others, and has a policy of its own.
const ALONG: &[Story] = &[
    Story {
        claim: "what is brought along no longer stays where its own policy sends it",
        there: &[
            (HOME, BLUE),
            (HOME, WEB_AND_A),
            (HOME, BRINGING),
            (HOME, A_TO_M1),
        ],
        change: BRINGING_NOTHING,
        expected: &["ConfigMap a: m1 stays, m2 deleted"],
    },
    Story {
        claim: "what is brought along moves with what brings it",
        there: &[
            (HOME, BLUE),
            (HOME, WEB_AND_A),
            (HOME, BRINGING),
            (HOME, A_TO_M1),
        ],
        change: BRINGING_TO_M3,
        expected: &["ConfigMap a: m1 stays, m2 deleted, m3 created"],
    },
    Story {
        claim: "what has a policy is brought along as well",
        there: &[(HOME, BLUE), (HOME, WEB_AND_A), (HOME, A_TO_M1)],
        change: BRINGING,
        expected: &["ConfigMap a: m1 stays, m2 created"],
    },
    Story {
        claim: "a policy of its own adds to where it is brought along",
        there: &[(HOME, BLUE), (HOME, WEB_AND_A), (HOME, BRINGING_TO_M3)],
        change: A_TO_M1,
        expected: &["ConfigMap a: m1 created, m3 stays"],
    },
];

const SCALED: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}";

const SCALER: &str = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 1, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}";
const BUSIER: &str = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 1, maxReplicas: 12, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}";
const OLD_SCALERS: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";
const NEW_SCALERS: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}}";
const FEWER_IN_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {resourceSelectors: [{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}], overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /spec/maxReplicas, operator: replace, value: 5}]}}]}}";
const GADGETS_IN_TWO: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.shop.io}, spec: {group: shop.io, scope: Namespaced, names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}, {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
const OLD_GADGETS_TO_M1: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: objects}, spec: {activationPreference: Lazy, resourceSelectors: [{apiVersion: shop.io/v1beta1, kind: Gadget}], placement: {clusterAffinity: {clusterNames: [m1]}}}}";
const OLD_GADGETS_TO_M2: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: objects}, spec: {activationPreference: Lazy, resourceSelectors: [{apiVersion: shop.io/v1beta1, kind: Gadget}], placement: {clusterAffinity: {clusterNames: [m2]}}}}";
const BIGGER_GADGET: &str =
    "{apiVersion: shop.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 4}}";

/// Kinds that are served in several versions, of which policies name one that the server does not like best.
const VERSIONS: &[Story] = &[
    Story {
        claim: "a policy may name any version",
        there: &[(HOME, SCALER)],
        change: OLD_SCALERS,
        expected: &["HorizontalPodAutoscaler web: m1 created, m2 created"],
    },
    Story {
        claim: "an override policy may name any version",
        there: &[(HOME, SCALER), (HOME, NEW_SCALERS)],
        change: FEWER_IN_M1,
        expected: &["HorizontalPodAutoscaler web: m1 changed, m2 stays"],
    },
    Story {
        claim: "they come together",
        there: &[],
        change: "scalers",
        expected: &["HorizontalPodAutoscaler web: m1 created, m2 created"],
    },
    Story {
        claim: "an edit in one version flows in another",
        there: &[(HOME, SCALER), (HOME, OLD_SCALERS), (HOME, FEWER_IN_M1)],
        change: BUSIER,
        expected: &["HorizontalPodAutoscaler web: m1 stays, m2 changed"],
    },
    Story {
        claim: "one more version changes nothing by itself",
        there: &[
            (HOME, GADGETS),
            (HOME, GADGETS_EVERYWHERE),
            (HOME, GADGET),
            (HOME, ALL_GADGETS),
        ],
        change: GADGETS_IN_TWO,
        expected: &["Gadget g: m1 stays, m2 stays, m3 stays"],
    },
    Story {
        claim: "a lazy policy waits, whatever version is liked best",
        there: &[
            (HOME, GADGETS),
            (HOME, GADGETS_EVERYWHERE),
            (HOME, GADGETS_IN_TWO),
            (HOME, OLD_GADGETS_TO_M1),
            (HOME, GADGET),
        ],
        change: OLD_GADGETS_TO_M2,
        expected: &["Gadget g: m1 stays"],
    },
    Story {
        claim: "until its template is edited",
        there: &[
            (HOME, GADGETS),
            (HOME, GADGETS_EVERYWHERE),
            (HOME, GADGETS_IN_TWO),
            (HOME, OLD_GADGETS_TO_M1),
            (HOME, GADGET),
            (HOME, OLD_GADGETS_TO_M2),
        ],
        change: BIGGER_GADGET,
        expected: &["Gadget g: m1 deleted, m2 created"],
    },
];

/// What a change stands for that is more than one object.
fn files(change: &str) -> String {
    let all: Vec<&str> = match change {
        "many" => vec![FAILS_IN_M1, BLUE, EVERYTHING],
        "many-without-rules" | "quota" => vec![BLUE, EVERYTHING],
        "space" => vec![
            "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: o}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace, name: bank}], overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {labelsOverrider: [{operator: replace, value: {tier: silver}}]}}]}}",
            BANK,
        ],
        "scalers" => vec![FEWER_IN_M1, SCALER, OLD_SCALERS],
        "gadgets" => vec![GADGETS, GADGETS_EVERYWHERE, GADGET, ALL_GADGETS],
        one => vec![one],
    };
    all.join("\n---\n")
}

async fn foretold(world: &World, supposed: Supposition) -> Value {
    let supposed = Supposition {
        json: true,
        ..supposed
    };
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let answer = simulate(admin.client(), &supposed, world.now()).await;
    let answer = answer.unwrap();
    assert!(answer.failure.is_none(), "{:?}", answer.failure);
    serde_json::from_str(&answer.text).unwrap()
}

/// Objects of members, by kind, name and member: what somebody wrote, and nothing that servers and the control plane note.
type Seen = BTreeMap<(String, String, String), Value>;

fn templates(told: &Value) -> impl Iterator<Item = &Value> {
    told["templates"].as_array().unwrap().iter()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn full_name(template: &Value) -> String {
    match text(template, "namespace") {
        "" => text(template, "name").to_owned(),
        namespace => format!("{namespace}/{}", text(template, "name")),
    }
}

/// All that members have of the templates that are told of.
async fn look(world: &World, told: &Value, members: &[&str]) -> Seen {
    let mut seen = Seen::new();
    for template in templates(told) {
        let (kind, name) = (text(template, "kind"), full_name(template));
        let plural = format!("{}s", kind.to_lowercase());
        for member in members {
            let served = world.member(member);
            // Who does not serve a kind has none of it.
            let is_served = kind != "Gadget"
                || served
                    .get("customresourcedefinitions", "gadgets.shop.io")
                    .await
                    .is_some();
            if !is_served {
                continue;
            }
            if let Some(found) = served.get(&plural, &name).await {
                let key = (kind.to_owned(), name.clone(), (*member).to_owned());
                seen.insert(key, written(found));
            }
        }
    }
    seen
}

fn written(object: Object) -> Value {
    let mut value = object.into_value();
    let fields = value.as_object_mut().unwrap();
    fields.shift_remove("status");
    let metadata = fields["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| name == "labels");
    if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
        labels.retain(|name, _| !name.contains("karmada.io"));
    }
    value
}

/// Where what members have is not what was foretold.
fn surprises(told: &Value, before: &Seen, after: &Seen, members: &[&str]) -> Vec<String> {
    let mut surprises = Vec::new();
    for template in templates(told) {
        let (kind, name) = (text(template, "kind"), full_name(template));
        for member in members {
            let clusters = template["clusters"].as_array().unwrap().iter();
            let mut clusters = clusters.filter(|cluster| text(cluster, "name") == *member);
            let fate = clusters.next();
            let action = fate.map_or("absent", |fate| text(fate, "action"));
            let key = (kind.to_owned(), name.clone(), (*member).to_owned());
            let (was, is) = (before.get(&key), after.get(&key));
            let is_so = match action {
                "created" => was.is_none() && is.is_some(),
                "changed" => is.is_some() && was != is,
                "deleted" => is.is_none(),
                // As it was, be it there or not.
                "stays" | "let go" | "refused" | "conflict" | "held back" => was == is,
                "absent" => is.is_none() || was == is,
                other => panic!("{other} is not expected here"),
            };
            let replicas = is.and_then(|is| is["spec"]["replicas"].as_i64());
            let foretold = fate.and_then(|fate| fate["replicasAfter"].as_i64());
            let counts = !["created", "changed", "stays"].contains(&action)
                || replicas.is_none()
                || replicas == foretold;
            // What overrides make of something new is told beside.
            let overridden = fate.map(|fate| fate["overrides"].clone());
            let lines = overridden.as_ref().and_then(Value::as_array);
            let comes_true = lines.into_iter().flatten().all(|line| {
                let path = text(line, "path");
                let there = is.and_then(|is| is.pointer(path));
                action != "created" || there == Some(&line["after"])
            });
            if !is_so || !counts || !comes_true {
                surprises.push(format!(
                    "{kind} {name} in {member} was to be {action} ({foretold:?} replicas, {overridden:?}): {was:?} became {is:?}"
                ));
            }
        }
    }
    surprises
}

/// What is told of a template: `Deployment web: m1 deleted, m2 created`.
fn summary(template: &Value) -> String {
    let clusters = template["clusters"].as_array().unwrap().iter();
    let clusters: Vec<String> = clusters
        .map(|cluster| format!("{} {}", text(cluster, "name"), text(cluster, "action")))
        .collect();
    let (kind, name) = (text(template, "kind"), text(template, "name"));
    format!("{kind} {name}: {}", clusters.join(", "))
}

async fn come_true(stories: &[Story]) {
    let mut wrong = Vec::new();
    for story in stories {
        let world = World::with_members(MEMBERS).await;
        for (place, yaml) in story.there {
            match *place {
                HOME => world.apply(yaml).await,
                member => world.member(member).apply(yaml).await,
            }
            world.advance(WHILE).await;
        }
        let change = files(story.change);
        let supposed = Supposition {
            manifests: Manifest::parse("f.yaml", &change).unwrap(),
            manager: Some("test".to_owned()),
            ..Supposition::default()
        };
        let told = foretold(&world, supposed).await;
        let before = look(&world, &told, &MEMBERS).await;
        for one in change.split("\n---\n") {
            world.apply(one).await;
            // A definition is served a moment later.
            world.advance(MOMENT).await;
        }
        world.advance(WHILE).await;
        let after = look(&world, &told, &MEMBERS).await;
        let mut all = surprises(&told, &before, &after, &MEMBERS);
        for expected in story.expected {
            if !templates(&told).any(|template| summary(template) == *expected) {
                all.push(format!("{expected} is not told, but {told:#}"));
            }
        }
        wrong.extend(all.iter().map(|what| format!("{}: {what}", story.claim)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn things_go_where_it_is_foretold() {
    come_true(PLACES).await;
}

#[tokio::test(start_paused = true)]
async fn rules_do_what_is_foretold() {
    come_true(RULES).await;
}

#[tokio::test(start_paused = true)]
async fn members_take_and_refuse_as_it_is_foretold() {
    come_true(THERE).await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_along_goes_where_it_is_foretold() {
    come_true(ALONG).await;
}

#[tokio::test(start_paused = true)]
async fn versions_are_those_that_policies_name() {
    come_true(VERSIONS).await;
}
