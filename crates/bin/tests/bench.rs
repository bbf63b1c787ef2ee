//! `karavel bench` as a person calls it, in its smallest size.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

fn karavel(arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(KARAVEL)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let (said, told) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{arguments:?}: {said}{told}");
    said
}

#[test]
fn every_workload_runs_and_its_reports_can_be_read_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let reports = ["--report", "run.json", "--report", "run.html"];
    let table = karavel(
        &[&["bench", "--self", "--size", "trial"], &reports[..]].concat(),
        at,
    );

    let listed = karavel(&["bench", "--list"], at);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 8, "{listed}");
    let report: Value =
        serde_json::from_slice(&std::fs::read(at.join("run.json")).unwrap()).unwrap();
    let page = std::fs::read_to_string(at.join("run.html")).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    let run: Vec<&str> = workloads
        .iter()
        .filter_map(|workload| workload["name"].as_str())
        .collect();
    assert_eq!(run, names);
    for step in workloads
        .iter()
        .flat_map(|workload| workload["steps"].as_array().unwrap())
    {
        assert_eq!(step["failures"], 0, "{step}");
        assert!(step["count"].as_u64().unwrap() > 0, "{step}");
        let name = step["name"].as_str().unwrap();
        assert!(table.contains(name), "{name} is not in {table}");
        assert!(page.contains(name), "{name} is not in the page");
    }

    let compared = karavel(&["bench", "compare", "run.json", "run.json"], at);
    assert!(
        compared.contains("1.00") && !compared.contains("NaN"),
        "{compared}"
    );
}
