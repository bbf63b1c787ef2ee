//! The gate: from the head of a request to a user who may do what it asks for.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::request::Parts;
use listen::Peer;
use serve::cache::Cache;
use serve::call::User;
use serve::server::Surroundings;
use serve::status::Status;

use crate::attempt::{Attempt, What};
use crate::authenticate::{Authenticators, TokenAuthenticator};
use crate::bootstrap_token::BootstrapTokens;
use crate::impersonate;
use crate::keys::Keys;
use crate::policy::{Decision, Policy};
use crate::service_account::{DEFAULT_ISSUER, ServiceAccounts};
use crate::subprotocol;

/// Open to everybody whatever the roles say: probes must tell a server that is ill from one that is closed.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];
/// How probes ask.
const PROBING: [&str; 2] = ["get", "head"];

/// Who is who, and who may do what.
pub struct Access {
    authenticators: Authenticators,
    accounts: Arc<ServiceAccounts>,
    policy: Policy,
}

/// How a server knows its users.
pub struct Options {
    /// The keys service-account tokens are signed with.
    pub keys: Keys,
    /// Who issues them; tokens without another audience are meant for it.
    pub issuer: String,
    /// Further authenticators, asked after the built-in ones.
    pub further: Vec<Arc<dyn TokenAuthenticator>>,
}

/// A request that may go on.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Whom the request counts as.
    pub user: User,
    /// Who sent it, if that is somebody else.
    pub sender: Option<User>,
    /// What it attempts.
    pub attempt: Attempt,
    /// What gives it.
    pub decision: Decision,
}

/// A request that may not go on.
#[derive(Debug)]
pub struct Refused {
    /// What the client is told.
    pub status: Status,
    /// Whom it counted as, as far as that is known.
    pub user: Option<User>,
    /// Who sent it, if that is somebody else.
    pub sender: Option<User>,
    /// Why the rules did not let it, if it was them: it may also have made no sense before they were asked.
    pub denied: Option<String>,
}

impl Options {
    /// The usual issuer and no further authenticators.
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            issuer: DEFAULT_ISSUER.to_owned(),
            further: Vec::new(),
        }
    }
}

impl Access {
    /// The gate of the server whose cache this is.
    #[must_use]
    pub fn new(cache: &Cache, options: Options, surroundings: Arc<dyn Surroundings>) -> Self {
        let audiences = vec![options.issuer.clone()];
        let accounts = Arc::new(ServiceAccounts::new(
            options.keys,
            options.issuer,
            cache,
            Arc::clone(&surroundings),
        ));
        let newcomers = BootstrapTokens::new(cache, audiences.clone(), Arc::clone(&surroundings));
        let mut tokens: Vec<Arc<dyn TokenAuthenticator>> =
            vec![Arc::clone(&accounts) as _, Arc::new(newcomers)];
        tokens.extend(options.further);
        Self {
            authenticators: Authenticators::new(tokens, audiences, surroundings),
            accounts,
            policy: Policy::follow(cache),
        }
    }

    /// Lets a request in, or not. What it showed to be let in goes no further: the credentials and the wish to act as
    /// somebody else are taken out of its head.
    pub fn admit(&self, parts: &mut Parts) -> Result<Admitted, Box<Refused>> {
        let peer = parts.extensions.get::<Peer>();
        let sender = self
            .authenticators
            .user(peer, &parts.headers)
            .map_err(|status| {
                Box::new(Refused {
                    status,
                    user: None,
                    sender: None,
                    denied: None,
                })
            })?;
        parts.headers.remove(AUTHORIZATION);
        subprotocol::strip(&mut parts.headers);
        self.admit_user(sender, parts)
    }

    /// Lets a request of a known user in, or not.
    pub fn admit_user(&self, sender: User, parts: &mut Parts) -> Result<Admitted, Box<Refused>> {
        let refuse = |status: Status, user: &User, sender: Option<&User>| {
            Box::new(Refused {
                status,
                user: Some(user.clone()),
                sender: sender.cloned(),
                denied: None,
            })
        };
        let impersonation = impersonate::read(&parts.headers);
        let impersonation = impersonation.map_err(|status| refuse(status, &sender, None))?;
        let (user, sender) = match impersonation {
            None => (sender, None),
            Some(impersonation) => {
                for attempt in &impersonation.attempts {
                    if let Decision::Denied(why) = self.policy.decide(&sender, attempt) {
                        let mut refused = refuse(attempt.forbidden(&sender, &why), &sender, None);
                        refused.denied = Some(why);
                        return Err(refused);
                    }
                }
                impersonate::strip(&mut parts.headers);
                (impersonation.user, Some(sender))
            }
        };
        let path = parts.uri.path();
        let attempt = Attempt::read(&parts.method, path, parts.uri.query().unwrap_or_default())
            .map_err(|status| refuse(status, &user, sender.as_ref()))?;
        let decision = self.decide(&user, &attempt);
        if let Decision::Denied(why) = &decision {
            let status = attempt.forbidden(&user, why);
            let mut refused = refuse(status, &user, sender.as_ref());
            refused.denied = Some(why.clone());
            return Err(refused);
        }
        Ok(Admitted {
            user,
            sender,
            attempt,
            decision,
        })
    }

    /// Whether a user may do something.
    #[must_use]
    pub fn decide(&self, user: &User, attempt: &Attempt) -> Decision {
        match &attempt.what {
            What::Path(path)
                if PROBES.contains(&path.as_str()) && PROBING.contains(&&*attempt.verb) =>
            {
                Decision::Probe
            }
            _ => self.policy.decide(user, attempt),
        }
    }

    /// The roles and bindings in force.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// All ways to say who one is.
    #[must_use]
    pub fn authenticators(&self) -> &Authenticators {
        &self.authenticators
    }

    /// The maker of service-account tokens.
    #[must_use]
    pub fn accounts(&self) -> &Arc<ServiceAccounts> {
        &self.accounts
    }
}
