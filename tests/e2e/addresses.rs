//! The addresses of servers and instances in all their forms.

use std::time::Duration;

use nacos_client::{ConnectionStatus, Instance, NamingService, QueryError, Select};
use nacos_server_min::Server;

use crate::support::client::{LONG, quick, status_that, told};
use crate::support::proxy::Proxy;
use crate::support::world::World;

#[tokio::test]
async fn g12_every_form_of_a_server_entry_leads_to_its_grpc_port() {
    let server = Server::builder().start().await.unwrap();
    let (main, grpc) = (server.http_addr().port(), server.grpc_addr().port());
    let proxy = Proxy::to(server.grpc_addr()).await;
    let mapped = proxy.address().port();
    let forms = [
        (format!("127.0.0.1:{main}"), None),
        (format!("http://127.0.0.1:{main}"), None),
        (format!("http://127.0.0.1:{main}/"), None),
        (format!("localhost:{main}"), None),
        (format!("127.0.0.1:80?grpc_port={mapped}"), None),
        (format!("127.0.0.1?grpc_port={grpc}"), None),
        (format!("127.0.0.1:{}?grpc_offset=7", grpc - 7), None),
        (format!("127.0.0.1:{}", grpc - 9), Some(9)),
        (format!("127.0.0.1:1,127.0.0.1:{main};127.0.0.1:2"), None),
    ];
    for (entry, offset) in forms {
        let builder = NamingService::builder().servers([entry.as_str()]).deadline(LONG);
        let builder = if let Some(offset) = offset { builder.grpc_port_offset(offset) } else { builder };
        let nacos = builder.build().unwrap_or_else(|e| panic!("{entry}: {e}"));
        nacos.service("orders").unwrap().snapshot().await.unwrap_or_else(|e| panic!("{entry}: {e}"));
    }
    assert_eq!(proxy.accepted(), 1, "the mapped port was used when it was named");
}

#[tokio::test]
async fn g12_an_error_names_the_address_and_port_really_tried() {
    let closed = Proxy::closed().await;
    let port = closed.address().port();
    let forms = [
        (format!("127.0.0.1:80?grpc_port={port}"), None),
        (format!("127.0.0.1:{}", port - 1000), None),
        (format!("127.0.0.1:{}", port - 3), Some(3)),
    ];
    for (entry, offset) in forms {
        let builder = NamingService::builder().servers([entry.as_str()]).deadline(Duration::from_millis(200));
        let builder = if let Some(offset) = offset { builder.grpc_port_offset(offset) } else { builder };
        let nacos = builder.build().unwrap();
        let error = nacos.connected(Duration::from_millis(200)).await.expect_err("nobody listens there");
        let QueryError::NotConnected { last_error: Some(last), .. } = error else { panic!("{entry}: {error:?}") };
        assert!(last.contains(&format!("127.0.0.1:{port}")), "{entry}: {last}");
    }
}

#[tokio::test]
async fn g12_a_port_that_speaks_http1_is_named_as_what_it_is() {
    // The main port of a server, taken for its gRPC port, as behind a wrongly set up proxy.
    let server = Server::builder().start().await.unwrap();
    let wrong = server.http_addr();
    let nacos = NamingService::builder()
        .servers([format!("127.0.0.1:8848?grpc_port={}", wrong.port())])
        .timeouts(quick())
        .build()
        .unwrap();
    nacos.connected(Duration::from_millis(100)).await.expect_err("that is no gRPC port");
    let status = status_that(&nacos, "an attempt has failed", |status| {
        matches!(status, ConnectionStatus::Connecting { last_error: Some(_), .. })
    })
    .await;
    let ConnectionStatus::Connecting { last_error: Some(last), .. } = status else { unreachable!("waited for it") };
    assert!(last.contains(&wrong.to_string()), "{last}");
}

#[tokio::test]
async fn g13_a_server_on_ipv6_is_reached_by_every_form_of_its_address() {
    let server = Server::builder().host("::1").start().await.expect("IPv6 loopback");
    let (main, grpc) = (server.http_addr().port(), server.grpc_addr().port());
    let forms = [
        server.server_addr(),
        format!("http://[::1]:{main}"),
        format!("[0:0:0:0:0:0:0:1]:{main}"),
        format!("::1?grpc_port={grpc}"),
        format!("[::1]?grpc_port={grpc}"),
    ];
    for entry in forms {
        let nacos = NamingService::builder().servers([entry.as_str()]).deadline(LONG).build().unwrap();
        nacos.service("orders").unwrap().snapshot().await.unwrap_or_else(|e| panic!("{entry}: {e}"));
        let ConnectionStatus::Connected { peer, .. } = nacos.status().current() else { panic!("{entry}") };
        assert_eq!(peer, format!("[::1]:{grpc}"), "{entry}");
    }
}

#[tokio::test]
async fn g13_ipv6_instances_come_through_whole() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().deadline(LONG).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    let forms = [
        ("2001:db8::5", "2001:db8::5"),
        ("[2001:db8::6]", "2001:db8::6"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ];
    let mut registrations = Vec::new();
    for (given, _) in forms {
        registrations.push(orders.register(Instance::new((given, 8080))).unwrap_or_else(|e| panic!("{given}: {e}")));
    }
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered");
    }
    let mut changes = orders.subscribe(Select::all());
    let list = told(&mut changes, "all of them", |list| list.len() == forms.len()).await;
    for (_, ip) in forms {
        let found =
            list.instances().iter().find(|instance| instance.ip == ip).unwrap_or_else(|| panic!("{ip}: {list:?}"));
        assert_eq!(found.addr(), format!("[{ip}]:8080"));
        let uri = format!("http://{}/path", found.addr());
        if !ip.contains('%') {
            let uri: http::Uri = uri.parse().expect("the address goes into a URI as it is");
            assert_eq!(uri.port_u16(), Some(8080));
        }
    }
}
