use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use nacos_client::{ConfirmError, ConnectionStatus, NamingService, ServiceKey, StartError};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::keeper::{Command, Keeper};
use super::registered::Parts;
use super::{
    Off, Readiness, Record, RegisterError, Registered, Registration, RegistrationState, ShutdownLimits, ShutdownPlan,
};
use crate::DiscoveryConfig;

type Customize = Box<dyn FnOnce(&mut Registration) + Send>;

/// Registers this process, once it listens.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nacos_discovery::{Discovery, DiscoveryConfig};
///
/// let discovery = Discovery::new(DiscoveryConfig::from_file("application.yml")?)?;
/// let listener = tokio::net::TcpListener::bind(discovery.config().listen().socket_addr()).await?;
/// let me = discovery.registrar().register(listener.local_addr()?).await?;
/// // … serve …
/// println!("{}", me.shutdown().await);
/// # Ok(()) }
/// ```
#[must_use = "a registrar registers nothing until `register`"]
pub struct Registrar {
    config: Arc<DiscoveryConfig>,
    nacos: NamingService,
    customize: Vec<Customize>,
    plan: ShutdownPlan,
    readiness: Readiness,
    observers: Vec<Box<dyn FnOnce(watch::Receiver<Record>) + Send>>,
}

impl Registrar {
    /// A registrar by these settings and with this client, which the shutdown closes unless the plan keeps it.
    pub fn new(config: impl Into<Arc<DiscoveryConfig>>, nacos: NamingService) -> Self {
        let config = config.into();
        let plan = ShutdownPlan::new().limits(ShutdownLimits::from(config.shutdown()));
        Self { config, nacos, customize: Vec::new(), plan, readiness: Readiness::default(), observers: Vec::new() }
    }

    /// Changes what is registered, after everything else has been put together.
    pub fn customize(mut self, change: impl FnOnce(&mut Registration) + Send + 'static) -> Self {
        self.customize.push(Box::new(change));
        self
    }

    /// Changes the plan of the shutdown, which begins with the limits that are configured.
    pub fn plan(mut self, change: impl FnOnce(ShutdownPlan) -> ShutdownPlan) -> Self {
        self.plan = change(self.plan);
        self
    }

    /// Whether this process takes traffic: not before it is registered.
    #[must_use]
    pub const fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Is handed the registration's record when there is one.
    pub(crate) fn observed_by(mut self, observer: impl FnOnce(watch::Receiver<Record>) + Send + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Registers the service that listens on `bound` and waits for the registry's word, at most for the client's deadline.
    ///
    /// The port that is registered is that of `bound`, so port 0 works, and a specific address of `bound` is registered too,
    /// unless the settings name others. If the settings want no registration, or name no service, nothing is registered, and
    /// [`Registered::state`] says so.
    ///
    /// With `fail-fast: false` a registry that does not answer or refuses is no error: the client tries on with growing,
    /// jittered pauses of at most 5 s (30 s after a refusal), and [`Registered::watch`] tells how it goes.
    ///
    /// # Errors
    /// [`RegisterError`]; then nothing is registered.
    ///
    /// # Cancel safety
    /// Dropping the future takes an ephemeral registration back.
    pub async fn register(mut self, bound: SocketAddr) -> Result<Registered, RegisterError> {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        if !self.config.enabled() || !self.config.register_enabled() {
            return Ok(self.off(Off::Disabled, runtime));
        }
        let Some(service) = self.config.service() else {
            tracing::warn!("nothing is registered: neither spring.application.name nor a service is configured");
            return Ok(self.off(Off::NoService, runtime));
        };
        let service = ServiceKey::new(self.config.group(), service);
        let mut wanted = Registration::new(service, self.config.instance(bound).await?);
        for change in std::mem::take(&mut self.customize) {
            change(&mut wanted);
        }
        if wanted.instance.port == 0 {
            return Err(RegisterError::NoPort);
        }
        let held = self.nacos.service(&wanted.service)?.register(wanted.instance.clone())?;
        match held.confirmed().await {
            Ok(()) => self.tell_idle_heart_beats(),
            Err(error @ (ConfirmError::Start(_) | ConfirmError::Withdrawn)) => return Err(error.into()),
            Err(error) if self.config.fail_fast() => return Err(error.into()),
            Err(error) => tracing::warn!(service = %wanted.service, %error, "not registered yet, trying on"),
        }
        let (keeper, record) = Keeper::spawn(self.nacos.clone(), held, wanted);
        Ok(self.finish(Some(keeper), record, runtime))
    }

    /// Like [`Registrar::register`], once `ready` has ended: for services that have to warm up while they listen already.
    ///
    /// # Errors
    /// As [`Registrar::register`].
    ///
    /// # Cancel safety
    /// As [`Registrar::register`].
    pub async fn register_when<T>(
        self,
        bound: SocketAddr,
        ready: impl Future<Output = T>,
    ) -> Result<Registered, RegisterError> {
        drop(ready.await);
        self.register(bound).await
    }

    /// The client that the shutdown closes, and how long that may take; `None` if the plan keeps it.
    #[cfg(feature = "axum")]
    pub(crate) fn client_to_close(&self) -> Option<(NamingService, std::time::Duration)> {
        (!self.plan.keep_client).then(|| (self.nacos.clone(), self.plan.limits.close))
    }

    fn tell_idle_heart_beats(&self) {
        if let ConnectionStatus::Connected { protocol, .. } = self.nacos.status().current()
            && let Some(text) = self.config.heart_beat().idle_over(protocol)
        {
            tracing::info!("{text}");
        }
    }

    fn off(self, why: Off, runtime: Handle) -> Registered {
        // Nobody changes the record any more; its receivers still read it.
        let (_, record) = watch::channel(Record::new(RegistrationState::Off(why), None));
        self.finish(None, record, runtime)
    }

    fn finish(
        self,
        keeper: Option<mpsc::Sender<Command>>,
        record: watch::Receiver<Record>,
        runtime: Handle,
    ) -> Registered {
        for observer in self.observers {
            observer(record.clone());
        }
        Registered::new(Parts {
            nacos: self.nacos,
            keeper,
            record,
            plan: self.plan,
            readiness: self.readiness,
            runtime,
        })
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar").field("config", &self.config).field("plan", &self.plan).finish_non_exhaustive()
    }
}
