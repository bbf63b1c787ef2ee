//! What the kubeconfigs say of the context that is meant, for advice: they are read as far as they can be.

use std::path::{Path, PathBuf};

use object::time::Time;
use object::{Value, base64};

use crate::reach::Reach;

/// The kubeconfigs that are meant and can be read.
pub(crate) struct Chosen {
    configs: Vec<(PathBuf, Value)>,
    context: Option<String>,
}

impl Chosen {
    pub(crate) fn read(reach: &Reach) -> Self {
        let files = match &reach.kubeconfig {
            Some(path) => vec![path.clone()],
            None => match std::env::var_os("KUBECONFIG") {
                Some(paths) if !paths.is_empty() => std::env::split_paths(&paths).collect(),
                _ => std::env::home_dir()
                    .map(|home| home.join(".kube").join("config"))
                    .into_iter()
                    .collect::<Vec<PathBuf>>(),
            },
        };
        let configs = files.into_iter().filter_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            let config = serde_saphyr::from_str::<Value>(&text).ok()?;
            Some((path, config))
        });
        Self {
            configs: configs.collect(),
            context: reach.context.clone(),
        }
    }

    /// The names of all contexts.
    pub(crate) fn contexts(&self) -> Vec<String> {
        let entries = self.entries("contexts");
        let names = entries.filter_map(|(_, entry)| entry["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// The context that is meant: the one that was typed, else the current one of the first file that has one.
    pub(crate) fn context(&self) -> Option<&str> {
        self.context.as_deref().or_else(|| {
            let named = self.configs.iter();
            let mut named = named.filter_map(|(_, config)| config["current-context"].as_str());
            named.find(|name| !name.is_empty())
        })
    }

    /// The command that hands out the credentials, if one does.
    pub(crate) fn plugin(&self) -> Option<&str> {
        let (_, user) = self.user()?;
        user["exec"]["command"].as_str()
    }

    /// Until when the client certificate holds, if there is one.
    pub(crate) fn certificate_end(&self) -> Option<Time> {
        let (file, user) = self.user()?;
        let pem = match user["client-certificate-data"].as_str() {
            Some(data) => base64::decode(data)?,
            None => {
                // Paths in a kubeconfig are meant from where it is.
                let path = user["client-certificate"].as_str()?;
                let directory = file.parent().unwrap_or(Path::new(""));
                std::fs::read(directory.join(path)).ok()?
            }
        };
        let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let end = certificate.validity().not_after.timestamp();
        Some(Time::from_unix_seconds(end))
    }

    fn user(&self) -> Option<(&Path, &Value)> {
        let meant = self.context()?;
        let mut contexts = self.entries("contexts");
        let (_, context) = contexts.find(|(_, entry)| entry["name"] == meant)?;
        let user = &context["context"]["user"];
        let mut users = self.entries("users");
        let (file, entry) = users.find(|(_, entry)| entry["name"] == *user)?;
        Some((file, &entry["user"]))
    }

    fn entries<'s>(&'s self, part: &'s str) -> impl Iterator<Item = (&'s Path, &'s Value)> {
        self.configs.iter().flat_map(move |(path, config)| {
            let entries = config[part].as_array().into_iter().flatten();
            entries.map(move |entry| (path.as_path(), entry))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_that_of_the_context_that_is_meant() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        let text = "
current-context: a
contexts: [{name: a, context: {user: alice}}, {name: b, context: {user: bob}}, {name: c, context: {user: nobody}}]
users: [{name: alice, user: {exec: {command: get-token}}}, {name: bob, user: {exec: {command: login}}}]
";
        std::fs::write(&path, text).unwrap();
        for (context, meant, plugin) in [
            (None, "a", Some("get-token")),
            (Some("b"), "b", Some("login")),
            (Some("c"), "c", None),
            (Some("d"), "d", None),
        ] {
            let chosen = Chosen::read(&Reach {
                kubeconfig: Some(path.clone()),
                context: context.map(str::to_owned),
            });
            assert_eq!(chosen.context(), Some(meant));
            assert_eq!(chosen.plugin(), plugin, "{meant}");
            assert_eq!(chosen.certificate_end(), None);
        }
    }
}
