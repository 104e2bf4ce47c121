//! The registry that the command line names.

use std::{path::Path, time::Duration};

use nacos_client::{ClientConfig, Credentials, NamingService, Protocol, ServiceKey, Timeouts, maintain::Maintain};

use crate::{cli::Common, failure::Failure, input};

/// How long leaving may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Where to ask, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) common: Common,
    user: Option<Credentials>,
    /// Set where the command does not leave it to the settings.
    protocol: Option<Protocol>,
}

impl Registry {
    /// Reads the password, if it stands in a file.
    pub(crate) fn new(common: Common) -> Result<Self, Failure> {
        let user = match (&common.username, &common.password_file) {
            (Some(name), Some(file)) => Some(Credentials::new(name, password(file)?)),
            (None, Some(_)) => {
                return Err(Failure::Usage("--password-file: whose? set --username or NACOS_USERNAME too".to_owned()));
            }
            (_, None) => None,
        };
        Ok(Self { protocol: common.protocol.map(Protocol::from), user, common })
    }

    /// The same at another server.
    pub(crate) fn at(&self, server: &str) -> Self {
        let common = Common { server: server.to_owned(), ..self.common.clone() };
        Self { common, ..self.clone() }
    }

    /// The same, spoken to in this way.
    pub(crate) fn speaking(&self, protocol: Protocol) -> Self {
        Self { protocol: Some(protocol), ..self.clone() }
    }

    /// The group of services that are named without one.
    pub(crate) fn group(&self) -> &str {
        &self.common.group
    }

    /// The service named; a name of the form `group@@service` brings its group along.
    pub(crate) fn key(&self, service: &str) -> ServiceKey {
        match service.split_once("@@") {
            Some((group, name)) => ServiceKey::new(group, name),
            None => ServiceKey::new(&self.common.group, service),
        }
    }

    /// How long to wait.
    pub(crate) const fn timeout(&self) -> Duration {
        self.common.timeout
    }

    pub(crate) fn config(&self) -> Result<ClientConfig, Failure> {
        let mut timeouts = Timeouts::DEFAULT;
        timeouts.request = self.common.timeout;
        timeouts.http = self.common.timeout;
        timeouts.connect = timeouts.connect.min(self.common.timeout);
        let mut builder = ClientConfig::builder()
            .servers([&self.common.server])
            .namespace(&self.common.namespace)
            .app_name("nacosctl")
            .timeouts(timeouts);
        if let Some(protocol) = self.protocol {
            builder = builder.protocol(protocol);
        }
        if let Some(name) = &self.common.username {
            builder = builder.username(name);
        }
        if let Some(user) = &self.user {
            builder = builder.user(user.clone());
        }
        Ok(builder.from_env()?.build()?)
    }

    /// A client of the registry; connects at its first use.
    pub(crate) fn naming(&self) -> Result<NamingService, Failure> {
        Ok(NamingService::new(self.config()?))
    }

    /// An operator's client.
    pub(crate) fn operator(&self) -> Result<Maintain, Failure> {
        Ok(Maintain::new(self.config()?))
    }
}

/// In bytes, its line break included.
const LONGEST_PASSWORD: u64 = 64 * 1024;

/// The content of a file, or of the standard input, without its last line break.
fn password(file: &Path) -> Result<String, Failure> {
    let text = input::text(file, LONGEST_PASSWORD)
        .map_err(|error| Failure::Usage(format!("--password-file {}: {error}", file.display())))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Ends a client, so that the server does not have to find out.
pub(crate) async fn leave(naming: NamingService) {
    naming.shutdown(GOODBYE).await;
}
