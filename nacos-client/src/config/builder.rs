use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use nacos_proto::{MAX_MESSAGE_SIZE, param};

use super::{ClientConfig, EmptyPolicy, HoldTimes, Protocol, Timeouts, UdpPush, Validation};
use crate::auth::{Credentials, CredentialsSource};
use crate::error::{ConfigError, InvalidArgument};
use crate::model::Namespace;
use crate::servers::{AddressField, AddressReason, DEFAULT_GRPC_OFFSET, ServerList};

const DEFAULT_APP_NAME: &str = "unknown";
const DEFAULT_RECONCILE: Duration = Duration::from_secs(60);
const DEFAULT_IDLE: Duration = Duration::from_secs(600);
const DEFAULT_HOLD: HoldTimes = HoldTimes { window: Duration::from_secs(5), majority: Duration::from_secs(30) };
/// In bytes. No list of any use fits below; what is above is taken for a slip of units.
const MESSAGE_SIZES: RangeInclusive<usize> = 64 << 10..=1 << 30;
/// Longer settings are taken for a slip of units.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
const LONGEST_PERIOD: Duration = Duration::from_secs(7 * 24 * 3600);

/// Collects settings; [`ClientConfigBuilder::build`] validates them. A setter that is called twice counts the last time.
#[derive(Debug, Clone, Default)]
pub struct ClientConfigBuilder {
    pub(super) servers: Option<Vec<String>>,
    pub(super) grpc_port_offset: Option<u16>,
    pub(super) protocol: Option<Protocol>,
    pub(super) context_path: Option<String>,
    pub(super) udp_push: Option<UdpPush>,
    pub(super) username: Option<String>,
    pub(super) password: Option<Password>,
    pub(super) credentials: Option<CredentialsSource>,
    pub(super) namespace: Option<String>,
    pub(super) app_name: Option<String>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) timeouts: Option<Timeouts>,
    pub(super) request_timeout: Option<Duration>,
    pub(super) reconcile_interval: Option<Duration>,
    pub(super) idle_time: Option<Duration>,
    pub(super) empty_policy: Option<EmptyPolicy>,
    pub(super) hold_times: Option<HoldTimes>,
    pub(super) validation: Option<Validation>,
    pub(super) max_metadata: Option<usize>,
    pub(super) max_message_size: Option<usize>,
}

impl ClientConfigBuilder {
    /// The servers, each `host`, `host:port`, `[ipv6]:port`, with `http://` in front if you like; port 8848 unless
    /// given. An entry may itself be a list split by `,` or `;`. The gRPC port is the port plus
    /// [`ClientConfigBuilder::grpc_port_offset`], or what `?grpc_port=` behind the address says. A path behind the address
    /// is the [context path](ClientConfigBuilder::context_path) of this server.
    #[must_use]
    pub fn servers<S: Into<String>>(mut self, servers: impl IntoIterator<Item = S>) -> Self {
        self.servers = Some(servers.into_iter().map(Into::into).collect());
        self
    }

    /// Distance from a server's port to its gRPC port; default 1000.
    #[must_use]
    pub fn grpc_port_offset(mut self, offset: u16) -> Self {
        self.grpc_port_offset = Some(offset);
        self
    }

    /// What to speak with the servers; default [`Protocol::Auto`].
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// The path below which servers serve HTTP, of those whose entry names none; default `/nacos`, empty for the root.
    #[must_use]
    pub fn context_path(mut self, path: impl Into<String>) -> Self {
        self.context_path = Some(path.into());
        self
    }

    /// The user to log in as, together with a [password](ClientConfigBuilder::password); default none, and a blank one is none.
    ///
    /// A login goes over HTTP, also where all else goes over gRPC: to the path and port of HTTP of one of the servers. The client logs in at its first use, replaces
    /// the token before its life ends and when a server rejects it, and goes on with the old one where that fails.
    #[must_use]
    pub fn username(mut self, name: impl Into<String>) -> Self {
        self.username = Some(name.into());
        self
    }

