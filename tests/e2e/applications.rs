//! Many services in one process, as RPC frameworks register them: one per interface, or one per application, with rich metadata.

use nacos_client::{Instance, NamingService, Registration, RegistrationStatus, Select, Validation};
use nacos_proto::code;
use nacos_server_min::Settings;

use crate::support::client::{LONG, connects_and_losses, ports, told};
use crate::support::consumer::{lists, prompt, service};
use crate::support::wait::{in_time, wait_until};
use crate::support::world::{Registry, World, in_our_worlds};

in_our_worlds!(
    applications_with_sixty_interfaces_each_share_a_process,
    one_application_is_one_service_with_all_its_interfaces_in_the_metadata,
    the_limit_of_metadata_is_a_setting_of_the_server_and_of_the_client,
    cg18_one_refused_interface_shows_it_and_delays_no_other,
);

const INTERFACES: u16 = 60;

/// The name of a provided interface; without a group it ends in a colon.
fn interface(application: &str, number: u16) -> String {
    let group = if number.is_multiple_of(2) { application } else { "" };
    format!("providers:com.acme.{application}.OrderService{number}:1.0.0:{group}")
}

/// What such a framework says about a provided interface; some 900 characters.
fn provider(application: &str, number: u16) -> Instance {
    let methods: Vec<String> = (0..30).map(|method| format!("findOrdersByCustomer{method}")).collect();
    [
        ("side", "provider"),
        ("application", application),
        ("interface", &format!("com.acme.{application}.OrderService{number}")),
        ("methods", &methods.join(",")),
        ("version", "1.0.0"),
        ("revision", "1.0.0-SNAPSHOT"),
        ("protocol", "dubbo"),
        ("path", &format!("com.acme.{application}.OrderService{number}")),
        ("deprecated", "false"),
        ("dynamic", "true"),
        ("timestamp", "1796040000000"),
    ]
    .into_iter()
    .fold(Instance::new(("10.1.2.3", 20_880)), |instance, (key, value)| instance.metadata(key, value))
}

/// One application: a client of its own with all its interfaces.
struct Application {
    nacos: NamingService,
    interfaces: Vec<Registration>,
}

fn start(registry: &Registry, application: &str) -> Application {
    let nacos = registry.config().app_name(application).deadline(LONG).build().expect("the settings are valid");
    let register = |number| service(&nacos, &interface(application, number)).register(provider(application, number));
    let interfaces = (0..INTERFACES).map(|number| register(number).expect("it is valid")).collect();
    Application { nacos, interfaces }
}

async fn all_confirmed<'a>(registrations: impl IntoIterator<Item = &'a Registration>) {
    for registration in registrations {
        in_time("a registration", registration.confirmed()).await.expect("it is acknowledged");
    }
}

async fn applications_with_sixty_interfaces_each_share_a_process(world: World) {
    let registry = world.registry().await;
    let names = ["orders", "stock", "billing"];
    let [orders, stock, billing] = names.map(|name| start(&registry, name));
    let consumer = prompt(&registry);
    let mut watched = Vec::new();
    for number in 0..INTERFACES {
        watched.push(service(&consumer, &interface("orders", number)).subscribe(Select::healthy()));
    }
    for application in [&orders, &stock, &billing] {
        all_confirmed(&application.interfaces).await;
    }
    let page = in_time("the names", consumer.services_page("", 1, 1_000)).await.expect("the server answers");
    assert_eq!(page.count, usize::from(3 * INTERFACES));
    for (number, changes) in (0..).zip(&mut watched) {
        let list = told(changes, "the provider is listed", |list| ports(list) == [20_880]).await;
        let expected = provider("orders", number);
        assert_eq!(list.instances()[0].metadata, expected.metadata, "{number}");
    }
    // One application changes all it has, another one ends: the first one's consumers see the change, nobody sees the end.
    for registration in &orders.interfaces {
        registration.update(|instance| instance.metadata("timestamp", "1796040000001")).expect("it is valid");
    }
    for changes in &mut watched {
        let newer = |list: &nacos_client::ServiceSnapshot| {
            list.instances().first().is_some_and(|i| i.metadata.get("timestamp").is_some_and(|t| t.ends_with('1')))
        };
        told(changes, "the change is pushed", newer).await;
    }
    assert!(in_time("the end", billing.nacos.shutdown(LONG)).await.clean);
    let witness = registry.witness().await;
    for number in 0..INTERFACES {
        witness.sees(&interface("billing", number), &[]).await;
        assert_eq!(witness.ports(&interface("stock", number)).await, [20_880]);
    }
    for nacos in [&orders.nacos, &stock.nacos, &consumer] {
        assert_eq!(connects_and_losses(nacos), (1, 0));
    }
}

/// The settings of a server on which an application may say a lot.
fn roomy() -> Settings {
    let mut settings = Settings::default();
    settings.max_metadata = 64 * 1024;
    settings
}

