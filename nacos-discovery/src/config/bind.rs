//! Which keys there are, and what each means.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use nacos_client::{ConfigError, Credentials, DEFAULT_CLUSTER, DEFAULT_GROUP, Namespace, Weight};

use super::bind_load_balancer::load_balancer;
use super::check::check_registration;
use super::read::{Note, Reader, Setting, duration};
use super::{
    AddressRules, ClientSettings, DiscoveryConfig, DiscoveryConfigError, HeartBeat, IpType, Listen, Management,
    Pattern, Place, ShutdownMode, ShutdownSettings,
};

pub(super) type Read<T> = Result<T, DiscoveryConfigError>;

/// Where unknown keys are refused.
const PREFIX: &str = "spring.cloud.nacos.discovery";

/// A key below [`PREFIX`].
macro_rules! key {
    ($suffix:literal) => {
        concat!("spring.cloud.nacos.discovery.", $suffix)
    };
}
pub(super) use key;

/// Reads the whole configuration.
pub(super) fn bind(reader: &mut Reader<'_>) -> Read<DiscoveryConfig> {
    let defaults = DiscoveryConfig::default();
    let application = reader.text("spring.application.name")?;
    let servers = servers(reader)?;
    let namespace = reader.setting(key!("namespace"))?;
    let config = DiscoveryConfig {
        enabled: reader.flag("spring.cloud.discovery.enabled", true)? & reader.flag(key!("enabled"), true)?,
        servers: servers.as_ref().map_or(defaults.servers, |setting| setting.text.clone()),
        namespace: namespace.as_ref().map(|setting| Namespace::new(&setting.text)).unwrap_or_default(),
        group: reader.text(key!("group"))?.unwrap_or_else(|| DEFAULT_GROUP.to_owned()),
        service: reader.text(key!("service"))?.or_else(|| application.clone()),
        application,
        cluster: reader.text(key!("cluster-name"))?.unwrap_or_else(|| DEFAULT_CLUSTER.to_owned()),
        weight: weight(reader)?,
        ephemeral: reader.flag(key!("ephemeral"), true)?,
        instance_enabled: reader.flag(key!("instance-enabled"), true)?,
        register_enabled: reader.flag("spring.cloud.service-registry.auto-registration.enabled", true)?
            & reader.flag(key!("register-enabled"), true)?,
        fail_fast: reader.flag(key!("fail-fast"), true)?,
        address: address(reader)?,
        port: port(reader)?,
        secure: reader.flag(key!("secure"), false)?,
        metadata: reader.map(key!("metadata"))?,
        heart_beat: heart_beat(reader)?,
        management: management(reader)?,
        listen: listen(reader)?,
        shutdown: shutdown(reader)?,
        client: client(reader)?,
        load_balancer: load_balancer(reader)?,
    };
    without_effect(reader)?;
    missing(reader)?;
    reader.refuse_unknown(PREFIX)?;
    check_client(reader, &config, servers, namespace)?;
    check_registration(reader, &config)?;
    Ok(config)
}

/// The servers of discovery, else those all of Nacos shares.
fn servers(reader: &mut Reader<'_>) -> Read<Option<Setting>> {
    for key in [key!("server-addr"), "spring.cloud.nacos.server-addr"] {
        let items = reader.list(key)?;
        let entries: Vec<&str> = items.iter().map(|item| item.text.strip_suffix('/').unwrap_or(&item.text)).collect();
        let text = entries.join(",");
        if let Some(first) = items.into_iter().next() {
            return Ok(Some(Setting::new(key, text, first.place)));
        }
        if let Some(commas) = reader.setting(key)? {
            return Err(commas.refused("addresses such as host:8848, split by commas"));
        }
    }
    Ok(None)
}

fn weight(reader: &mut Reader<'_>) -> Read<f64> {
    let parse = |text: &str| text.parse().ok().and_then(Weight::new);
    Ok(reader.parsed(key!("weight"), "a number from 0 to 10000", parse)?.map_or(1.0, Weight::get))
}

/// The port registered: a negative one stands for that listened on.
fn port(reader: &mut Reader<'_>) -> Read<Option<u16>> {
    let port = reader.parsed(key!("port"), "a port from 1 to 65535, or -1 for the one listened on", |text| match text
        .parse::<i32>()
        .ok()?
    {
        ..0 => Some(None),
        port => u16::try_from(port).ok().filter(|port| *port > 0).map(Some),
    });
    Ok(port?.flatten())
}

