//! Where a webhook is: `clientConfig`, read once and resolved for each call.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use object::Value;
use serve::cache::{self, Cache};

/// What `service.port` is if it is not given.
const DEFAULT_PORT: u16 = 443;

/// How a webhook is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    place: Place,
    /// The authorities its certificate is checked with, in PEM; empty for those the machine trusts.
    pub(crate) authorities: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Url {
        host: String,
        port: u16,
        path: String,
    },
    Service {
        namespace: String,
        name: String,
        port: u16,
        path: String,
    },
}

/// An endpoint as a connection is made to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    /// The name or address connected to.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The name its certificate must have.
    pub(crate) server_name: String,
    /// The path, which may have a query.
    pub(crate) path: String,
}

/// Why a `clientConfig` leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Neither `url` nor `service`, or both.
    #[error("exactly one of url and service must be given")]
    Neither,
    /// The URL is not one, or not of HTTPS.
    #[error("url {url:?} is not an https URL with a host")]
    Url {
        /// As it was given.
        url: String,
    },
    /// The service has no name or an impossible port.
    #[error("service needs a namespace, a name and a port between 1 and 65535")]
    Service,
    /// The authorities are not base64.
    #[error("caBundle is not base64")]
    Authorities,
}

impl Endpoint {
    /// Reads a `clientConfig`, of a webhook or of a definition's conversion.
    ///
    /// # Errors
    /// When it does not say where, or says so in two ways.
    pub fn from_config(config: &Value) -> Result<Self, EndpointError> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
        let authorities = STANDARD
            .decode(text(config.get("caBundle")))
            .map_err(|_| EndpointError::Authorities)?;
        let place = match (config.get("url"), config.get("service")) {
            (Some(url), None | Some(Value::Null)) => read_url(url.as_str().unwrap_or_default())?,
            (None | Some(Value::Null), Some(service)) => {
                let port = match service.get("port").filter(|port| !port.is_null()) {
                    None => DEFAULT_PORT,
                    Some(port) => port
                        .as_u64()
                        .and_then(|port| u16::try_from(port).ok())
                        .filter(|port| *port > 0)
                        .ok_or(EndpointError::Service)?,
                };
                let (namespace, name) = (text(service.get("namespace")), text(service.get("name")));
                if namespace.is_empty() || name.is_empty() {
                    return Err(EndpointError::Service);
                }
                let path = text(service.get("path"));
                Place::Service {
                    namespace,
                    name,
                    port,
                    path: if path.starts_with('/') {
                        path
                    } else {
                        format!("/{path}")
                    },
                }
            }
            _ => return Err(EndpointError::Neither),
        };
        Ok(Self { place, authorities })
    }

    /// A URL of HTTPS, checked with these authorities, in PEM; with those the machine trusts if there are none.
    ///
    /// # Errors
    /// When it is no such URL.
    pub fn from_url(url: &str, authorities: Vec<u8>) -> Result<Self, EndpointError> {
        Ok(Self {
            place: read_url(url)?,
            authorities,
        })
    }

    /// Where to connect now. A service is looked up among the server's own: one that is an alias leads to the name it
    /// stands for, one with an address of its own to that, any other to its name in the machine's DNS. No pod runs in a
    /// control plane, so there are no endpoints to choose from.
    pub(crate) fn resolve(&self, cache: Option<&Cache>) -> Address {
        match &self.place {
            Place::Url { host, port, path } => Address {
                host: host.clone(),
                port: *port,
                server_name: host.clone(),
                path: path.clone(),
            },
            Place::Service {
                namespace,
                name,
                port,
                path,
            } => {
                let full = format!("{name}.{namespace}.svc");
                let found = cache.and_then(|cache| service_host(cache, namespace, name));
                Address {
                    host: found.unwrap_or_else(|| full.clone()),
                    port: *port,
                    server_name: full,
                    path: path.clone(),
                }
            }
        }
    }
}

/// What a service of the server says about where it is.
fn service_host(cache: &Cache, namespace: &str, name: &str) -> Option<String> {
    let services = cache.collection(&cache::name_of("", "services"));
    let service = services.find(&cache::object_key(namespace, name))?.value();
    let spec = service.get("spec")?;
    let text = |field: &str| spec.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("type") == "ExternalName" {
        let alias = text("externalName").trim_end_matches('.');
        return (!alias.is_empty()).then(|| alias.to_owned());
    }
    let address = text("clusterIP");
    let has_address = address.parse::<std::net::IpAddr>().is_ok();
    has_address.then(|| address.to_owned())
}

fn read_url(url: &str) -> Result<Place, EndpointError> {
    let bad = || EndpointError::Url {
        url: url.chars().take(256).collect(),
    };
    let uri: Uri = url.parse().map_err(|_| bad())?;
    let authority = uri.authority().ok_or_else(bad)?;
    let has_user = authority.as_str().contains('@');
    if uri.scheme_str() != Some("https") || authority.host().is_empty() || has_user {
        return Err(bad());
    }
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(Place::Url {
        host: host.to_owned(),
        port: authority.port_u16().unwrap_or(DEFAULT_PORT),
        path: if path.is_empty() {
            "/".to_owned()
        } else {
            path.to_owned()
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn client_configurations_lead_to_one_place_or_are_refused() {
        let show = |config: Value| match Endpoint::from_config(&config) {
            Ok(endpoint) => {
                let at = endpoint.resolve(None);
                format!("{}:{} as {} {}", at.host, at.port, at.server_name, at.path)
            }
            Err(error) => error.to_string(),
        };
        for (config, expected) in [
            (
                json!({"url": "https://hooks.example/check?x=1"}),
                "hooks.example:443 as hooks.example /check?x=1",
            ),
            (json!({"url": "https://[::1]:8443"}), "::1:8443 as ::1 /"),
            (
                json!({"service": {"namespace": "ops", "name": "hook", "path": "v"}}),
                "hook.ops.svc:443 as hook.ops.svc /v",
            ),
            (
                json!({"service": {"namespace": "ops", "name": "hook", "port": 9443}}),
                "hook.ops.svc:9443 as hook.ops.svc /",
            ),
            (json!({}), "exactly one of url and service must be given"),
            (
                json!({"url": "https://a", "service": {"namespace": "a", "name": "b"}}),
                "exactly one of url and service must be given",
            ),
            (
                json!({"url": "http://a/"}),
                "url \"http://a/\" is not an https URL with a host",
            ),
            (
                json!({"url": "https://u:p@a/"}),
                "url \"https://u:p@a/\" is not an https URL with a host",
            ),
            (
                json!({"service": {"namespace": "a", "name": "b", "port": 70000}}),
                "service needs a namespace, a name and a port between 1 and 65535",
            ),
            (
                json!({"url": "https://a", "caBundle": "!"}),
                "caBundle is not base64",
            ),
        ] {
            assert_eq!(show(config.clone()), expected, "{config}");
        }
    }
}
