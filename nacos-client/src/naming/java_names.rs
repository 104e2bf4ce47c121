//! The operations under the names that users of the Java interface know, each a thin form over the handle.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::client::ShutdownReport;
use super::handler::Listener;
use super::registration::{Registration, wait_gone};
use super::service::{NamingService, ServicePage, SubscribedService};
use super::status::ConnectionStatus;
use super::subscription::Subscription;
use super::validate;
use crate::error::{ConfirmError, InvalidArgument, PickError, QueryError};
use crate::model::{Instance, IntoServiceKey, Select, ServiceChange};

impl NamingService {
    /// Registers an instance until it is deregistered or the client ends, and waits for the acknowledgement. If that does
    /// not come the wish stays, and the client goes on trying.
    ///
    /// # Errors
    /// [`ConfirmError`]; after `Invalid` and `Start` nothing was recorded.
    ///
    /// # Cancel safety
    /// The wish is recorded at the first poll and stays if the future is dropped.
    pub async fn register_instance(
        &self,
        service: impl IntoServiceKey,
        instance: Instance,
    ) -> Result<(), ConfirmError> {
        self.service(service)?.register(instance)?.kept().await
    }

    /// Deregisters an instance, whoever of this client registered it, and waits for the acknowledgement. `false` without
    /// a request if this client has not registered that ephemeral instance; nobody else's can be touched.
    ///
    /// # Errors
    /// [`ConfirmError`]; after `Deadline` the client goes on trying.
    ///
    /// # Cancel safety
    /// The instance is unwanted from the first poll on.
    pub async fn deregister_instance(
        &self,
        service: impl IntoServiceKey,
        instance: &Instance,
    ) -> Result<bool, ConfirmError> {
        Ok(self.take_back(service, std::slice::from_ref(instance)).await? > 0)
    }

    /// Registers several ephemeral instances, beside those that are registered already, and waits for the acknowledgement.
    /// All are validated before the first is recorded.
    ///
    /// # Errors
    /// As [`NamingService::register_instance`]; the first one's that has one.
    ///
    /// # Cancel safety
    /// All wishes are recorded at the first poll and stay if the future is dropped.
    pub async fn batch_register_instance(
        &self,
        service: impl IntoServiceKey,
        instances: impl IntoIterator<Item = Instance>,
    ) -> Result<(), ConfirmError> {
        let service = self.service(service)?;
        let instances: Vec<Instance> = instances.into_iter().collect();
        for instance in &instances {
            validate::instance(&self.client().core.config, instance)?;
            if !instance.ephemeral {
                return Err(InvalidArgument::new("ephemeral", "a batch takes ephemeral instances only").into());
            }
        }
        self.client().start()?;
        let kept: Vec<_> =
            instances.into_iter().map(|i| Registration::new(self.client(), service.key(), i).kept()).collect();
        for confirmed in kept {
            confirmed.await?;
        }
        Ok(())
    }

    /// Deregisters several instances and waits for the acknowledgement. Returns how many of them this client had
    /// registered.
    ///
    /// # Errors
    /// As [`NamingService::deregister_instance`].
    ///
    /// # Cancel safety
    /// All are unwanted from the first poll on.
    pub async fn batch_deregister_instance(
        &self,
        service: impl IntoServiceKey,
        instances: impl IntoIterator<Item = Instance>,
    ) -> Result<usize, ConfirmError> {
        let instances: Vec<Instance> = instances.into_iter().collect();
        self.take_back(service, &instances).await
    }

    async fn take_back(&self, service: impl IntoServiceKey, instances: &[Instance]) -> Result<usize, ConfirmError> {
        let service = self.service(service)?;
        let client = self.client();
        client.start()?;
        let owner = client.core.registrations.new_owner();
        let (records, gone) = client.core.registrations.change(service.key(), |redo| {
            let mut gone = Vec::new();
            for instance in instances {
                if !instance.ephemeral {
                    redo.persistent.deregister(Arc::new(instance.clone()), owner);
                    gone.push(Arc::new(instance.clone()));
                } else if let Some(own) = redo.wishes.remove(&instance.key(), None) {
                    gone.push(own);
                }
            }
            gone
        });
        records.changed().notify_waiters();
        client.core.queue.records(&records);
        for instance in &gone {
            wait_gone(client, &records, instance, &instance.key()).await?;
        }
        Ok(gone.len())
    }

    /// All instances of a service in the given clusters (none = all), from the cache, which is filled first.
    ///
    /// # Errors
    /// [`QueryError`] if no list arrives within the configured deadline.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn get_all_instances(
        &self,
        service: impl IntoServiceKey,
        clusters: &[&str],
    ) -> Result<Vec<Arc<Instance>>, QueryError> {
        self.select_instances(service, Select::all().clusters(clusters.iter().copied())).await
    }

    /// The selected instances of a service, from the cache, which is filled first.
    ///
    /// # Errors
    /// As [`NamingService::get_all_instances`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn select_instances(
        &self,
        service: impl IntoServiceKey,
        select: Select,
    ) -> Result<Vec<Arc<Instance>>, QueryError> {
        let snapshot = self.service(service)?.snapshot().await?;
        Ok(snapshot.select(&select).cloned().collect())
    }

    /// One healthy, enabled instance of the given clusters (none = all), drawn by weight, from the cache, which is filled
    /// first.
    ///
    /// # Errors
    /// [`PickError::NotReady`] if no list arrives within the configured deadline, [`PickError::NoInstance`] if none is
    /// usable.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn select_one_healthy_instance(
        &self,
        service: impl IntoServiceKey,
        clusters: &[&str],
    ) -> Result<Arc<Instance>, PickError> {
        let service = self.service(service)?;
        match service.snapshot().await {
            Ok(snapshot) => snapshot.pick_in(clusters),
            Err(QueryError::Start(error)) => Err(error.into()),
            Err(_) => Err(PickError::NotReady(service.key().clone())),
        }
    }

    /// Subscribes: a stream of the current list and every change.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn subscribe(&self, service: impl IntoServiceKey, select: Select) -> Result<Subscription, InvalidArgument> {
        Ok(self.service(service)?.subscribe(select))
    }

    /// Subscribes a handler; see [`crate::ServiceHandle::on_change`].
    ///
    /// # Errors
    /// If the name is invalid, or the client cannot run.
    pub fn subscribe_with<F, R>(
        &self,
        service: impl IntoServiceKey,
        select: Select,
        handler: F,
    ) -> Result<Listener, PickError>
    where
        F: FnMut(ServiceChange) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        Ok(self.service(service)?.on_change(select, handler)?)
    }

    /// Ends a handler and waits until a call that runs has finished.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting only.
    pub async fn unsubscribe(&self, listener: Listener) {
        listener.unsubscribe().await;
    }

    /// One page of the names of services; see [`NamingService::services_page`].
    ///
    /// # Errors
    /// [`QueryError`] if there is no answer within the configured deadline.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn get_services_of_server(&self, page: u32, size: u32, group: &str) -> Result<ServicePage, QueryError> {
        self.services_page(group, page, size).await
    }

    /// The services this client keeps up to date.
    #[must_use]
    pub fn get_subscribe_services(&self) -> Vec<SubscribedService> {
        self.subscribed_services()
    }

    /// The connection now. Never does I/O; an unused client is [`ConnectionStatus::Idle`].
    #[must_use]
    pub fn get_server_status(&self) -> ConnectionStatus {
        self.status().current()
    }

    /// Ends the client; see [`NamingService::shutdown`].
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the shutdown goes on.
    pub async fn shut_down(&self, limit: Duration) -> ShutdownReport {
        self.shutdown(limit).await
    }
}
