//! What has entries: configmaps and secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use listen::{Issued, ServerIdentity};
use object::{Map, base64};
use serde_json::{Value, json};

use super::Words;
use crate::failure::Failure;
use crate::files::{self, Unread};

/// Entries of KEY=VALUE.
fn literals(words: &Words<'_>) -> Result<Vec<(String, String)>, Failure> {
    let literals = words.all("from-literal");
    literals
        .map(|text| match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(Failure::refused(
                format!("--from-literal: {text:?} is no KEY=VALUE"),
                "write for example --from-literal=colour=blue",
            )),
        })
        .collect()
}

/// Entries from files, called as the file unless named otherwise; a directory stands for the files in it.
fn files(words: &Words<'_>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut all = Vec::new();
    for text in words.all("from-file") {
        let (key, path) = match text.split_once('=') {
            Some((key, path)) => (Some(key), Path::new(path)),
            None => (None, Path::new(text)),
        };
        if key.is_none() && path.is_dir() {
            for file in files_in(path)? {
                let key = name_of(&file);
                all.push((key, read("from-file", &file)?));
            }
            continue;
        }
        let key = key.map_or_else(|| name_of(path), str::to_owned);
        if key.is_empty() {
            return Err(Failure::refused(
                format!("--from-file: {text:?} has no name"),
                "write KEY=FILE",
            ));
        }
        all.push((key, read("from-file", path)?));
    }
    Ok(all)
}

/// The files of a directory, by name. What lies deeper is left out, and so is what can be no key.
fn files_in(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(directory);
    let entries = entries.map_err(|error| unreadable("from-file", directory, &error.into()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.is_file() && is_key(&name_of(path)))
        .collect();
    files.sort();
    Ok(files)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name();
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn is_key(text: &str) -> bool {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    !text.is_empty() && text.chars().all(is_fine)
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_bytes(path).map_err(|why| unreadable(flag, path, &why))
}

fn unreadable(flag: &str, path: &Path, why: &Unread) -> Failure {
    why.of(&format!("--{flag}: "), &path.display().to_string())
}

/// Entries of files of `KEY=VALUE` lines. A key alone has the value that the environment has, if it has one.
fn environment(words: &Words<'_>) -> Result<Vec<(String, String)>, Failure> {
    let mut all = Vec::new();
    for path in words.all("from-env-file") {
        let bytes = read("from-env-file", Path::new(path))?;
        let wrong = |line: usize, why: String| {
            Failure::refused(
                format!("--from-env-file: {path}, line {line}: {why}"),
                "write KEY=VALUE lines; keys have letters, digits, dashes, dots and underscores",
            )
        };
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| wrong(1, "the file is no text".to_owned()))?;
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (line, std::env::var(line).ok()),
            };
            if !is_key(key) || key.starts_with(|letter: char| letter.is_ascii_digit()) {
                let why = format!("{key:?} is not a valid key name");
                return Err(wrong(number + 1, why));
            }
            all.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
    Ok(all)
}

/// Everything that flags say, by key.
fn entries(words: &Words<'_>) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    if words.has("from-env-file") && (words.has("from-file") || words.has("from-literal")) {
        return Err(Failure::refused(
            "from-env-file cannot be combined with from-file or from-literal",
            "leave one of them out",
        ));
    }
    let texts = literals(words)?.into_iter().chain(environment(words)?);
    let texts = texts.map(|(key, value)| (key, value.into_bytes()));
    let mut all = BTreeMap::new();
    for (key, value) in texts.chain(files(words)?) {
        if !is_key(&key) {
            return Err(Failure::refused(
                format!("{key:?} is not valid as a key name"),
                "keys have letters, digits, dashes, dots and underscores; name a file otherwise with KEY=FILE",
            ));
        }
        if all.insert(key.clone(), value).is_some() {
            return Err(Failure::refused(
                format!("cannot add key {key:?}, another key by that name already exists"),
                "name each key once",
            ));
        }
    }
    Ok(all)
}

