use std::time::Duration;

use super::service::NamingService;
use crate::auth::Credentials;
use crate::config::{ClientConfig, ClientConfigBuilder, EmptyPolicy, Protocol, Timeouts, UdpPush, Validation};
use crate::error::ConfigError;

/// Collects the settings of a [`NamingService`]; the setters are those of [`ClientConfigBuilder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct NamingServiceBuilder {
    config: ClientConfigBuilder,
}

macro_rules! setters {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("See [`ClientConfigBuilder::", stringify!($name), "`].")]
            pub fn $name(self, $($arg: $type),*) -> Self {
                Self { config: self.config.$name($($arg),*) }
            }
        )*
    };
}

impl NamingServiceBuilder {
    setters! {
        servers(servers: impl IntoIterator<Item = impl Into<String>>);
        grpc_port_offset(offset: u16);
        protocol(protocol: Protocol);
        context_path(path: impl Into<String>);
        udp_push(push: UdpPush);
        username(name: impl Into<String>);
        password(password: impl Into<String>);
        user(credentials: Credentials);
        namespace(id: impl Into<String>);
        app_name(name: impl Into<String>);
        label(key: impl Into<String>, value: impl Into<String>);
        timeouts(timeouts: Timeouts);
        deadline(request: Duration);
        reconcile_interval(interval: Duration);
        idle_time(idle: Duration);
        empty_policy(policy: EmptyPolicy);
        hold_times(window: Duration, majority: Duration);
        validation(validation: Validation);
        max_metadata(limit: usize);
        max_message_size(limit: usize);
    }

    /// See [`ClientConfigBuilder::credentials`].
    pub fn credentials<F, R>(self, ask: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Credentials, Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        Self { config: self.config.credentials(ask) }
    }

    /// See [`ClientConfigBuilder::from_env`].
    ///
    /// # Errors
    /// If a variable holds no value of its kind.
    pub fn from_env(self) -> Result<Self, ConfigError> {
        Ok(Self { config: self.config.from_env()? })
    }

    /// Validates the settings and makes the client. No I/O: it connects at its first use.
    ///
    /// # Errors
    /// The first setting that is missing or invalid.
    pub fn build(self) -> Result<NamingService, ConfigError> {
        let config: ClientConfig = self.config.build()?;
        Ok(NamingService::new(config))
    }
}
