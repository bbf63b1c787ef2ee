//! What is asked for, in the words that were typed.

use crate::failure::Failure;

/// A kind as it was typed, and which of its objects; all if none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) word: String,
    pub(crate) names: Vec<String>,
    /// Where, if files say so; elsewhere than the command is about.
    pub(crate) namespace: Option<String>,
}

/// Groups of kinds that can be named together: Kubernetes' own, and Karmada's.
const CATEGORIES: [&str; 2] = ["all", "karmada-io"];

impl Wanted {
    /// Whether a group of kinds is meant.
    pub(crate) fn is_category(&self) -> bool {
        CATEGORIES.contains(&self.word.as_str())
    }
}

/// Reads `TYPE[,TYPE] [NAME...]` or `TYPE/NAME...`.
pub(crate) fn read(words: &[String]) -> Result<Vec<Wanted>, Failure> {
    let example = "for example: karavel get deployments, or karavel get deployment/web";
    let refuse = |what: String| Err(Failure::refused(what, example));
    let Some((first, names)) = words.split_first() else {
        return refuse("nothing is named".to_owned());
    };
    if words.iter().any(|word| word.contains('/')) {
        return read_pairs(words).or_else(refuse);
    }
    let words = first.split(',').filter(|word| !word.is_empty());
    let wanted: Vec<Wanted> = words
        .map(|word| Wanted {
            word: word.to_owned(),
            names: names.to_vec(),
            namespace: None,
        })
        .collect();
    // Upstream: the words of kubectl, of a type and of a name that a script's variable was to give.
    if wanted.is_empty() {
        return refuse(format!("the server doesn't have a resource type {first:?}"));
    }
    if names.iter().any(String::is_empty) {
        return refuse("resource name may not be empty".to_owned());
    }
    Ok(wanted)
}

/// Reads objects that files name, each with its namespace, in their order.
pub(super) fn read_objects(objects: &[(String, Option<String>)]) -> Result<Vec<Wanted>, Failure> {
    let mut all = Vec::with_capacity(objects.len());
    for (word, namespace) in objects {
        let read = read(std::slice::from_ref(word))?.into_iter();
        all.extend(read.map(|wanted| Wanted {
            namespace: namespace.clone(),
            ..wanted
        }));
    }
    Ok(all)
}

/// Reads the type and the name of one object: `TYPE/NAME` or `TYPE NAME`.
pub(crate) fn read_one(words: &[String]) -> Result<(String, String), Failure> {
    let wanted = read(words)?;
    match wanted.as_slice() {
        [Wanted { word, names, .. }] => match names.as_slice() {
            [name] => Ok((word.clone(), name.clone())),
            [] => Err(Failure::refused(
                format!("exactly one object has to be named, and a name is missing after {word:?}"),
                format!(
                    "write {word}/NAME; `karavel get {word}` lists those of the control plane, and -s members those of members"
                ),
            )),
            _ => Err(Failure::refused(
                "exactly one object has to be named, and several are",
                "name one: TYPE/NAME, such as deployment/web",
            )),
        },
        _ => Err(Failure::refused(
            "exactly one object has to be named, and several types are",
            "name one: TYPE/NAME, such as deployment/web",
        )),
    }
}

/// `TYPE/NAME` for each; those of one type together, where its first one stands.
fn read_pairs(words: &[String]) -> Result<Vec<Wanted>, String> {
    let mut all: Vec<Wanted> = Vec::new();
    for word in words {
        let pair = word
            .split_once('/')
            .filter(|(kind, name)| !kind.is_empty() && !name.is_empty() && !name.contains('/'));
        let Some((kind, name)) = pair else {
            return Err(format!(
                "{word:?} is no TYPE/NAME, which all have to be if one is"
            ));
        };
        match all.iter_mut().find(|wanted| wanted.word == kind) {
            Some(wanted) => wanted.names.push(name.to_owned()),
            None => all.push(Wanted {
                word: kind.to_owned(),
                names: vec![name.to_owned()],
                namespace: None,
            }),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_names_are_told_apart() {
        for (line, expected) in [
            ("pods", Ok("pods:")),
            ("deploy web db", Ok("deploy:web,db")),
            ("deploy,svc", Ok("deploy: svc:")),
            ("deploy,svc web", Ok("deploy:web svc:web")),
            ("deploy/web", Ok("deploy:web")),
            ("deploy/a svc/b deploy/c", Ok("deploy:a,c svc:b")),
            ("deploy/a svc", Err("\"svc\" is no TYPE/NAME")),
            ("deploy a/b", Err("\"deploy\" is no TYPE/NAME")),
            ("deploy/", Err("\"deploy/\" is no TYPE/NAME")),
            ("a/b/c", Err("\"a/b/c\" is no TYPE/NAME")),
            (",", Err("the server doesn't have a resource type \",\"")),
            ("", Err("the server doesn't have a resource type \"\"")),
            (" web", Err("the server doesn't have a resource type \"\"")),
            ("cm ", Err("resource name may not be empty")),
            ("cm a ", Err("resource name may not be empty")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match (read(&words), expected) {
                (Ok(found), Ok(expected)) => {
                    let shown: Vec<String> = found
                        .iter()
                        .map(|wanted| format!("{}:{}", wanted.word, wanted.names.join(",")))
                        .collect();
                    assert_eq!(shown.join(" "), expected, "{line}");
                }
                (Err(failure), Err(expected)) => {
                    assert!(failure.to_string().contains(expected), "{line}: {failure}");
                }
                (found, expected) => panic!("{line}: {found:?} instead of {expected:?}"),
            }
        }
        assert!(read(&[]).is_err());
    }

    #[test]
    fn one_object_is_one_type_and_one_name() {
        for (line, expected) in [
            ("deploy/web", Some(("deploy", "web"))),
            ("deploy web", Some(("deploy", "web"))),
            ("deploy", None),
            ("deploy a b", None),
            ("deploy/a deploy/b", None),
            ("deploy,svc a", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let expected = expected.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
            assert_eq!(read_one(&words).ok(), expected, "{line}");
        }
        let failure = read_one(&["deploy".to_owned()]).unwrap_err();
        assert!(
            failure.hint().starts_with("write deploy/NAME;"),
            "{}",
            failure.hint()
        );
    }
}
