//! One server entry, as users write it.
//!
//! ```text
//! [http://] host [:port] [/ | /context/path] [? grpc_port=N | grpc_offset=N]
//! host = name | IPv4 | IPv6 (brackets needed only before a port, zone id allowed)
//! ```

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use super::{AddressField, AddressReason, ContextPath, ServerAddressError};

/// The main port of a server entry that names none, whatever its scheme.
pub(crate) const DEFAULT_PORT: u16 = 8848;
/// Distance from the main port to the gRPC port unless a setting says otherwise.
pub(crate) const DEFAULT_GRPC_OFFSET: u16 = 1000;

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServerAddress {
    /// Host name or IP address.
    pub(crate) host: Host,
    /// The main (HTTP) port.
    pub(crate) port: u16,
    /// The context path, if the entry names one.
    pub(crate) path: Option<ContextPath>,
    /// The gRPC port.
    pub(crate) grpc: GrpcPort,
}

/// Name or address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    /// A DNS name, resolved anew for each attempt to connect.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address, link-local ones with the zone they belong to.
    V6(Ipv6Addr, Option<String>),
}

/// How the gRPC port follows from the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GrpcPort {
    /// Main port + the offset of the whole list.
    Default,
    /// Main port + this offset.
    Offset(u16),
    /// This port: for proxies that map it to something else.
    Fixed(u16),
}

impl ServerAddress {
    /// The gRPC port, with `offset` where the entry says nothing.
    ///
    /// # Errors
    ///
    /// If the sum is beyond 65535.
    pub(crate) fn grpc_port(&self, offset: u16) -> Result<u16, ServerAddressError> {
        let sum = match self.grpc {
            GrpcPort::Fixed(port) => Some(port),
            GrpcPort::Offset(own) => self.port.checked_add(own),
            GrpcPort::Default => self.port.checked_add(offset),
        };
        sum.ok_or_else(|| ServerAddressError {
            text: self.to_string(),
            field: AddressField::GrpcPort,
            reason: AddressReason::Overflow,
        })
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let rest = strip_scheme(text.trim())?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = match path {
            "" => None,
            path => Some(path.parse().map_err(|reason| (AddressField::Path, reason))?),
        };
        let (host, port) = split_port(authority)?;
        let host = host.parse_host()?;
        let port = port.map_or(Ok(DEFAULT_PORT), |text| parse_port(text, AddressField::Port))?;
        let grpc = query.map_or(Ok(GrpcPort::Default), parse_query)?;
        let address = Self { host, port, path, grpc };
        match address.grpc {
            GrpcPort::Offset(own) if port.checked_add(own).is_none() => {
                Err((AddressField::GrpcPort, AddressReason::Overflow))
            }
            _ => Ok(address),
        }
    }
}

impl FromStr for ServerAddress {
    type Err = ServerAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).map_err(|(field, reason)| ServerAddressError { text: text.to_owned(), field, reason })
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::V6(..) => write!(f, "[{}]:{}", self.host, self.port)?,
            Host::V4(_) | Host::Name(_) => write!(f, "{}:{}", self.host, self.port)?,
        }
        match &self.path {
            None => {}
            Some(root) if root.as_str().is_empty() => f.write_str("//")?,
            Some(path) => write!(f, "{path}")?,
        }
        match self.grpc {
            GrpcPort::Default => Ok(()),
            GrpcPort::Offset(offset) => write!(f, "?grpc_offset={offset}"),
            GrpcPort::Fixed(port) => write!(f, "?grpc_port={port}"),
        }
    }
}

impl Host {
    /// The address, if it is one.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Name(_) => None,
            Self::V4(ip) => Some(IpAddr::V4(*ip)),
            Self::V6(ip, _) => Some(IpAddr::V6(*ip)),
        }
    }

    /// Host and port as an HTTP/2 authority: IPv6 in brackets, no zone.
    pub(crate) fn authority(&self, port: u16) -> String {
        match self {
            Self::V6(ip, _) => format!("[{ip}]:{port}"),
            Self::V4(_) | Self::Name(_) => format!("{self}:{port}"),
        }
    }
}