fn address(reader: &mut Reader<'_>) -> Read<AddressRules> {
    let defaults = AddressRules::default();
    Ok(AddressRules {
        ip: reader.parsed(key!("ip"), "an IP address or a host name, without a port", host)?,
        ip_type: reader.parsed(key!("ip-type"), "IPv4 or IPv6", |text| match text.to_ascii_lowercase().as_str() {
            "ipv4" => Some(IpType::V4),
            "ipv6" => Some(IpType::V6),
            _ => None,
        })?,
        network_interface: reader.text(key!("network-interface"))?,
        ignored_interfaces: patterns(reader, "spring.cloud.inetutils.ignored-interfaces")?,
        preferred_networks: patterns(reader, "spring.cloud.inetutils.preferred-networks")?,
        only_site_local: reader.flag("spring.cloud.inetutils.use-only-site-local-interfaces", false)?,
        default_ip: reader
            .number("spring.cloud.inetutils.default-ip-address", "an IP address")?
            .unwrap_or(defaults.default_ip),
        timeout: reader
            .parsed("spring.cloud.inetutils.timeout-seconds", "a number of seconds from 1 to 3600", |text| {
                text.parse().ok().filter(|seconds| (1..=3600).contains(seconds)).map(Duration::from_secs)
            })?
            .unwrap_or(defaults.timeout),
    })
}

/// An address, or a name that is at least not obviously something else.
fn host(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let named = !bare.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, ':' | '/' | '[' | ']'));
    (bare.parse::<IpAddr>().is_ok() || named && !bare.is_empty()).then(|| bare.to_owned())
}

fn patterns(reader: &mut Reader<'_>, key: &'static str) -> Read<Vec<Pattern>> {
    let items = reader.list(key)?;
    items.iter().map(|item| item.parse("a regular expression without look-around", Pattern::new)).collect()
}

/// If only the interval is set, the others follow it.
fn heart_beat(reader: &mut Reader<'_>) -> Read<HeartBeat> {
    let interval = reader.milliseconds(key!("heart-beat-interval"))?;
    let timeout = reader.milliseconds(key!("heart-beat-timeout"))?;
    let delete = reader.milliseconds(key!("ip-delete-timeout"))?;
    let heart_beat = HeartBeat::new(interval, timeout, delete);
    if let Some(text) = heart_beat.hurried() {
        reader.notes.push(Note::warn(text));
    }
    Ok(heart_beat)
}

fn management(reader: &mut Reader<'_>) -> Read<Management> {
    let port = reader.parsed("management.server.port", "a port from 0 to 65535, or -1 for none", |text| {
        match text.parse::<i32>().ok()? {
            // Whichever port is free is known to nobody here.
            ..=0 => Some(None),
            port => u16::try_from(port).ok().map(Some),
        }
    });
    Ok(Management {
        port: port?.flatten(),
        context_path: reader.text("management.server.servlet.context-path")?,
        address: reader.text("management.server.address")?,
        base_path: reader.text("management.endpoints.web.base-path")?,
    })
}

fn listen(reader: &mut Reader<'_>) -> Read<Listen> {
    let defaults = Listen::default();
    let address = reader.parsed("server.address", "an IP address or localhost", |text| match text {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        text => text.parse().ok(),
    });
    Ok(Listen {
        address: address?.unwrap_or(defaults.address),
        port: reader.number("server.port", "a port from 0 to 65535")?.unwrap_or(defaults.port),
    })
}

fn shutdown(reader: &mut Reader<'_>) -> Read<ShutdownSettings> {
    let defaults = ShutdownSettings::default();
    let mode = reader.parsed("server.shutdown", "graceful or immediate", |text| match text {
        _ if text.eq_ignore_ascii_case("graceful") => Some(ShutdownMode::Graceful),
        _ if text.eq_ignore_ascii_case("immediate") => Some(ShutdownMode::Immediate),
        _ => None,
    });
    let accepted = "milliseconds, or a duration such as 30s";
    Ok(ShutdownSettings {
        mode: mode?.unwrap_or_default(),
        propagation_wait: reader
            .parsed(key!("graceful-shutdown-wait-time"), accepted, duration)?
            .unwrap_or(defaults.propagation_wait),
        drain: reader
            .parsed("spring.lifecycle.timeout-per-shutdown-phase", accepted, duration)?
            .unwrap_or(defaults.drain),
    })
}

/// The client's own settings, by either place. What stands below `client` is open: names that our client does not know
/// are told, not refused.
fn client(reader: &mut Reader<'_>) -> Read<ClientSettings> {
    // A variable's name does not tell dots from dashes.
    let uniform = |name: &str| name.replace(['.', '-', '_'], "").to_ascii_lowercase();
    let names = reader.map(key!("client"))?.into_keys().map(|name| (uniform(&name), name));
    for (uniform, name) in names.collect::<BTreeMap<_, _>>() {
        if !["namingpushemptyprotection", "namingrequesttimeout", "contextpath"].contains(&&*uniform) {
            let key = key!("client");
            reader.notes.push(Note::warn(format!("{key}.{name} has no effect here: the client has no such setting")));
        }
    }
    let protection = reader.flag(key!("naming-push-empty-protection"), false)?
        | reader.flag(key!("client.naming-push-empty-protection"), false)?;
    let mut request_timeout = None;
    for key in [key!("naming-request-timeout"), key!("client.naming-request-timeout")] {
        let accepted = "milliseconds from 1 to 3600000, or -1 for the default";
        let timeout = reader.parsed(key, accepted, |text| match text {
            "-1" => Some(None),
            text => duration(text).filter(|t| (1..=3_600_000).contains(&t.as_millis())).map(Some),
        });
        let timeout = timeout?.flatten();
        request_timeout = request_timeout.or(timeout);
    }
    let context_path = reader.text(key!("context-path"))?.or(reader.text(key!("client.context-path"))?);
    let credentials = credentials(reader)?;
    Ok(ClientSettings { empty_protection: protection, request_timeout, credentials, context_path })
}

