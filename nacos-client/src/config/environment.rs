use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use super::builder::Password;
use super::{ClientConfigBuilder, EmptyPolicy, Protocol, UdpPush, Validation};
use crate::error::ConfigError;

impl ClientConfigBuilder {
    /// Takes from the environment what the code has not set so far; what the code sets, before or after, wins.
    ///
    /// | variable | setting |
    /// |---|---|
    /// | `NACOS_SERVER_ADDR` | servers, split by `,` or `;` |
    /// | `NACOS_GRPC_PORT_OFFSET` | gRPC port offset |
    /// | `NACOS_PROTOCOL` | `auto`, `grpc` or `http` |
    /// | `NACOS_CONTEXT_PATH` | context path of the servers |
    /// | `NACOS_USERNAME` | user to log in as |
    /// | `NACOS_PASSWORD` | password of that user |
    /// | `NACOS_UDP_PORT` | port of UDP pushes, 0 = any free one, `off` = no pushes |
    /// | `NACOS_CLIENT_IP` | address that servers push to |
    /// | `NACOS_NAMESPACE` | namespace id |
    /// | `NACOS_APP_NAME` | application name |
    /// | `NACOS_LABELS` | labels, `key=value` split by `,` |
    /// | `NACOS_REQUEST_TIMEOUT_MS` | deadline of a call |
    /// | `NACOS_RECONCILE_INTERVAL_MS` | reconcile interval, 0 = never |
    /// | `NACOS_IDLE_TIME_MS` | idle time, 0 = for ever |
    /// | `NACOS_EMPTY_POLICY` | `default`, `accept`, `hold-forever`, or milliseconds to hold |
    /// | `NACOS_VALIDATION` | `client` or `server` |
    /// | `NACOS_MAX_MESSAGE_SIZE` | largest message of a server, in bytes |
    ///
    /// An empty variable counts as unset.
    ///
    /// # Errors
    /// [`ConfigError::Environment`] for a variable without a value of its kind.
    pub fn from_env(self) -> Result<Self, ConfigError> {
        self.fill(|name| match std::env::var(name) {
            Ok(value) => Ok(Some(value)),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(invalid(name, "is not valid Unicode")),
        })
    }

    fn fill(mut self, read: impl Fn(&'static str) -> Result<Option<String>, ConfigError>) -> Result<Self, ConfigError> {
        let read = |name| read(name).map(|value| value.filter(|text| !text.trim().is_empty()));
        let millis = |name| read(name)?.map(|text| number(name, &text).map(Duration::from_millis)).transpose();
        let or = |set: Option<Duration>, name| if set.is_some() { Ok(set) } else { millis(name) };
        if self.servers.is_none() {
            self.servers = read("NACOS_SERVER_ADDR")?.map(|list| vec![list]);
        }
        if self.grpc_port_offset.is_none() {
            let name = "NACOS_GRPC_PORT_OFFSET";
            self.grpc_port_offset = read(name)?.map(|text| number(name, &text)).transpose()?;
        }
        if self.protocol.is_none() {
            self.protocol = read("NACOS_PROTOCOL")?.map(|text| protocol(&text)).transpose()?;
        }
        if self.context_path.is_none() {
            self.context_path = read("NACOS_CONTEXT_PATH")?;
        }
        if self.credentials.is_none() && self.username.is_none() {
            self.username = read("NACOS_USERNAME")?;
        }
        if self.credentials.is_none() && self.password.is_none() {
            self.password = read("NACOS_PASSWORD")?.map(Password);
        }
        if self.udp_push.is_none() {
            self.udp_push = udp_push(read("NACOS_UDP_PORT")?, read("NACOS_CLIENT_IP")?)?;
        }
        if self.namespace.is_none() {
            self.namespace = read("NACOS_NAMESPACE")?;
        }
        if self.app_name.is_none() {
            self.app_name = read("NACOS_APP_NAME")?;
        }
        if self.labels.is_none() {
            self.labels = read("NACOS_LABELS")?.map(|text| labels("NACOS_LABELS", &text)).transpose()?;
        }
        // Timeouts set by code include the deadline of a call.
        if self.timeouts.is_none() {
            self.request_timeout = or(self.request_timeout, "NACOS_REQUEST_TIMEOUT_MS")?;
        }
        self.reconcile_interval = or(self.reconcile_interval, "NACOS_RECONCILE_INTERVAL_MS")?;
        self.idle_time = or(self.idle_time, "NACOS_IDLE_TIME_MS")?;
        if self.empty_policy.is_none() {
            self.empty_policy = read("NACOS_EMPTY_POLICY")?.map(|text| empty_policy(&text)).transpose()?;
        }
        if self.validation.is_none() {
            self.validation = read("NACOS_VALIDATION")?.map(|text| validation(&text)).transpose()?;
        }
        if self.max_message_size.is_none() {
            let name = "NACOS_MAX_MESSAGE_SIZE";
            self.max_message_size = read(name)?.map(|text| number(name, &text)).transpose()?;
        }
        Ok(self)
    }
}

fn invalid(name: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError::Environment { name, reason: reason.into() }
}

fn number<T: FromStr>(name: &'static str, text: &str) -> Result<T, ConfigError> {
    text.trim().parse().map_err(|_| invalid(name, format!("{text:?} is no number in range")))
}

fn labels(name: &'static str, text: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(invalid(name, format!("{pair:?} is not key=value"))),
        })
        .collect()
}

