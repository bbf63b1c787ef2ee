//! Issuers of tokens that operators named: their keys fetched over HTTPS.

use std::sync::Arc;
use std::time::Duration;

use access::authenticate::TokenAuthenticator;
use access::oidc::{Fetch, Fetched, Oidc, OidcError};
use admission::{Caller, Endpoint};
use serve::server::Surroundings;

use crate::security::Issuer;

/// How long an issuer may take to answer.
const WAIT: Duration = Duration::from_secs(10);

/// An issuer, and how its keys are fetched.
pub(crate) struct Followed {
    oidc: Arc<Oidc>,
    fetch: Https,
}

struct Https {
    caller: Caller,
    authorities: Vec<u8>,
}

/// Believes these issuers once their keys have been fetched.
pub(crate) fn believe(
    issuers: &[Issuer],
    surroundings: &Arc<dyn Surroundings>,
    caller: &Caller,
) -> Result<Vec<Followed>, OidcError> {
    let followed = issuers.iter().map(|issuer| {
        let oidc = Oidc::new(issuer.options.clone(), Arc::clone(surroundings))?;
        Ok(Followed {
            oidc: Arc::new(oidc),
            fetch: Https {
                caller: caller.clone(),
                authorities: issuer.authorities.clone(),
            },
        })
    });
    followed.collect()
}

impl Followed {
    pub(crate) fn authenticator(&self) -> Arc<dyn TokenAuthenticator> {
        Arc::clone(&self.oidc) as _
    }

    /// Keeps the issuer's keys current, for ever.
    pub(crate) async fn follow(self) {
        self.oidc.follow(&self.fetch).await;
    }
}

impl Fetch for Https {
    fn fetch<'a>(&'a self, url: &'a str) -> Fetched<'a> {
        Box::pin(async move {
            let endpoint = Endpoint::from_url(url, self.authorities.clone());
            let endpoint = endpoint.map_err(|error| error.to_string())?;
            let fetched = self.caller.get(&endpoint, WAIT).await;
            fetched.map_err(|error| error.to_string())
        })
    }
}