/// Settings for everybody to read.
pub(super) fn configmap(words: &Words<'_>) -> Result<Value, Failure> {
    let (mut data, mut binary) = (Map::new(), Map::new());
    for (key, bytes) in entries(words)? {
        match String::from_utf8(bytes) {
            Ok(text) => drop(data.insert(key, text.into())),
            Err(raw) => drop(binary.insert(key, base64::encode(raw.as_bytes()).into())),
        }
    }
    let mut body = json!({});
    for (field, entries) in [("data", data), ("binaryData", binary)] {
        if !entries.is_empty() {
            body[field] = Value::Object(entries);
        }
    }
    Ok(body)
}

/// Settings that not everybody may read.
pub(super) fn secret(words: &Words<'_>) -> Result<Value, Failure> {
    let entries = entries(words)?.into_iter();
    let data: Map = entries
        .map(|(key, bytes)| (key, base64::encode(&bytes).into()))
        .collect();
    let mut body = json!({});
    // A server fills in the usual one.
    if let Some(kind) = words.value("type") {
        body["type"] = json!(kind);
    }
    if !data.is_empty() {
        body["data"] = Value::Object(data);
    }
    Ok(body)
}

/// A certificate and its key.
pub(super) fn tls(words: &Words<'_>) -> Result<Value, Failure> {
    let example = "add --cert=tls.crt --key=tls.key";
    let (Some(certificate), Some(key)) = (words.value("cert"), words.value("key")) else {
        return Err(Failure::refused("key and cert must be specified", example));
    };
    let certificate_pem = read("cert", Path::new(certificate))?;
    let key_pem = read("key", Path::new(key))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let pair = Issued {
        certificate_pem: text(&certificate_pem),
        key_pem: text(&key_pem),
        renew_at: SystemTime::UNIX_EPOCH,
        expires_at: SystemTime::UNIX_EPOCH,
    };
    let is_certificate = pair.certificate_pem.contains("BEGIN CERTIFICATE");
    let fits = ServerIdentity::new(&pair).map_err(|error| telemetry::chain(&error).to_string());
    if let (false, _) | (true, Err(_)) = (is_certificate, &fits) {
        let why = fits
            .err()
            .unwrap_or_else(|| "there is no certificate".to_owned());
        return Err(Failure::refused(
            format!("{certificate} and {key} are no certificate and its key: {why}"),
            "give the certificate with --cert and its own key with --key, both in PEM",
        ));
    }
    Ok(json!({
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": base64::encode(&certificate_pem), "tls.key": base64::encode(&key_pem)},
    }))
}

/// Where a user of a registry of images is known, if nothing else is said.
const REGISTRY: &str = "https://index.docker.io/v1/";

/// What a registry of images asks for.
pub(super) fn registry(words: &Words<'_>) -> Result<Value, Failure> {
    let kind = "kubernetes.io/dockerconfigjson";
    let file = ".dockerconfigjson";
    if words.has("from-file") {
        let entries = files(words)?;
        let [(_, bytes)] = entries.as_slice() else {
            return Err(Failure::refused(
                "one file has what a registry asks for",
                "give one with --from-file=.dockerconfigjson=FILE",
            ));
        };
        return Ok(json!({"type": kind, "data": {file: base64::encode(bytes)}}));
    }
    let (Some(user), Some(password)) = (
        words.value("docker-username"),
        words.value("docker-password"),
    ) else {
        return Err(Failure::refused(
            "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
            "add --docker-username=NAME --docker-password=WORD",
        ));
    };
    let mut known = json!({"username": user, "password": password});
    if let Some(email) = words
        .value("docker-email")
        .filter(|email| !email.is_empty())
    {
        known["email"] = json!(email);
    }
    known["auth"] = json!(base64::encode(format!("{user}:{password}").as_bytes()));
    let server = words.value("docker-server").unwrap_or(REGISTRY);
    let config = json!({"auths": {server: known}}).to_string();
    Ok(json!({"type": kind, "data": {file: base64::encode(config.as_bytes())}}))
}
