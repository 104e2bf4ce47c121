//! From the settings of a client to the transport that speaks its protocol.

use std::sync::Arc;

use crate::auth::Auth;
use crate::config::{ClientConfig, Protocol};
use crate::transport::grpc::{GrpcSettings, GrpcTransport, HealthIdle, HealthTimeout, Timings};
use crate::transport::http::{HttpLimits, HttpSettings, HttpTransport};
use crate::transport::{AutoTransport, NamingTransport, Protocols};

/// The transport of a client.
pub(crate) fn transport(config: &ClientConfig, auth: &Auth) -> Arc<dyn NamingTransport> {
    match config.protocol {
        Protocol::Grpc => Arc::new(GrpcTransport::new(grpc_settings(config, auth, false))),
        Protocol::Http => Arc::new(HttpTransport::new(http_settings(config, auth))),
        Protocol::Auto => {
            let (grpc, http) = (grpc_settings(config, auth, true), http_settings(config, auth));
            let protocols = Protocols {
                grpc: Box::new(move || Arc::new(GrpcTransport::new(grpc.clone()))),
                http: Box::new(move || Arc::new(HttpTransport::new(http.clone()))),
            };
            Arc::new(AutoTransport::new(protocols, config.servers.len()))
        }
    }
}

fn grpc_settings(config: &ClientConfig, auth: &Auth, tentative: bool) -> GrpcSettings {
    let t = &config.timeouts;
    GrpcSettings {
        auth: auth.clone(),
        servers: config.servers.clone(),
        namespace: Arc::from(config.namespace.as_str()),
        app_name: Arc::from(config.app_name.as_str()),
        labels: config.labels.clone(),
        max_message_size: config.max_message_size,
        timings: Timings {
            connect: t.connect,
            server_check: t.server_check,
            setup_ack: t.setup,
            health_idle: HealthIdle(t.health_idle),
            health_timeout: HealthTimeout(t.health),
            ..Timings::default()
        },
        tentative,
        seed: None,
    }
}

fn http_settings(config: &ClientConfig, auth: &Auth) -> HttpSettings {
    let t = &config.timeouts;
    HttpSettings {
        auth: auth.clone(),
        servers: config.servers.clone(),
        context_path: config.context_path.clone(),
        namespace: Arc::from(config.namespace.as_str()),
        app_name: Arc::from(config.app_name.as_str()),
        push: config.udp_push,
        max_message_size: config.max_message_size,
        limits: HttpLimits {
            connect: t.connect,
            write: t.http,
            read: t.http.min(t.request * 2 / 3),
            idle: t.health_idle,
        },
        seed: None,
    }
}
