//! A whole API server in this process, asked as whoever a test wants to be.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use karavel_apiserver::{ApiServer, Extensions, Handle, Options, Storage};
use object::Value;
use runtime::Tasks;
use serde_json::json;
use serve::call::User;
use tempfile::TempDir;
use tower_service::Service;

pub(crate) struct World {
    pub(crate) handle: Handle,
    // Dropping these ends the server and its files.
    _tasks: Tasks,
    _directory: TempDir,
}

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    /// The `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Extensions::default()).await
    }

    pub(crate) async fn with(extensions: Extensions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            data_dir: directory.path().to_owned(),
            storage: Storage::Memory,
            listen: "127.0.0.1:0".parse().unwrap(),
            names: Vec::new(),
            security: karavel_apiserver::Security::default(),
        };
        let server = ApiServer::start_with(options, extensions).await.unwrap();
        let handle = server.handle();
        let mut tasks = Tasks::new();
        server.run(&mut tasks).await.unwrap();
        Self {
            handle,
            _tasks: tasks,
            _directory: directory,
        }
    }

    /// Asks `METHOD /path` with a body, as a user, with further headers.
    pub(crate) async fn ask_with(
        &self,
        user: &User,
        headers: &[(&str, &str)],
        line: &str,
        body: Value,
    ) -> Answer {
        let (method, path) = line.split_once(' ').unwrap();
        let method: Method = method.parse().unwrap();
        let mut request = Request::builder().method(&method).uri(path);
        let is_typed = headers.iter().any(|(name, _)| *name == "content-type");
        if method == Method::PATCH && !is_typed {
            request = request.header("content-type", "application/merge-patch+json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = request.body(Full::new(body)).unwrap();
        let response = self
            .handle
            .as_user(user.clone())
            .call(request)
            .await
            .unwrap();
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
        let warnings = warnings.collect();
        if path.contains("watch=") {
            return Answer {
                code,
                body: Value::Null,
                warnings,
            };
        }
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Answer {
            code,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            warnings,
        }
    }

    pub(crate) async fn ask(&self, user: &User, line: &str, body: Value) -> Answer {
        self.ask_with(user, &[], line, body).await
    }

    /// Reads in a form: the code, the form of the answer and its bytes, as text with whatever is none left out.
    pub(crate) async fn read(
        &self,
        user: &User,
        path: &str,
        accept: &str,
    ) -> (u16, String, String) {
        let request = Request::get(path).header("accept", accept);
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let answer = self.handle.as_user(user.clone()).call(request).await;
        let (head, body) = answer.unwrap().into_parts();
        let media = head.headers["content-type"].to_str().unwrap().to_owned();
        let bytes = match path.contains("watch=") {
            true => Bytes::new(),
            false => body.collect().await.unwrap().to_bytes(),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (head.status.as_u16(), media, text)
    }

    /// Writes an object as the administrator, who must be let.
    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        let answer = self.ask(&master(), &format!("POST {path}"), object).await;
        let told = &answer.warnings;
        assert_eq!(answer.code, 201, "{path}: {} {told:?}", answer.body);
        answer.body
    }

    pub(crate) async fn namespace(&self, name: &str) {
        self.create("/api/v1/namespaces", json!({"metadata": {"name": name}}))
            .await;
    }

    /// Binds a role in a namespace, or everywhere if that is empty.
    pub(crate) async fn bind(&self, namespace: &str, role: (&str, &str), subject: Value) {
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let path = match namespace {
            "" => format!("{base}/clusterrolebindings"),
            namespace => format!("{base}/namespaces/{namespace}/rolebindings"),
        };
        let who = subject["name"].as_str().unwrap().replace(':', "-");
        let binding = json!({
            "metadata": {"name": format!("{}-{who}", role.1)},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1},
            "subjects": [subject],
        });
        self.create(&path, binding).await;
    }

    /// A role with one rule: `VERBS GROUP RESOURCES [NAMES]`, words of one kind joined by commas.
    pub(crate) async fn role(&self, namespace: &str, name: &str, rules: &[&str]) {
        let rules: Vec<Value> = rules
            .iter()
            .map(|rule| {
                let mut words = rule.split(' ').map(|words| {
                    let words = words.split(',').map(|word| match word {
                        "core" => "",
                        word => word,
                    });
                    words.collect::<Vec<_>>()
                });
                let mut rule = json!({
                    "verbs": words.next(), "apiGroups": words.next(), "resources": words.next(),
                });
                if let Some(names) = words.next() {
                    rule["resourceNames"] = json!(names);
                }
                rule
            })
            .collect();
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let path = match namespace {
            "" => format!("{base}/clusterroles"),
            namespace => format!("{base}/namespaces/{namespace}/roles"),
        };
        self.create(&path, json!({"metadata": {"name": name}, "rules": rules}))
            .await;
    }
}

pub(crate) fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(ToString::to_string).collect(),
        ..User::default()
    }
}

pub(crate) fn known(name: &str) -> User {
    user(name, &["system:authenticated"])
}

pub(crate) fn master() -> User {
    user("root", &["system:masters", "system:authenticated"])
}

pub(crate) fn subject(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name})
}
