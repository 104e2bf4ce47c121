//! A server in which something panicked: it says so, its clients go elsewhere, and a new one is whole.

use nacos_client::NamingService;
use nacos_proto::grpc::{InstanceRequest, Message};
use nacos_server_min::fault::AnswerFault;

use crate::support::client::{LONG, connected, mine, quick};
use crate::support::consumer::{lists, service};
use crate::support::wait::in_time;
use crate::support::world::{World, in_our_worlds, unique};

in_our_worlds!(
    l10_a_server_whose_core_panicked_is_left_for_another,
    l10_a_new_server_after_a_panic_gets_everything_again,
);

async fn l10_a_server_whose_core_panicked_is_left_for_another(world: World) {
    let servers = [world.registry().await, world.registry().await];
    let config = NamingService::builder().servers([servers[0].entry(), servers[1].entry()]).timeouts(quick());
    let nacos = config.build().expect("the settings are valid");
    connected(&nacos).await;
    let here = usize::from(servers[0].proxy.open() == 0);
    let (sick, other) = (&servers[here], &servers[1 - here]);
    sick.server().fault().answers(AnswerFault::crash().request(InstanceRequest::TYPE).times(1));
    let name = unique("orders");
    let registration = service(&nacos, &name).register(mine(1)).expect("it is valid");
    in_time("the server knows of its panic", sick.server().failed()).await;
    // Half a server would be worse than none: it sends its clients away, and they find the other one by themselves.
    other.witness().await.sees(&name, &[1]).await;
    registration.confirmed_within(LONG).await.expect("it is acknowledged");
    lists(&service(&nacos, &name), &[1]).await;
}

async fn l10_a_new_server_after_a_panic_gets_everything_again(world: World) {
    let mut registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).build().expect("the settings are valid");
    let (before, during) = (unique("before"), unique("during"));
    nacos.register_instance(&before, mine(1)).await.expect("it is acknowledged");
    registry.server().fault().answers(AnswerFault::crash().request(InstanceRequest::TYPE).times(1));
    let _registration = service(&nacos, &during).register(mine(2)).expect("it is valid");
    in_time("the server knows of its panic", registry.server().failed()).await;
    registry.goes_down().await;
    registry.comes_up().await;
    let witness = registry.witness().await;
    witness.sees(&before, &[1]).await;
    witness.sees(&during, &[2]).await;
}