    /// The password of the [user](ClientConfigBuilder::username). It is in no log, error or URL.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Password(password.into()));
        self
    }

    /// User and password at once; see [`ClientConfigBuilder::username`], over which it takes precedence.
    #[must_use]
    pub fn user(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(CredentialsSource::Fixed(credentials));
        self
    }

    /// Where user and password come from, if they change while the client runs: asked before each login. Takes precedence over
    /// [`ClientConfigBuilder::username`].
    ///
    /// It runs in a task of its own and may take 10 s. While servers refuse what it gave it is asked every second, and something new is tried at once.
    ///
    /// ```
    /// # use nacos_client::{ClientConfig, Credentials};
    /// let config = ClientConfig::builder().servers(["127.0.0.1"]).credentials(|| async {
    ///     Ok(Credentials::new("app", std::fs::read_to_string("/run/secrets/nacos")?.trim_end()))
    /// });
    /// assert!(config.build().unwrap().logs_in());
    /// ```
    #[must_use]
    pub fn credentials<F, R>(mut self, ask: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Credentials, Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        self.credentials = Some(CredentialsSource::callback(ask));
        self
    }

    /// How changes are pushed where HTTP is spoken; see [`UdpPush`].
    #[must_use]
    pub fn udp_push(mut self, push: UdpPush) -> Self {
        self.udp_push = Some(push);
        self
    }

    /// The namespace *id*; unset, `""` and `"public"` are the same.
    #[must_use]
    pub fn namespace(mut self, id: impl Into<String>) -> Self {
        self.namespace = Some(id.into());
        self
    }

    /// The application's name as servers see it; default `unknown`.
    #[must_use]
    pub fn app_name(mut self, name: impl Into<String>) -> Self {
        self.app_name = Some(name.into());
        self
    }

    /// Adds a label of this client's connections.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// All time limits; see [`Timeouts`].
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// How long a call may take in total; default 3 s. Takes precedence over [`Timeouts::request`].
    #[must_use]
    pub fn deadline(mut self, request: Duration) -> Self {
        self.request_timeout = Some(request);
        self
    }

    /// How often each subscribed list is compared with the server's, ± 20 %; default 60 s, zero = never.
    #[must_use]
    pub fn reconcile_interval(mut self, interval: Duration) -> Self {
        self.reconcile_interval = Some(interval);
        self
    }

    /// How long a service that was only looked up stays subscribed after its last use; default 10 min, zero = for ever.
    #[must_use]
    pub fn idle_time(mut self, idle: Duration) -> Self {
        self.idle_time = Some(idle);
        self
    }

    /// What to think of lists that lack instances; see [`EmptyPolicy`].
    #[must_use]
    pub fn empty_policy(mut self, policy: EmptyPolicy) -> Self {
        self.empty_policy = Some(policy);
        self
    }

    /// Ages of a connection at which removals of its beginning are decided: `window`, default 5 s, and `majority` if
    /// more than half of a list vanished, default 30 s. A zero `window` holds nothing.
    #[must_use]
    pub fn hold_times(mut self, window: Duration, majority: Duration) -> Self {
        self.hold_times = Some(HoldTimes { window, majority });
        self
    }

    /// Who checks arguments; see [`Validation`].
    #[must_use]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = Some(validation);
        self
    }

    /// Limit of the lengths of all metadata keys and values of an instance together, as set on the servers; default 1024.
    #[must_use]
    pub fn max_metadata(mut self, limit: usize) -> Self {
        self.max_metadata = Some(limit);
        self
    }

    /// Largest message that is taken from a server, in bytes: 64 KiB to 1 GiB, default 10 MiB, which other SDKs have too. An
    /// instance takes some 370 bytes of a list, and its metadata. A list that is larger is left out: a query fails and names
    /// the size, a push is logged as an error; the connection goes on, and the last list stays.
    #[must_use]
    pub fn max_message_size(mut self, limit: usize) -> Self {
        self.max_message_size = Some(limit);
        self
    }

    /// Validates the settings. No I/O: no name is resolved, nothing is connected.
    ///
    /// # Errors
    /// The first setting that is missing or invalid.
    pub fn build(self) -> Result<ClientConfig, ConfigError> {
        let servers = server_list(
            self.servers.as_deref().unwrap_or_default(),
            self.grpc_port_offset.unwrap_or(DEFAULT_GRPC_OFFSET),
        )?;
        let context_path = self.context_path.map(|path| path.parse());
        let context_path = context_path.transpose().map_err(|e: AddressReason| {
            InvalidArgument::new("context_path", format!("the path {e}, write it like /nacos"))
        })?;
        let namespace = Namespace::new(self.namespace.unwrap_or_default());
        param::namespace(namespace.as_str()).map_err(|e| InvalidArgument::new("namespace", e.to_string()))?;
        let mut timeouts = self.timeouts.unwrap_or_default();
        if let Some(request) = self.request_timeout {
            timeouts.request = request;
        }
        check_timeouts(&timeouts)?;
        let empty_policy = self.empty_policy.unwrap_or_default();
        if let EmptyPolicy::Hold { max } = empty_policy {
            within("empty_policy", max, Duration::ZERO, LONGEST_PERIOD)?;
        }
        let max_message_size = self.max_message_size.unwrap_or(MAX_MESSAGE_SIZE);
        if !MESSAGE_SIZES.contains(&max_message_size) {
            let reason = format!("{max_message_size} bytes are not between 64 KiB and 1 GiB");
            return Err(InvalidArgument::new("max_message_size", reason).into());
        }
        let hold_times = self.hold_times.unwrap_or(DEFAULT_HOLD);
        within("hold_times", hold_times.window, Duration::ZERO, LONGEST_TIMEOUT)?;
        within("hold_times", hold_times.majority, hold_times.window, LONGEST_TIMEOUT)?;
        Ok(ClientConfig {
            servers,
            protocol: self.protocol.unwrap_or_default(),
            context_path: context_path.unwrap_or_default(),
            udp_push: self.udp_push.unwrap_or_default(),
            credentials: credentials(self.credentials, self.username, self.password),
            namespace,
            app_name: header_text("app_name", self.app_name.unwrap_or_else(|| DEFAULT_APP_NAME.to_owned()))?,
            labels: check_labels(self.labels.unwrap_or_default())?,
            timeouts,
            reconcile_interval: period("reconcile_interval", self.reconcile_interval.unwrap_or(DEFAULT_RECONCILE))?,
            idle_time: period("idle_time", self.idle_time.unwrap_or(DEFAULT_IDLE))?,
            empty_policy,
            hold_times,
            validation: self.validation.unwrap_or_default(),
            max_metadata: self.max_metadata.unwrap_or(param::MAX_METADATA),
            max_message_size,
        })
    }
}

