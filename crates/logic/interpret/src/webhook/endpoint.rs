//! Where a service is.

use api::config::WebhookClientConfig;
use object::{Object, ObjectKey};

use crate::node::Node;

/// Where a question is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// To this URL.
    Url(String),
    /// To a Service of the control plane, which the caller looks up.
    Service {
        /// The Service.
        service: ObjectKey,
        /// One of its ports.
        port: i32,
        /// The path, with a slash at its beginning.
        path: String,
    },
}

/// Why a question cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The configuration names neither a URL nor a Service, or both.
    #[error("exactly one of url and service must be given")]
    Unclear,
    /// The Service has no address of its own.
    #[error("service {service} has no cluster address")]
    Headless {
        /// The Service.
        service: ObjectKey,
    },
    /// The Service has no such port.
    #[error("service {service} has no port {port}")]
    Port {
        /// The Service.
        service: ObjectKey,
        /// The port.
        port: i32,
    },
    /// The Service cannot be read.
    #[error("service {service}: {problem}")]
    Unreadable {
        /// The Service.
        service: ObjectKey,
        /// What is wrong with it.
        problem: String,
    },
}

const HTTPS: i32 = 443;

impl Endpoint {
    pub(super) fn of(config: &WebhookClientConfig) -> Result<Self, EndpointError> {
        match (&config.url, &config.service) {
            (Some(url), None) => Ok(Self::Url(url.clone())),
            (None, Some(service)) => Ok(Self::Service {
                service: ObjectKey::namespaced(&service.namespace, &service.name),
                port: service.port.unwrap_or(HTTPS),
                path: match service.path.as_deref() {
                    None | Some("") => "/".to_owned(),
                    Some(path) if path.starts_with('/') => path.to_owned(),
                    Some(path) => format!("/{path}"),
                },
            }),
            _ => Err(EndpointError::Unclear),
        }
    }

    /// The URL to send the question to, given the Service if it is there.
    ///
    /// A Service that is not there may still be reached by its name in the cluster that the control plane runs in.
    pub fn url(&self, found: Option<&Object>) -> Result<String, EndpointError> {
        let (service, port, path) = match self {
            Self::Url(url) => return Ok(url.clone()),
            Self::Service {
                service,
                port,
                path,
            } => (service, *port, path),
        };
        let host = match found {
            Some(object) => host(object, service, port)?,
            None => format!("{}.{}.svc", service.name, service.namespace),
        };
        Ok(format!("https://{host}:{port}{path}"))
    }

    /// The name that the service's certificate is for, where that is not the host of its URL.
    #[must_use]
    pub fn server_name(&self) -> Option<String> {
        match self {
            Self::Url(_) => None,
            Self::Service { service, .. } => {
                Some(format!("{}.{}.svc", service.name, service.namespace))
            }
        }
    }
}

fn host(object: &Object, service: &ObjectKey, port: i32) -> Result<String, EndpointError> {
    let unreadable = |error: crate::RuleError| EndpointError::Unreadable {
        service: service.clone(),
        problem: error.to_string(),
    };
    let root = Node::of(object);
    let spec = root.at(&["spec"]).map_err(unreadable)?;
    let text = |name: &str| -> Result<String, EndpointError> {
        let path = [name];
        let field = spec.at(&path).map_err(unreadable)?;
        Ok(field.text_or_empty().map_err(unreadable)?.to_owned())
    };
    if text("type")? == "ExternalName" {
        return text("externalName");
    }
    let ports = spec.at(&["ports"]).map_err(unreadable)?;
    let mut has_port = false;
    for entry in ports.list().map_err(unreadable)? {
        let number = entry.at(&["port"]).map_err(unreadable)?;
        has_port |= number.integer().map_err(unreadable)? == Some(port.into());
    }
    if !has_port {
        let service = service.clone();
        return Err(EndpointError::Port { service, port });
    }
    match text("clusterIP")?.as_str() {
        "" | "None" => Err(EndpointError::Headless {
            service: service.clone(),
        }),
        // An address of the sixth version needs brackets in a URL.
        address if address.contains(':') => Ok(format!("[{address}]")),
        address => Ok(address.to_owned()),
    }
}