fn protocol(text: &str) -> Result<Protocol, ConfigError> {
    match text.trim() {
        "auto" => Ok(Protocol::Auto),
        "grpc" => Ok(Protocol::Grpc),
        "http" => Ok(Protocol::Http),
        other => Err(invalid("NACOS_PROTOCOL", format!("{other:?} is none of auto, grpc and http"))),
    }
}

fn udp_push(port: Option<String>, client_ip: Option<String>) -> Result<Option<UdpPush>, ConfigError> {
    if port.is_none() && client_ip.is_none() {
        return Ok(None);
    }
    let mut push = UdpPush::DEFAULT;
    match port.as_deref().map(str::trim) {
        None => {}
        Some("off") => push.enabled = false,
        Some(port) => push.port = number("NACOS_UDP_PORT", port)?,
    }
    if let Some(ip) = client_ip {
        let ip = ip.trim().parse().map_err(|_| invalid("NACOS_CLIENT_IP", format!("{ip:?} is no IP address")))?;
        push.client_ip = Some(ip);
    }
    Ok(Some(push))
}

fn empty_policy(text: &str) -> Result<EmptyPolicy, ConfigError> {
    match text.trim() {
        "default" => Ok(EmptyPolicy::Default),
        "accept" => Ok(EmptyPolicy::Accept),
        "hold-forever" => Ok(EmptyPolicy::HoldForever),
        millis => number("NACOS_EMPTY_POLICY", millis).map(|ms| EmptyPolicy::Hold { max: Duration::from_millis(ms) }),
    }
}

fn validation(text: &str) -> Result<Validation, ConfigError> {
    match text.trim() {
        "client" => Ok(Validation::Client),
        "server" => Ok(Validation::Server),
        other => Err(invalid("NACOS_VALIDATION", format!("{other:?} is neither client nor server"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientConfig;

    fn env(pairs: &'static [(&str, &str)]) -> impl Fn(&'static str) -> Result<Option<String>, ConfigError> {
        move |name| Ok(pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn cg54_code_wins_over_the_environment_in_either_order() {
        let vars = &[("NACOS_NAMESPACE", "env"), ("NACOS_SERVER_ADDR", "env:1;env:2"), ("NACOS_APP_NAME", "shop")];
        let before = ClientConfig::builder().namespace("code").fill(env(vars)).unwrap().build().unwrap();
        assert_eq!(before.namespace.as_str(), "code");
        assert_eq!((before.servers.len(), before.app_name()), (2, "shop"));
        let after = ClientConfig::builder().fill(env(vars)).unwrap().namespace("code").build().unwrap();
        assert_eq!(after.namespace.as_str(), "code");
    }

    #[test]
    fn variables_are_read_by_kind() {
        let vars = &[
            ("NACOS_SERVER_ADDR", "[::1]:8848"),
            ("NACOS_LABELS", "zone=a, tier = web"),
            ("NACOS_REQUEST_TIMEOUT_MS", "500"),
            ("NACOS_RECONCILE_INTERVAL_MS", "0"),
            ("NACOS_EMPTY_POLICY", "2000"),
            ("NACOS_VALIDATION", "server"),
            ("NACOS_PROTOCOL", "http"),
            ("NACOS_CONTEXT_PATH", "/registry"),
            ("NACOS_UDP_PORT", "55001"),
            ("NACOS_CLIENT_IP", "10.0.0.9"),
            ("NACOS_MAX_MESSAGE_SIZE", "1000000"),
            ("NACOS_NAMESPACE", " "),
        ];
        let config = ClientConfig::builder().fill(env(vars)).unwrap().build().unwrap();
        assert_eq!(config.labels.get("tier").map(String::as_str), Some("web"));
        assert_eq!(config.timeouts.request, Duration::from_millis(500));
        assert_eq!(config.reconcile_interval, None);
        assert_eq!(config.empty_policy, EmptyPolicy::Hold { max: Duration::from_secs(2) });
        assert_eq!(config.validation, Validation::Server);
        assert_eq!((config.protocol, config.context_path.as_str()), (Protocol::Http, "/registry"));
        assert_eq!((config.udp_push.port, config.udp_push.client_ip), (55_001, Some("10.0.0.9".parse().unwrap())));
        let off = ClientConfig::builder().servers(["a"]).fill(env(&[("NACOS_UDP_PORT", "off")])).unwrap();
        assert!(!off.build().unwrap().udp_push.enabled);
        assert_eq!(config.max_message_size, 1_000_000);
        assert_eq!(config.namespace.as_str(), "public");
    }

    #[test]
    fn a_bad_variable_is_an_error_that_names_it() {
        for (name, value) in [
            ("NACOS_IDLE_TIME_MS", "10s"),
            ("NACOS_LABELS", "zone"),
            ("NACOS_EMPTY_POLICY", "never"),
            ("NACOS_VALIDATION", "both"),
            ("NACOS_PROTOCOL", "HTTP/2"),
            ("NACOS_UDP_PORT", "no"),
            ("NACOS_CLIENT_IP", "here"),
            ("NACOS_GRPC_PORT_OFFSET", "70000"),
            ("NACOS_MAX_MESSAGE_SIZE", "64M"),
        ] {
            let read = |asked: &'static str| Ok((asked == name).then(|| value.to_owned()));
            let error = ClientConfig::builder().servers(["a"]).fill(read).unwrap_err();
            assert!(matches!(error, ConfigError::Environment { name: named, .. } if named == name), "{error:?}");
        }
    }
}
