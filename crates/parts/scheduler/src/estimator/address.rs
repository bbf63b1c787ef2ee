//! Where estimators are, and how they are spoken to.

use std::{sync::Arc, time::Duration};

use client::Client;
use object::{Object, ObjectKey, ResourceType, Value};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::{
    AskError, Nearby,
    unverified::{TlsError, Unverified},
};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How estimators are found and spoken to.
#[derive(Clone, Debug)]
pub struct EstimatorSettings {
    /// How long all answers for one decision may take: `--scheduler-estimator-timeout`.
    pub timeout: Duration,
    /// Where their Services are: `--scheduler-estimator-service-namespace`.
    pub namespace: String,
    /// What their Services' names begin with: `--scheduler-estimator-service-prefix`.
    pub prefix: String,
    /// The port of their Services: `--scheduler-estimator-port`.
    pub port: u16,
    /// How they are trusted; `None` speaks in the clear.
    pub tls: Option<Tls>,
    /// Whether those of pull-mode clusters are asked, too: `--disable-scheduler-estimator-in-pull-mode` does not.
    pub asks_pull_mode: bool,
    /// Those in this process, which are asked first.
    pub nearby: Option<Arc<dyn Nearby>>,
}

/// Who is trusted, and as whom to appear; PEM texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Whose certificates are believed.
    pub trust: Trusted,
    /// The own certificate and key, if estimators want to see one.
    pub identity: Option<(String, String)>,
}

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trusted {
    /// Those that this authority signed.
    SignedBy(String),
    /// All: `--insecure-skip-estimator-verify`.
    Anybody,
}

impl Default for EstimatorSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(3),
            namespace: "karmada-system".to_owned(),
            prefix: "karmada-scheduler-estimator".to_owned(),
            port: 10352,
            tls: None,
            asks_pull_mode: true,
            nearby: None,
        }
    }
}

/// Why it is not known where an estimator is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("its Service is {0}; only ExternalName is usable from here")]
    ServiceType(String),
    #[error("its Service has no port {0} with a number as its target")]
    Port(u16),
    #[error("its address cannot be used")]
    Unusable(#[source] tonic::transport::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A way to an estimator.
pub(super) struct Way {
    endpoint: Endpoint,
    /// Takes the place of TLS that checks certificates.
    unverified: Option<Unverified>,
}

impl Way {
    /// Connects when the first question is asked.
    pub(super) fn lazily(self) -> Channel {
        match self.unverified {
            None => self.endpoint.connect_lazy(),
            Some(connector) => self.endpoint.connect_with_connector_lazy(connector),
        }
    }

    /// Connects now.
    pub(super) async fn now(self) -> Result<Channel, tonic::transport::Error> {
        match self.unverified {
            None => self.endpoint.connect().await,
            Some(connector) => self.endpoint.connect_with_connector(connector).await,
        }
    }
}

/// Where an estimator may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    At(String),
    /// At the first, or else at the second.
    Either(String, String),
}

impl EstimatorSettings {
    /// Where a cluster's estimator is: what its Service in the control plane says, or where such Services are found in
    /// the cluster that the control plane runs in.
    pub(super) async fn find(&self, client: &Client, cluster: &str) -> Result<Found, AskError> {
        let Self {
            namespace,
            prefix,
            port,
            ..
        } = self;
        let name = format!("{prefix}-{cluster}");
        let services = ResourceType::namespaced("", "v1", "Service", "services");
        let key = ObjectKey::namespaced(namespace, &name);
        match client.get(&services, &key).await {
            Ok(service) => Ok(Found::At(external_address(&service, *port)?)),
            Err(error) if error.is_not_found() => Ok(Found::Either(
                format!("{name}.{namespace}.svc.cluster.local:{port}"),
                format!("{name}.{namespace}.svc:{port}"),
            )),
            Err(error) => Err(AskError::Service(error)),
        }
    }

    /// The way to the estimator at `address`.
    pub(super) fn way(&self, address: &str) -> Result<Way, AddressError> {
        // Where certificates are not checked, the connection is made elsewhere and is none of the endpoint's business.
        let (scheme, unverified) = match &self.tls {
            None => ("http", None),
            Some(Tls {
                trust: Trusted::Anybody,
                identity,
            }) => ("http", Some(Unverified::new(identity.as_ref())?)),
            Some(_) => ("https", None),
        };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
        let endpoint = endpoint
            .map_err(AddressError::Unusable)?
            .connect_timeout(CONNECT);
        let Some(Tls {
            trust: Trusted::SignedBy(authority),
            identity,
        }) = &self.tls
        else {
            return Ok(Way {
                endpoint,
                unverified,
            });
        };
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
        if let Some((certificate, key)) = identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        let endpoint = endpoint
            .tls_config(config)
            .map_err(AddressError::Unusable)?;
        Ok(Way {
            endpoint,
            unverified,
        })
    }
}

/// The address that an ExternalName Service stands for.
fn external_address(service: &Object, port: u16) -> Result<String, AddressError> {
    let sort = service.text_at(&["spec", "type"]).unwrap_or("ClusterIP");
    if sort != "ExternalName" {
        return Err(AddressError::ServiceType(sort.to_owned()));
    }
    let host = service
        .text_at(&["spec", "externalName"])
        .unwrap_or_default();
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_array);
    let target = ports.into_iter().flatten().find_map(|entry| {
        let is_ours = entry.get("port")?.as_u64() == Some(u64::from(port));
        let target = entry.get("targetPort")?.as_u64();
        target.filter(|target| is_ours && *target > 0)
    });
    let target = target.ok_or(AddressError::Port(port))?;
    Ok(format!("{host}:{target}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_says_where_an_estimator_is() {
        let address = |spec: Value| {
            let service = Object::from_value(json!({"spec": spec})).unwrap();
            external_address(&service, 10352).map_err(|problem| problem.to_string())
        };
        let named = |port: Value, target: Value| json!({"type": "ExternalName", "externalName": "m1.example.com", "ports": [{"port": port, "targetPort": target}]});
        assert_eq!(
            address(named(json!(10352), json!(30123))).unwrap(),
            "m1.example.com:30123"
        );
        let no_port = "its Service has no port 10352 with a number as its target";
        for (port, target) in [
            (json!(1), json!(2)),
            (json!(10352), json!("grpc")),
            (json!("x"), json!(2)),
        ] {
            assert_eq!(address(named(port, target)).unwrap_err(), no_port);
        }
        let foreign = "its Service is ClusterIP; only ExternalName is usable from here";
        assert_eq!(address(json!({})).unwrap_err(), foreign);
    }
}
