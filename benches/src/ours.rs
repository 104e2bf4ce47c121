//! This project's client and server, as their users use them.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use nacos_client::{Instance, NamingService, Registration, Select, ServiceHandle};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Failure;
use super::latency::{NUMBER, Seen};

const PORT: u16 = 8080;
const LOCALHOST: &str = "127.0.0.1";
const CONNECT: Duration = Duration::from_secs(10);
const CLOSE: Duration = Duration::from_secs(10);

/// The server with its default settings, in this process.
pub(crate) struct Server(nacos_server_min::Server);

impl Server {
    /// Listens on `port` and the port 1000 above it; 0 for free ones.
    pub(crate) async fn start(port: u16) -> Result<Self, Failure> {
        Ok(Self(nacos_server_min::Server::builder().port(port).start().await?))
    }

    /// The same with a thread for HTTP on each processor, as the program has it.
    pub(crate) async fn start_like_program(port: u16) -> Result<Self, Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self(nacos_server_min::Server::builder().port(port).http_threads(threads).start().await?))
    }

    /// The address that clients are given.
    pub(crate) fn http(&self) -> SocketAddr {
        self.0.http_addr()
    }

    pub(crate) fn grpc(&self) -> SocketAddr {
        self.0.grpc_addr()
    }

    pub(crate) async fn stop(self) {
        self.0.shutdown().await;
    }
}

/// A connected client.
pub(crate) struct Client(NamingService);

impl Client {
    /// Connects to the server whose main port is `server`.
    pub(crate) async fn connect(server: SocketAddr) -> Result<Self, Failure> {
        let nacos = NamingService::builder().servers([server.to_string()]).build()?;
        nacos.connected(CONNECT).await?;
        Ok(Self(nacos))
    }

    /// Registers one instance in each of `size` services, so many at a time, and waits for every acknowledgement.
    pub(crate) async fn register_all(&self, size: usize, in_flight: usize) -> Result<(), Failure> {
        let mut calls = stream::iter(0..size)
            .map(|number| self.0.register_instance(format!("order-service-{number}"), Instance::new((LOCALHOST, PORT))))
            .buffer_unordered(in_flight);
        while let Some(done) = calls.next().await {
            done?;
        }
        Ok(())
    }

    /// One instance, of an address that its number tells.
    pub(crate) async fn register_number(&self, service: &str, number: usize) -> Result<(), Failure> {
        let [_, b, c, d] = u32::try_from(number)?.to_be_bytes();
        self.0.register_instance(service, Instance::new((format!("10.{b}.{c}.{d}"), PORT))).await?;
        Ok(())
    }

    /// One instance whose metadata carry a number, 0 at first.
    pub(crate) async fn register_numbered(&self, service: &str) -> Result<Numbered, Failure> {
        let instance = Instance::new((LOCALHOST, PORT)).metadata(NUMBER, "0");
        let registration = self.0.service(service)?.register(instance)?;
        registration.confirmed().await?;
        Ok(Numbered(registration))
    }

    /// Sends each number that a subscriber of the service sees.
    pub(crate) fn watch_numbers(
        &self,
        service: &str,
        sender: UnboundedSender<Seen>,
    ) -> Result<JoinHandle<()>, Failure> {
        let mut changes = self.0.service(service)?.subscribe(Select::healthy());
        // Ends with the client, or when nobody listens, or when it is aborted.
        Ok(tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                let now = std::time::Instant::now();
                let number = change.instances().iter().find_map(|i| i.metadata.get(NUMBER)?.parse().ok());
                if number.is_some_and(|number| sender.send((number, now)).is_err()) {
                    break;
                }
            }
        }))
    }

    /// The handle of a service once its list has so many instances.
    pub(crate) async fn handle(&self, service: &str, size: usize, patience: Duration) -> Result<Handle, Failure> {
        let handle = self.0.service(service)?;
        let mut list = handle.watch(Select::healthy());
        let full = async {
            while list.changed().await?.instances().len() != size {}
            Ok::<_, Failure>(())
        };
        timeout(patience, full).await??;
        // From here on the service is held by being looked up, as a plain user of picks has it.
        handle.ready().await?;
        handle.pick()?;
        Ok(Handle(handle))
    }

    /// Picks by the service's name and returns the port.
    pub(crate) fn pick(&self, service: &str) -> u16 {
        self.0.pick(service).expect("the list has healthy instances").port
    }

    pub(crate) async fn close(self) {
        self.0.shutdown(CLOSE).await;
    }
}

/// A held handle of a service.
pub(crate) struct Handle(ServiceHandle);

impl Handle {
    /// Picks and returns the port.
    pub(crate) fn pick(&self) -> u16 {
        self.0.pick().expect("the list has healthy instances").port
    }

    /// Picks without sharing the instance and returns the port.
    pub(crate) fn pick_with(&self) -> u16 {
        self.0.pick_with(|instance| instance.port).expect("the list has healthy instances")
    }
}

/// A registered instance that changes.
pub(crate) struct Numbered(Registration);

impl Numbered {
    /// Changes the number and does not wait.
    pub(crate) fn renumber(&self, number: usize) -> Result<(), Failure> {
        Ok(self.0.update(|instance| instance.metadata(NUMBER, number.to_string()))?)
    }
}
