//! Listens with TLS, always: certificates of an own authority, HTTP/1 and HTTP/2 on one port, and the name of whoever is
//! at the other end.
//!
//! The API server and simulated members stand behind it. A request reaches their handler with a [`Peer`] among its
//! extensions; what the peer may do is decided there.
//!
//! Entry points: [`Authority::open`] for the certificates, [`ServerIdentity`] for the one shown to clients,
//! [`Listener::bind`] and [`Listener::serve`].
//!
//! Invariants: no key is readable by others than its owner or printed; a certificate is replaced at two thirds of its life
//! without closing a connection, and ends no later than its authority; who is not known takes no place from who is known
//! and busy; shutdown lets requests under way end.
//!
//! Non-goals: authorization; tokens.

mod arriving;
mod authority;
mod conversation;
mod ending;
mod identity;
mod listener;
mod peer;
mod pem;
mod places;
mod private_file;
mod request;
mod trust;

pub use arriving::Arriving;
pub use authority::{Authority, AuthorityError, Issued, Subject};
pub use conversation::Voucher;
pub use identity::{IdentityError, ServerIdentity, Tls};
pub use listener::{BindError, Carrier, Limits, Listener};
pub use peer::{CertifiedUser, Peer};
pub use pem::{ChainError, check_certificates, check_request};
pub use private_file::{keep_private, private_directory, write_private};
pub use request::{RequestError, SigningRequest, Usage, requested_groups};
