//! What leaves a file leaves the object, and is foretold to, whoever applied the file before.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use asking::{check, until};
use running::Up;

/// A deployment with fields that come and go.
fn file(labels: &str, spec: &str, container: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{app: web{labels}}}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
{spec}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, image: nginx{container}}}]}}
"
    )
}

const POLICY: &str = "
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: p}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
";

#[track_caller]
fn run(up: &Up, line: &str, input: &str) -> String {
    check(up, line, input, 0, &[])
}

/// Waits until the member has what was written last, and not what was left of an earlier object of the name.
#[track_caller]
fn await_arrival(up: &Up) {
    // In the order in which they come: an earlier object of the name had the owner too.
    for word in ["tier: gold", "owner: shop"] {
        let line = "karavel get deployment web -s members -C member1 -o yaml";
        until(up, line, "", &[word]);
    }
    until(
        up,
        "karavel explain deployment/web",
        "",
        &["karmada-es-member1/", "Applied True"],
    );
}

#[test]
fn what_leaves_a_file_is_foretold_to_leave_and_leaves() {
    let up = Up::start(1);
    run(&up, "karavel apply -f -", POLICY);
    let full = file(
        ", tier: gold",
        "  replicas: 3",
        ", env: [{name: A, value: b}]",
    );
    let less = file("", "", "");
    let shown = "karavel get deployment web -o jsonpath='{.metadata.labels} {.spec.replicas} {.spec.template.spec.containers[0].env}'";
    for first in [
        "karavel apply -f -",
        // As kubectl writes at the client: an update with a note.
        "karavel create -f - --save-config --field-manager kubectl-client-side-apply",
        "karavel create -f - --save-config --field-manager kubectl-create",
    ] {
        run(&up, first, &full);
        // Somebody else's field is in no file, and stays.
        run(
            &up,
            r#"karavel patch deployment web --type merge -p '{"metadata":{"labels":{"owner":"shop"}}}' --field-manager other"#,
            "",
        );
        await_arrival(&up);
        let foretold = run(&up, "karavel simulate -f -", &less);
        for line in ["tier", "env", "replicas"] {
            assert!(foretold.contains(line), "{first}: no {line} in\n{foretold}");
        }
        assert!(!foretold.contains("owner"), "{first}: {foretold}");
        let before = run(&up, shown, "");
        assert!(before.contains("gold"), "{first}: {before}");
        let rehearsed = run(&up, "karavel apply -f - --dry-run=server -o json", &less);
        assert!(
            !rehearsed.contains("\"tier\": \"gold\""),
            "{first}: {rehearsed}"
        );
        assert_eq!(run(&up, shown, ""), before, "a rehearsal changes nothing");
        let said = run(&up, "karavel apply -f -", &less);
        assert_eq!(said, "deployment.apps/web configured\n", "{first}");
        let after = run(&up, shown, "");
        assert!(after.contains(r#""owner":"shop""#), "{first}: {after}");
        assert!(!after.contains("gold"), "{first}: {after}");
        // No replicas are one, and no environment is none.
        assert!(after.trim().ends_with("} 1"), "{first}: {after}");
        let again = run(&up, "karavel apply -f -", &less);
        assert_eq!(again, "deployment.apps/web unchanged\n", "{first}");
        run(&up, "karavel delete deployment web", "");
    }
}