/// User and password of discovery, each else that which all of Nacos shares. Nobody without a user.
fn credentials(reader: &mut Reader<'_>) -> Read<Option<Credentials>> {
    let (user, password) = (reader.text(key!("username"))?, reader.text(key!("password"))?);
    // Asked for in any case: what is asked for is known.
    let (all_user, all_password) =
        (reader.text("spring.cloud.nacos.username")?, reader.text("spring.cloud.nacos.password")?);
    let password = password.or(all_password).unwrap_or_default();
    Ok(user.or(all_user).map(|user| Credentials::new(user, password)))
}

/// Keys that a Spring application may have, and that nothing here corresponds to.
fn without_effect(reader: &mut Reader<'_>) -> Read<()> {
    let streams = "changes come as streams";
    reader.meaningless(key!("watch.enabled"), streams)?;
    reader.meaningless(key!("watch-delay"), streams)?;
    reader.meaningless(key!("heart-beat.enabled"), streams)?;
    reader.meaningless(key!("log-name"), "logs go where the application's do")?;
    reader.meaningless(key!("failure-tolerance-enabled"), "the last list stays readable in any case")?;
    let threads = "the client has no threads of its own";
    reader.meaningless(key!("naming-client-beat-thread-count"), threads)?;
    reader.meaningless(key!("naming-polling-thread-count"), threads)?;
    reader.meaningless(key!("naming-polling-max-thread-count"), threads)?;
    reader.meaningless(key!("redo-delay-thread-count"), threads)?;
    reader.meaningless(key!("redo-delay-time"), "what was lost is registered again at once")?;
    reader.meaningless(key!("naming-async-query-subscribe-service"), "lists are compared every minute")?;
    reader.meaningless(key!("naming-request-domain-max-retry-count"), "requests are tried until their time is over")?;
    reader.meaningless(key!("is-use-cloud-namespace-parsing"), "the namespace is the one configured")?;
    reader.meaningless(key!("is-use-endpoint-parsing-rule"), "placeholders are put in everywhere")?;
    reader.meaningless(key!("enable-client-metrics"), "the client's status tells its counts")?;
    reader.meaningless(key!("log-all-properties"), "settings are never logged")
}

/// Keys of features that are not there.
fn missing(reader: &mut Reader<'_>) -> Read<()> {
    for key in [
        key!("access-key"),
        key!("secret-key"),
        key!("ram-role-name"),
        key!("signature-region-id"),
        key!("is-use-ram-info-parsing"),
    ] {
        reader.not_built_in(key, "signing with cloud keys")?;
    }
    for key in [
        key!("endpoint"),
        key!("endpoint-port"),
        key!("endpoint-context-path"),
        key!("endpoint-cluster-name"),
        key!("endpoint-query-params"),
        key!("endpoint-refresh-interval-seconds"),
    ] {
        reader.not_built_in(key, "the list of servers by an address server")?;
    }
    reader.not_built_in(key!("naming-cache-registry-dir"), "the cache on disk")?;
    if reader.flag(key!("naming-load-cache-at-start"), false)? {
        reader.not_built_in(key!("naming-load-cache-at-start"), "the cache on disk")?;
    }
    Ok(())
}

/// What the client would refuse is refused here, where its place is known.
fn check_client(
    reader: &mut Reader<'_>,
    config: &DiscoveryConfig,
    servers: Option<Setting>,
    namespace: Option<Setting>,
) -> Read<()> {
    let Err(error) = config.client_config() else { return Ok(()) };
    let culprit = match &error {
        ConfigError::Setting(e) => match e.field {
            "namespace" => namespace,
            "context_path" => reader.setting(key!("context-path"))?.or(reader.setting(key!("client.context-path"))?),
            _ => reader.setting("spring.application.name")?,
        },
        // Addresses that are not this one may hold passwords; the client shows the one without.
        ConfigError::Server { entry, .. } => servers.map(|all| match all.text.contains(['@', '?']) {
            true => all.with_text(entry),
            false => all,
        }),
        _ => servers,
    };
    let culprit = culprit.unwrap_or_else(|| Setting::new(key!("client"), String::new(), Place::Code));
    Err(culprit.refused(format!("what the client takes: {error}")))
}
