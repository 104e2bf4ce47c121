//! A client of the wire protocol and nothing more: one HTTP/2 connection, a set-up, calls. It is the load generator, and it
//! asks servers what they hold.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{Request, StatusCode};
use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, ConnectionSetupRequest, HealthCheckRequest,
    HealthCheckResponse, Instance, InstanceRequest, InstanceResponse, Message, REGISTER, Response, ServiceListRequest,
    ServiceListResponse, SubscribeServiceRequest,
};
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::incoming::Incoming;

const GROUP: &str = "DEFAULT_GROUP";
/// A connection that the server does not confirm within this time has failed.
const SETUP: Duration = Duration::from_secs(5);

/// So much a server may send before it is told that it was read, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// One connection; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    send: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    stream: Option<SendStream<Bytes>>,
    frozen: CancellationToken,
}

impl Connection {
    /// Dials and sets the connection up, without abilities.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let mut connection = Self::dial(address).await?;
        // The stream's answer is not awaited: servers may send none before their first message.
        let (_, stream) = connection.set_up().await?;
        connection.stream = Some(stream);
        Ok(connection)
    }

    /// The same, with what the server sends on the stream.
    pub(crate) async fn open_reading(address: SocketAddr) -> Result<(Self, Incoming), Failure> {
        let connection = Self::dial(address).await?;
        let (response, stream) = connection.set_up().await?;
        Ok((connection, Incoming::new(response, stream)))
    }

    /// As [`Connection::open`], and answers whatever the server sends on the stream: one that stays silent for longer than a few
    /// seconds is asked whether it is there.
    pub(crate) async fn open_answering(address: SocketAddr) -> Result<Self, Failure> {
        let (connection, mut incoming) = Self::open_reading(address).await?;
        // Ends with the connection.
        tokio::spawn(async move {
            while let Ok(Some(message)) = incoming.next().await {
                if incoming.acknowledge(&message).is_err() {
                    break;
                }
            }
        });
        Ok(connection)
    }

    /// Begins a request whose body is still to come.
    pub(crate) async fn begin(&self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), Failure> {
        Ok(self.send.clone().ready().await?.send_request(head(path)?, false)?)
    }

    /// Reads nothing from the socket any more, and keeps it open for as long as the process lives.
    pub(crate) fn freeze(&self) {
        self.frozen.cancel();
    }

    async fn set_up(&self) -> Result<(ResponseFuture, SendStream<Bytes>), Failure> {
        let setup = ConnectionSetupRequest {
            client_version: Some("Nacos-Raw-Client:v2.5.1".to_owned()),
            tenant: Some(String::new()),
            labels: Some([("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.into(), v.into())).into()),
            ability_table: None,
        };
        let (response, mut stream) = self.begin(STREAM_PATH).await?;
        stream.send_data(frame(&Payload::encode_json(&setup)), false)?;
        Ok((response, stream))
    }

    /// Waits until a real server says that it knows the connection.
    pub(crate) async fn registered(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + SETUP;
        loop {
            match self.call::<_, HealthCheckResponse>(&HealthCheckRequest::default()).await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Waits until the server has said anything; a real one, that it knows the connection.
    pub(crate) async fn heard(&self, nacos: bool) -> Result<(), Failure> {
        if nacos { self.registered().await } else { self.ask(&HealthCheckRequest::default()).await.map(drop) }
    }

    pub(crate) async fn dial(address: SocketAddr) -> Result<Self, Failure> {
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        let mut http2 = h2::client::Builder::new();
        http2.initial_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let (send, connection) = http2.handshake(tcp).await?;
        // Ends with the connection, at the latest when the handle is dropped. How it ended shows in the calls.
        let frozen = CancellationToken::new();
        let frost = frozen.clone();
        let driver = tokio::spawn(async move {
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => {}
                () = frost.cancelled() => std::future::pending().await,
            }
        });
        Ok(Self { send, driver, stream: None, frozen })
    }

    /// One request, one successful answer of the expected type.
    pub(crate) async fn call<M: Message, R: Response>(&self, message: &M) -> Result<R, Failure> {
        let answer = self.ask(message).await?;
        let message = answer.get(5..).ok_or("an answer without a message")?;
        Ok(Payload::decode(message)?.decode_response::<R>()?)
    }

    /// One request, and the answer's bytes.
    async fn ask<M: Message>(&self, message: &M) -> Result<Bytes, Failure> {
        let (response, mut body) = self.begin(REQUEST_PATH).await?;
        body.send_data(frame(&Payload::encode_json(message)), true)?;
        let response = response.await?;
        if response.status() != StatusCode::OK {
            return Err(format!("HTTP status {}", response.status()).into());
        }
        read(response.into_body()).await
    }

    /// Registers one instance, as the plainest of clients would.
    pub(crate) async fn register(&self, service: String, instance: Instance) -> Result<(), Failure> {
        let request = InstanceRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(service),
            group_name: Some(GROUP.to_owned()),
            kind: Some(REGISTER.to_owned()),
            instance: Some(instance),
        };
        self.call::<_, InstanceResponse>(&request).await.map(drop)
    }

    /// Registers all instances that this connection has of a service.
    pub(crate) async fn register_batch(&self, service: &str, instances: Vec<Instance>) -> Result<(), Failure> {
        let request = BatchInstanceRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(service.to_owned()),
            group_name: Some(GROUP.to_owned()),
            kind: Some(BATCH_REGISTER.to_owned()),
            instances: Some(instances.into_iter().map(Some).collect()),
        };
        self.call::<_, BatchInstanceResponse>(&request).await.map(drop)
    }

    /// Subscribes to a service; the list in the answer is not looked into.
    pub(crate) async fn subscribe(&self, service: &str) -> Result<(), Failure> {
        let request = SubscribeServiceRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(service.to_owned()),
            group_name: Some(GROUP.to_owned()),
            subscribe: true,
            clusters: Some(String::new()),
        };
        let answer = self.ask(&request).await?;
        let head = String::from_utf8_lossy(answer.get(..100.min(answer.len())).unwrap_or_default()).into_owned();
        if head.contains("SubscribeServiceResponse") { Ok(()) } else { Err(format!("not subscribed: {head}").into()) }
    }

    /// How many services the server has in the default group of the default namespace.
    pub(crate) async fn count_services(&self) -> Result<usize, Failure> {
        let request = ServiceListRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(String::new()),
            group_name: Some(GROUP.to_owned()),
            page_no: 1,
            page_size: 1,
            selector: None,
        };
        let answer: ServiceListResponse = self.call(&request).await?;
        Ok(usize::try_from(answer.count)?)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// One of many instances, each with an address of its own.
pub(crate) fn instance_number(number: usize) -> Instance {
    let [_, b, c, d] = u32::try_from(number).unwrap_or_default().to_be_bytes();
    Instance { ip: Some(format!("10.{b}.{c}.{d}")), ..instance(8080) }
}

/// An instance that sorts before all of those and says a number.
pub(crate) fn first_instance(number: usize) -> Instance {
    let metadata = [("number", number.to_string())].into_iter().collect();
    Instance { ip: Some("1.0.0.1".to_owned()), metadata, ..instance(8080) }
}

/// An instance on 127.0.0.1.
pub(crate) fn instance(port: i32) -> Instance {
    Instance { ip: Some("127.0.0.1".to_owned()), port, cluster_name: Some("DEFAULT".to_owned()), ..Instance::default() }
}

fn head(path: &str) -> Result<Request<()>, http::Error> {
    Request::post(format!("http://server{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
}

pub(crate) fn frame(payload: &Payload) -> Bytes {
    let length = payload.encoded_len();
    let mut out = BytesMut::with_capacity(5 + length);
    out.put_u8(0);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    payload.encode_raw(&mut out);
    out.freeze()
}

async fn read(mut body: RecvStream) -> Result<Bytes, Failure> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        whole.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await?.unwrap_or_default();
    match trailers.get("grpc-status").map(http::HeaderValue::as_bytes) {
        Some(b"0") | None => Ok(whole.freeze()),
        Some(other) => Err(format!("gRPC status {}", String::from_utf8_lossy(other)).into()),
    }
}