/// A password as it was given. Never shown.
#[derive(Clone)]
pub(super) struct Password(pub(super) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// None if the user is blank.
fn credentials(
    source: Option<CredentialsSource>,
    username: Option<String>,
    password: Option<Password>,
) -> Option<CredentialsSource> {
    let single = || {
        let password = password.map_or_else(String::new, |Password(text)| text);
        username.map(|name| CredentialsSource::Fixed(Credentials::new(name, password)))
    };
    let source = source.or_else(single)?;
    let blank = matches!(&source, CredentialsSource::Fixed(credentials) if credentials.is_blank());
    (!blank).then_some(source)
}

fn server_list(entries: &[String], offset: u16) -> Result<ServerList, ConfigError> {
    ServerList::parse(entries, offset).map_err(|e| match e.field {
        AddressField::List => ConfigError::NoServers,
        _ if e.text.contains('@') => ConfigError::Server {
            reason: "there is no place for a user or a password in an address, write host:port".to_owned(),
            entry: without_secrets(&e.text),
        },
        _ => ConfigError::Server { reason: format!("{} {}", e.field, e.reason), entry: without_secrets(&e.text) },
    })
}

/// An entry without what may be a password: all before an `@`, and a query of another kind than ours.
fn without_secrets(entry: &str) -> String {
    let (address, query) = entry.split_once('?').unwrap_or((entry, ""));
    let address = address.rsplit_once('@').map_or_else(|| address.to_owned(), |(_, host)| format!("***@{host}"));
    match query {
        "" => address,
        ours if ours.starts_with("grpc_port=") => format!("{address}?{ours}"),
        _ => format!("{address}?***"),
    }
}

fn check_timeouts(t: &Timeouts) -> Result<(), InvalidArgument> {
    let all = [
        ("timeouts.request", t.request),
        ("timeouts.connect", t.connect),
        ("timeouts.server_check", t.server_check),
        ("timeouts.setup", t.setup),
        ("timeouts.health_idle", t.health_idle),
        ("timeouts.health", t.health),
        ("timeouts.http", t.http),
    ];
    all.into_iter().try_for_each(|(field, value)| within(field, value, Duration::from_millis(1), LONGEST_TIMEOUT))
}

fn within(field: &'static str, value: Duration, least: Duration, most: Duration) -> Result<(), InvalidArgument> {
    if value < least || value > most {
        return Err(InvalidArgument::new(field, format!("{value:?} is not between {least:?} and {most:?}")));
    }
    Ok(())
}

/// A period of zero means never.
fn period(field: &'static str, value: Duration) -> Result<Option<Duration>, InvalidArgument> {
    if value.is_zero() {
        return Ok(None);
    }
    within(field, value, Duration::from_millis(100), LONGEST_PERIOD)?;
    Ok(Some(value))
}

fn header_text(field: &'static str, text: String) -> Result<String, InvalidArgument> {
    if text.chars().any(char::is_control) {
        return Err(InvalidArgument::new(field, "control characters are not allowed"));
    }
    Ok(text)
}

fn check_labels(labels: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, InvalidArgument> {
    for (key, value) in &labels {
        if key.trim().is_empty() {
            return Err(InvalidArgument::new("labels", "a key is blank"));
        }
        if key.chars().chain(value.chars()).any(char::is_control) {
            return Err(InvalidArgument::new("labels", "control characters are not allowed"));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> ClientConfigBuilder {
        ClientConfig::builder().servers(["127.0.0.1:8848"])
    }

    #[test]
    fn f12_unset_empty_and_public_namespaces_are_one() {
        let unset = builder().build().unwrap();
        for id in ["", "public", " "] {
            assert_eq!(builder().namespace(id).build().unwrap().namespace, unset.namespace, "{id:?}");
        }
    }

    #[test]
    fn every_setting_is_validated() {
        let field = |builder: ClientConfigBuilder| match builder.build() {
            Err(ConfigError::Setting(e)) => e.field,
            other => panic!("{other:?}"),
        };
        let second = Duration::from_secs(1);
        assert_eq!(field(builder().namespace("a b")), "namespace");
        assert_eq!(field(builder().namespace("n".repeat(65))), "namespace");
        assert_eq!(field(builder().deadline(Duration::ZERO)), "timeouts.request");
        let slow = Timeouts { connect: Duration::from_secs(7200), ..Timeouts::DEFAULT };
        assert_eq!(field(builder().timeouts(slow)), "timeouts.connect");
        assert_eq!(field(builder().reconcile_interval(Duration::from_nanos(1))), "reconcile_interval");
        assert_eq!(field(builder().hold_times(second * 2, second)), "hold_times");
        assert_eq!(field(builder().app_name("a\nb")), "app_name");
        for size in [0, (64 << 10) - 1, (1 << 30) + 1] {
            assert_eq!(field(builder().max_message_size(size)), "max_message_size");
        }
        assert_eq!(field(builder().label("", "b")), "labels");
        assert_eq!(ClientConfig::builder().build().unwrap_err(), ConfigError::NoServers);
        assert_eq!(field(builder().context_path("a b")), "context_path");
        for bad in ["host:65536", "::1:8848:", "https://a", "a/b c"] {
            let error = ClientConfig::builder().servers([bad]).build().unwrap_err();
            assert!(matches!(&error, ConfigError::Server { entry, .. } if entry == bad), "{bad}: {error:?}");
        }
    }

    #[test]
    fn an_error_tells_no_password_of_an_address() {
        for (entry, shown) in [
            ("http://nacos:hunter2@h:8848", "***@h:8848"),
            ("nacos:hun@ter2@h:8848", "***@h:8848"),
            ("nacos:hunter2@h?password=hunter2", "***@h?***"),
            ("h:8848?password=hunter2", "h:8848?***"),
            ("h:8848?grpc_port=x", "h:8848?grpc_port=x"),
        ] {
            let error = ClientConfig::builder().servers([entry]).build().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
            assert!(matches!(&error, ConfigError::Server { entry, .. } if entry == shown), "{error:?}");
        }
    }

    #[test]
    fn the_context_path_is_nacos_unless_set() {
        let path = |builder: ClientConfigBuilder| builder.build().unwrap().context_path.to_string();
        assert_eq!(
            (path(builder()), path(builder().context_path("/")), path(builder().context_path("a/"))),
            ("/nacos".into(), String::new(), "/a".into())
        );
    }

    #[test]
    fn zero_switches_periods_off() {
        let config = builder().reconcile_interval(Duration::ZERO).idle_time(Duration::ZERO).build().unwrap();
        assert_eq!((config.reconcile_interval, config.idle_time), (None, None));
    }
}