async fn one_application_is_one_service_with_all_its_interfaces_in_the_metadata(world: World) {
    let registry = world.registry_with(roomy()).await;
    let nacos = registry.config().max_metadata(64 * 1024).deadline(LONG).build().expect("the settings are valid");
    let exported: Vec<String> = (0..INTERFACES).map(|number| interface("orders", number)).collect();
    let application = Instance::new(("10.1.2.3", 20_880))
        .metadata("dubbo.endpoints", r#"[{"port":20880,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#)
        .metadata("dubbo.metadata-service.url-params", r#"{"version":"1.0.0","dubbo":"2.0.2","port":"20881"}"#)
        .metadata("dubbo.metadata.revision", "6c1f4a2e4e7a8d3b0a5f")
        .metadata("dubbo.metadata.storage-type", "local")
        .metadata("dubbo.exported-services", exported.join(";"));
    let registration = service(&nacos, "acme-orders").register(application.clone()).expect("it is valid");
    in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
    let consumer = prompt(&registry);
    let mut changes = service(&consumer, "acme-orders").subscribe(Select::healthy());
    let list = told(&mut changes, "the application is listed", |list| ports(list) == [20_880]).await;
    assert_eq!(list.instances()[0].metadata, application.metadata);
    // A new revision is one change of one service, however many interfaces there are.
    registration.update(|i| i.metadata("dubbo.metadata.revision", "7d2f")).expect("it is valid");
    let newer = |list: &nacos_client::ServiceSnapshot| {
        list.instances().iter().any(|i| i.metadata.get("dubbo.metadata.revision").is_some_and(|r| r == "7d2f"))
    };
    told(&mut changes, "the new revision is pushed", newer).await;
}

async fn the_limit_of_metadata_is_a_setting_of_the_server_and_of_the_client(world: World) {
    let mut settings = Settings::default();
    settings.max_metadata = 2_000;
    let registry = world.registry_with(settings).await;
    let of_length = |port, length: usize| Instance::new(("10.1.2.3", port)).metadata("k", "v".repeat(length - 1));
    let asked = registry.config().max_metadata(2_000).deadline(LONG).build().expect("the settings are valid");
    service(&asked, "s").register(of_length(1, 2_001)).expect_err("the client knows the limit");
    let longest = service(&asked, "s").register(of_length(1, 2_000)).expect("it is valid");
    in_time("the longest", longest.confirmed()).await.expect("it is acknowledged");
    // A client that does not know better than the default says so before anything is sent.
    service(&registry.client(), "s").register(of_length(2, 1_025)).expect_err("it is more than the default");
    // One that expects more of the server than it takes is told by the server.
    let wrong = registry.config().max_metadata(usize::MAX).deadline(LONG).build().expect("the settings are valid");
    let refused = service(&wrong, "t").register(of_length(3, 2_001)).expect("the client thinks so");
    wait_until("the refusal shows", || is_refused(&refused.status())).await;
    // By HTTP it is the same limit.
    for (length, status) in [(2_000, 200), (2_001, 400)] {
        let target =
            format!("/nacos/v1/ns/instance?serviceName=h&ip=10.1.2.3&port=4&metadata=k%3D{}", "v".repeat(length - 1));
        assert_eq!(registry.http("POST", &target).await.0, status, "{length}");
    }
}

fn is_refused(status: &RegistrationStatus) -> bool {
    matches!(status, RegistrationStatus::Refused(refusal) if refusal.code == code::INVALID_PARAM)
}

async fn cg18_one_refused_interface_shows_it_and_delays_no_other(world: World) {
    let registry = world.registry().await;
    let consumer = prompt(&registry);
    let nacos =
        registry.config().validation(Validation::Server).deadline(LONG).build().expect("the settings are valid");
    let register = |number| {
        let instance = provider("orders", number);
        // The one in the middle says too much.
        let instance = if number == INTERFACES / 2 { instance.metadata("more", "m".repeat(1_000)) } else { instance };
        service(&nacos, &interface("orders", number)).register(instance).expect("the server is left to judge")
    };
    let mut all: Vec<Registration> = (0..INTERFACES).map(register).collect();
    let refused = all.remove(usize::from(INTERFACES / 2));
    all_confirmed(&all).await;
    wait_until("the refusal shows", || is_refused(&refused.status())).await;
    assert!(in_time("its answer", refused.confirmed()).await.is_err());
    for number in (0..INTERFACES).filter(|number| *number != INTERFACES / 2) {
        let handle = service(&consumer, &interface("orders", number));
        handle.ready().await.expect("the server answers");
        lists(&handle, &[20_880]).await;
    }
    assert_eq!(connects_and_losses(&nacos), (1, 0), "a refusal is no reason to leave");
    // What was refused is registered as soon as it says less.
    refused.update(|_| provider("orders", INTERFACES / 2)).expect("it is valid");
    in_time("the correction", refused.confirmed()).await.expect("it is acknowledged");
}