/// What a resolver takes: IPv6 without brackets, with its zone.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(ip) => write!(f, "{ip}"),
            Self::V6(ip, None) => write!(f, "{ip}"),
            Self::V6(ip, Some(zone)) => write!(f, "{ip}%{zone}"),
        }
    }
}

type Fault = (AddressField, AddressReason);

/// A host text whose kind is already known.
enum HostText<'a> {
    V6(&'a str),
    Other(&'a str),
}

fn strip_scheme(text: &str) -> Result<&str, Fault> {
    match text.split_once("://") {
        None => Ok(text),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => Ok(rest),
        Some(("", _)) => Err((AddressField::Scheme, AddressReason::Empty)),
        Some(_) => Err((AddressField::Scheme, AddressReason::Unsupported)),
    }
}

fn split_port(authority: &str) -> Result<(HostText<'_>, Option<&str>), Fault> {
    const BRACKETS: Fault = (AddressField::Host, AddressReason::Brackets);
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or(BRACKETS)?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(port),
            None if after.is_empty() => None,
            None => return Err(BRACKETS),
        };
        return Ok((HostText::V6(host), port));
    }
    if authority.contains([']', '[']) {
        return Err(BRACKETS);
    }
    match authority.split_once(':') {
        // A second colon: an IPv6 address without brackets, hence without port.
        Some((_, rest)) if rest.contains(':') => Ok((HostText::V6(authority), None)),
        Some((host, port)) => Ok((HostText::Other(host), Some(port))),
        None => Ok((HostText::Other(authority), None)),
    }
}

impl HostText<'_> {
    fn parse_host(&self) -> Result<Host, Fault> {
        match *self {
            Self::V6(text) => parse_v6(text),
            Self::Other(text) => parse_name(text),
        }
    }
}

fn parse_v6(text: &str) -> Result<Host, Fault> {
    let (ip, zone) = text.split_once('%').map_or((text, None), |(ip, zone)| (ip, Some(zone)));
    let ip = ip.parse().map_err(|_| (AddressField::Host, AddressReason::BadIpv6))?;
    let zone = zone.map(parse_zone).transpose()?;
    Ok(Host::V6(ip, zone))
}

fn parse_zone(zone: &str) -> Result<String, Fault> {
    if zone.is_empty() {
        return Err((AddressField::Zone, AddressReason::Empty));
    }
    match zone.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        Some(c) => Err((AddressField::Zone, AddressReason::Character(c))),
        None => Ok(zone.to_owned()),
    }
}

fn parse_name(text: &str) -> Result<Host, Fault> {
    let fault = |reason| Err((AddressField::Host, reason));
    if text.is_empty() {
        return fault(AddressReason::Empty);
    }
    if let Ok(ip) = text.parse() {
        return Ok(Host::V4(ip));
    }
    if let Some(c) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        return fault(AddressReason::Character(c));
    }
    // One dot at the end marks a name as absolute.
    let labels = text.strip_suffix('.').unwrap_or(text);
    if text.len() > MAX_NAME || labels.split('.').any(|label| label.is_empty() || label.len() > MAX_LABEL) {
        return fault(AddressReason::Length);
    }
    // Resolvers take `1.2.3` and `0x7f.1` for addresses of the old notation; nobody who types them means that.
    let last = labels.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X") {
        return fault(AddressReason::BadIpv4);
    }
    Ok(Host::Name(text.to_owned()))
}

fn parse_port(text: &str, field: AddressField) -> Result<u16, Fault> {
    if text.is_empty() {
        return Err((field, AddressReason::Empty));
    }
    // `u16::from_str` takes a leading plus sign.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err((field, AddressReason::NotAPort)),
    }
}

fn parse_query(query: &str) -> Result<GrpcPort, Fault> {
    let mut found = GrpcPort::Default;
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let next = match name {
            "grpc_port" => GrpcPort::Fixed(parse_port(value, AddressField::GrpcPort)?),
            "grpc_offset" => GrpcPort::Offset(parse_port(value, AddressField::GrpcPort)?),
            "" => return Err((AddressField::Query, AddressReason::Empty)),
            _ => return Err((AddressField::Query, AddressReason::Unexpected)),
        };
        if found != GrpcPort::Default {
            return Err((AddressField::GrpcPort, AddressReason::Twice));
        }
        found = next;
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
