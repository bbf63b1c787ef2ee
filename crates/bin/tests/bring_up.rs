//! `karavel up` on directories that are new, somebody else's, in use, or of an earlier run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod waiting;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// A process that is killed without warning when it is dropped, and what it said until it was up.
struct Up {
    process: Child,
    said: Vec<String>,
}

impl Up {
    fn start(data: &Path, flags: &[&str]) -> Self {
        Self::begin(command(data, flags))
    }

    fn begin(mut command: Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut up = Self {
            process,
            said: Vec::new(),
        };
        for line in lines.map(Result::unwrap) {
            let is_end = line.starts_with("Ctrl-C stops it");
            up.said.push(line);
            if is_end {
                return up;
            }
        }
        panic!("it did not come up: {:?}", up.said);
    }

    fn has_said(&self, words: &str) -> bool {
        self.said.iter().any(|line| line.contains(words))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(data: &Path, flags: &[&str]) -> Command {
    role("up", data, flags)
}

fn role(name: &str, data: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(KARAVEL);
    command
        .args([name, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .args(flags)
        .env_remove("KARAVEL_LISTEN")
        .stdin(Stdio::null());
    command
}

/// Runs a command against what is up; its exit code and all it said.
fn karavel(data: &Path, line: &str) -> (i32, String) {
    let output = Command::new(KARAVEL)
        .args(line.split(' '))
        .env("KUBECONFIG", data.join("kubeconfig"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn a_directory_of_somebody_else_is_left_as_it_is() {
    for (file, words) in [
        ("kubeconfig", "it holds kubeconfig"),
        ("PG_VERSION", "it holds PG_VERSION"),
        ("store/base.db", "it holds store"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "my: precious\n").unwrap();
        let output = command(directory.path(), &["--members", "0"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
        assert!(output.stdout.is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my: precious\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

#[test]
fn wrong_names_in_flags_are_refused_before_anything_is_begun() {
    for (flags, words) in [
        (
            ["--plugins", "*,-TaintTolerations"],
            "did you mean \"TaintToleration\"?",
        ),
        (
            ["--feature-gates", "Failovr=true"],
            "did you mean \"Failover\"?",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        for name in ["up", "server"] {
            let output = role(name, &data, &flags).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(words), "{said}");
            assert!(output.stdout.is_empty());
            assert!(!data.exists(), "{said}");
        }
    }
}

#[test]
fn a_directory_in_use_is_refused_before_anything_is_begun() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let _first = Up::start(&data, &["--members", "1"]);
    let output = command(&data, &["--members", "1"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is in use by another process"), "{said}");
    assert!(said.contains("stop that one first"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_member_that_was_let_go_stays_away_and_one_that_is_not_run_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let up = Up::start(&data, &["--members", "2"]);
    assert!(
        up.has_said("2 simulated members are running"),
        "{:?}",
        up.said
    );
    let (code, said) = karavel(&data, "unjoin member2");
    assert_eq!(code, 0, "{said}");
    drop(up);

    let up = Up::start(&data, &["--members", "2"]);
    assert!(up.has_said("going on with what is in"), "{:?}", up.said);
    assert!(up.has_said("member2 was let go earlier"), "{:?}", up.said);
    assert!(up.has_said("all members are ready"), "{:?}", up.said);
    let (_, names) = karavel(&data, "clusters -o name");
    assert_eq!(names, "cluster.cluster.karmada.io/member1\n");
    // The command that it tells brings the member back.
    let told = up
        .said
        .iter()
        .find(|line| line.contains("karavel join member2"));
    let told = told.unwrap().trim().trim_start_matches("karavel ");
    let (code, said) = karavel(&data, told);
    assert_eq!(code, 0, "{said}");
    drop(up);

    let up = Up::start(&data, &["--members", "1", "--demo"]);
    assert!(
        up.has_said("member2 has joined and is not run"),
        "{:?}",
        up.said
    );
    assert!(
        up.has_said("all members that run are ready"),
        "{:?}",
        up.said
    );
    assert!(up.has_said("karavel is up"), "{:?}", up.said);
    // What people made of the demonstration is theirs.
    let change = r#"patch deployment web -n shop -p {"spec":{"replicas":1}}"#;
    let (code, said) = karavel(&data, change);
    assert_eq!(code, 0, "{said}");
    drop(up);
    let up = Up::start(&data, &["--members", "1", "--demo"]);
    assert!(
        up.has_said("the namespace shop is there already"),
        "{:?}",
        up.said
    );
    let (_, replicas) = karavel(
        &data,
        "get deployment web -n shop -o jsonpath={.spec.replicas}",
    );
    assert_eq!(replicas, "1");
    assert!(
        up.has_said("explain deployment/web -n shop"),
        "{:?}",
        up.said
    );

    // A namespace of the name may be anybody's: nothing in it is proposed to be looked at.
    let (code, said) = karavel(&data, "delete deployment web -n shop");
    assert_eq!(code, 0, "{said}");
    drop(up);
    let up = Up::start(&data, &["--members", "1", "--demo"]);
    let kept = "the namespace shop is there already";
    assert!(up.has_said(kept), "{:?}", up.said);
    assert!(!up.has_said("deployment/web -n shop"), "{:?}", up.said);
    assert!(
        up.has_said("karavel create deployment web"),
        "{:?}",
        up.said
    );
    drop(up);

    // Those that were let go run, and are not there to demonstrate anything.
    let up = Up::start(&data, &["--members", "2"]);
    for name in ["member1", "member2"] {
        let (code, said) = karavel(&data, &format!("unjoin {name}"));
        assert_eq!(code, 0, "{said}");
    }
    drop(up);
    let up = Up::start(&data, &["--members", "2", "--demo"]);
    let why = "demo: left out, because all members that run were let go";
    assert!(up.has_said(why), "{:?}", up.said);
    assert!(up.has_said("karavel join NAME"), "{:?}", up.said);
    drop(up);

    // Without members there is nothing to demonstrate, and other commands are worth typing.
    let bare = directory.path().join("bare");
    let up = Up::start(&bare, &["--members", "0", "--demo"]);
    assert!(up.has_said("no member runs"), "{:?}", up.said);
    assert!(up.has_said("karavel join NAME"), "{:?}", up.said);
}

#[test]
fn the_commands_it_ends_with_work_as_printed_with_nothing_else_installed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut bare = command(&data, &["--members", "3", "--demo"]);
    // No home, no path, no locale: nothing but the program.
    bare.env_clear().current_dir(directory.path());
    let up = Up::begin(bare);
    let printed = up
        .said
        .iter()
        .skip_while(|line| !line.contains("In another terminal:"));
    let mut printed = printed.filter_map(|line| line.strip_prefix("  "));
    let export = printed.next().unwrap();
    let kubeconfig = export.strip_prefix("export KUBECONFIG=").unwrap();
    let commands: Vec<&str> = printed.collect();
    assert_eq!(commands.len(), 3, "{:?}", up.said);
    for line in commands {
        // It ends after a while, whatever has arrived by then.
        wait_for(|| {
            let words = line.strip_prefix("karavel ").unwrap().split(' ');
            let output = Command::new(KARAVEL)
                .args(words)
                .env_clear()
                .env("KUBECONFIG", kubeconfig)
                .current_dir("/")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            let is_all = said.contains("web") && said.contains("member3");
            match output.status.success() && is_all {
                true => Ok(()),
                false => Err(format!("{line}\n{said}")),
            }
        });
    }
}

#[test]
fn a_port_in_use_leaves_no_new_directory_behind() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap().to_string();
    for name in ["up", "server", "sim"] {
        let output = Command::new(KARAVEL)
            .args([name, "--listen", &address, "--data-dir"])
            .arg(&data)
            .env_remove("KARAVEL_LISTEN")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("it is in use by another process"), "{said}");
        assert!(!data.exists(), "{name}");
    }
}

/// All that is in a directory, byte by byte.
fn picture(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        match entry.is_dir() {
            true => all.extend(picture(&entry)),
            false => drop(all.insert(entry.clone(), std::fs::read(&entry).unwrap())),
        }
    }
    all
}

#[test]
fn a_directory_for_something_else_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (plane, member) = (directory.path().join("plane"), directory.path().join("sim"));
    drop(Up::start(&plane, &["--members", "1"]));
    drop(Up::begin(role("sim", &member, &[])));
    let of_members = plane.join("members/member1");
    for (name, data, words) in [
        ("up", &member, "is the data directory of simulated members"),
        (
            "server",
            &member,
            "is the data directory of simulated members",
        ),
        (
            "server",
            &of_members,
            "is the data directory of simulated members",
        ),
        ("sim", &plane, "is the data directory of a control plane"),
    ] {
        let before = picture(data);
        let output = role(name, data, &[]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
        assert!(said.contains("choose another --data-dir"), "{name}: {said}");
        assert!(picture(data) == before, "{name} changed {}", data.display());
    }
    // Each goes on with its own.
    drop(Up::begin(role("sim", &member, &[])));
    assert!(Up::start(&plane, &["--members", "1"]).has_said("going on with"));
}

#[test]
fn who_is_told_to_stop_on_the_way_up_stops_and_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for signal in ["-INT", "-TERM"] {
        let mut process = command(&data, &["--members", "3"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // The first thing that is said; a lot is to be done then.
        let first = lines.next().unwrap().unwrap();
        let told = Command::new("kill")
            .args([signal, &process.id().to_string()])
            .status();
        assert!(told.unwrap().success());
        let said: Vec<String> = lines.map(Result::unwrap).collect();
        let code = process.wait().unwrap().code();
        assert_eq!(code, Some(0), "{signal}: {first} {said:?}");
    }
    let up = Up::start(&data, &["--members", "3"]);
    assert!(up.has_said("all members are ready"), "{:?}", up.said);
}

#[test]
fn the_few_files_that_a_shell_allows_at_first_are_no_limit() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut shell = Command::new("bash");
    shell
        .args(["-c", "ulimit -S -n 48; exec \"$@\"", "bash", KARAVEL])
        .args(["up", "--members", "3", "--listen", "127.0.0.1:0"])
        .arg("--data-dir")
        .arg(&data)
        .stdin(Stdio::null());
    let up = Up::begin(shell);
    assert!(up.has_said("all members are ready"), "{:?}", up.said);
}
