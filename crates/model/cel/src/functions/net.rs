//! Addresses of the internet protocol and ranges of them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (&["ip(string) IP", "CIDR.ip() IP"], ip),
    (&["isIP(string) bool"], is_ip),
    (&["ip.isCanonical(string) bool"], is_canonical),
    (&["IP.family() int"], family),
    (&["IP.isUnspecified() bool"], is_unspecified),
    (&["IP.isLoopback() bool"], is_loopback),
    (&["IP.isLinkLocalMulticast() bool"], is_link_local_multicast),
    (&["IP.isLinkLocalUnicast() bool"], is_link_local_unicast),
    (&["IP.isGlobalUnicast() bool"], is_global_unicast),
    (&["cidr(string) CIDR"], cidr),
    (&["isCIDR(string) bool"], is_cidr),
    (
        &["CIDR.containsIP(string) bool", "CIDR.containsIP(IP) bool"],
        contains_ip,
    ),
    (
        &[
            "CIDR.containsCIDR(string) bool",
            "CIDR.containsCIDR(CIDR) bool",
        ],
        contains_cidr,
    ),
    (&["CIDR.masked() CIDR"], masked),
    (&["CIDR.prefixLength() int"], prefix_length),
];

/// An address and how many of its bits name a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = address_of(address)?;
        let plain = !bits.is_empty()
            && bits.bytes().all(|byte| byte.is_ascii_digit())
            && (bits == "0" || !bits.starts_with('0'));
        let bits: u8 = plain.then(|| bits.parse().ok()).flatten()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }

    /// The network alone.
    fn network(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                Ipv4Addr::from(u32::from(address) & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.bits))
                    .unwrap_or(0);
                Ipv6Addr::from(u128::from(address) & mask).into()
            }
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self {
                address,
                bits: self.bits,
            }
            .network()
                == self.network()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", ip_text(self.address), self.bits)
    }
}

/// Addresses without a zone, and no IPv4 address dressed as IPv6.
fn address_of(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => None,
        other => Some(other),
    }
}

pub(crate) fn ip_text(address: IpAddr) -> String {
    address.to_string()
}

fn text<'v>(args: &'v [Value<'_>]) -> Result<&'v str, Fault> {
    match args {
        [Value::String(text)] => Ok(text),
        _ => Err(Fault::no_overload()),
    }
}

fn no_address(text: &str) -> Fault {
    Fault::new(format!(
        "IP Address {text:?} parse error during conversion from string"
    ))
}

fn no_range(text: &str) -> Fault {
    Fault::new(format!(
        "network address parse error during conversion from string: {text:?}"
    ))
}

fn ip<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::Cidr(range)] = args {
        return Ok(Value::Ip(range.address));
    }
    let text = text(args)?;
    address_of(text)
        .map(Value::Ip)
        .ok_or_else(|| no_address(text))
}

fn is_ip<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(address_of(text(args)?).is_some()))
}

fn is_canonical<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let text = text(args)?;
    let address = address_of(text).ok_or_else(|| no_address(text))?;
    Ok(Value::Bool(ip_text(address) == text))
}

fn address(args: &[Value<'_>]) -> Result<IpAddr, Fault> {
    match args {
        [Value::Ip(address)] => Ok(*address),
        _ => Err(Fault::no_overload()),
    }
}

fn family<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(if address(args)?.is_ipv4() { 4 } else { 6 }))
}

fn is_unspecified<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(address(args)?.is_unspecified()))
}

fn is_loopback<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(address(args)?.is_loopback()))
}

fn is_link_local_multicast<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(match address(args)? {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => matches!(address.octets(), [0xff, second, ..] if second & 0x0f == 2),
    }))
}

fn link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_link_local_unicast<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(link_local_unicast(address(args)?)))
}

fn is_global_unicast<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let address = address(args)?;
    let broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
    Ok(Value::Bool(
        !(address.is_unspecified()
            || address.is_loopback()
            || address.is_multicast()
            || broadcast
            || link_local_unicast(address)),
    ))
}

fn cidr<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let text = text(args)?;
    Cidr::parse(text)
        .map(Value::Cidr)
        .ok_or_else(|| no_range(text))
}

fn is_cidr<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(Cidr::parse(text(args)?).is_some()))
}

fn contains_ip<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (range, address) = match args {
        [Value::Cidr(range), Value::Ip(address)] => (range, *address),
        [Value::Cidr(range), Value::String(text)] => {
            (range, address_of(text).ok_or_else(|| no_address(text))?)
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Bool(range.contains(address)))
}

fn contains_cidr<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (range, other) = match args {
        [Value::Cidr(range), Value::Cidr(other)] => (range, *other),
        [Value::Cidr(range), Value::String(text)] => {
            (range, Cidr::parse(text).ok_or_else(|| no_range(text))?)
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Bool(
        other.bits >= range.bits && range.contains(other.network()),
    ))
}

fn masked<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Cidr(range)] => Ok(Value::Cidr(Cidr {
            address: range.network(),
            bits: range.bits,
        })),
        _ => Err(Fault::no_overload()),
    }
}

fn prefix_length<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Cidr(range)] => Ok(Value::Int(range.bits.into())),
        _ => Err(Fault::no_overload()),
    }
}
