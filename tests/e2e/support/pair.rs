//! A provider and a consumer who do nothing wrong, to see whether they suffer from those who do.

use std::pin::pin;

use nacos_client::{NamingService, Registration, Subscription};

use super::client::{LONG, connects_and_losses, mine};
use super::consumer::{next_that, prompt, service, subscribed};
use super::wait::in_time;
use super::world::{Registry, unique};

const ROUND: &str = "round";

/// Two clients of one server: what the one changes the other is pushed.
pub(crate) struct Pair {
    provider: NamingService,
    consumer: NamingService,
    registration: Registration,
    changes: Subscription,
    rounds: usize,
}

impl Pair {
    pub(crate) async fn of(registry: &Registry) -> Self {
        let provider = registry.config().deadline(LONG).build().expect("the settings are valid");
        let consumer = prompt(registry);
        let name = unique("well-behaved");
        let registration = service(&provider, &name).register(mine(1)).expect("it is valid");
        in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
        let changes = subscribed(&service(&consumer, &name)).await;
        let mut pair = Self { provider, consumer, registration, changes, rounds: 0 };
        pair.round().await;
        pair
    }

    /// How many changes there were.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// One change, one push.
    pub(crate) async fn round(&mut self) {
        self.rounds += 1;
        let round = self.rounds.to_string();
        self.registration.update(|instance| instance.metadata(ROUND, round.clone())).expect("it is valid");
        next_that(&mut self.changes, "the change is pushed", |change| {
            change.instances().first().is_some_and(|i| i.metadata.get(ROUND) == Some(&round))
        })
        .await;
    }

    /// Goes on with rounds while `attack` runs: at least `least` of them, at least one of them after its end.
    /// Neither of the two may lose its connection.
    pub(crate) async fn works_during<T>(&mut self, least: usize, attack: impl Future<Output = T>) -> T {
        let mut attack = pin!(attack);
        let before = self.rounds;
        let outcome = loop {
            tokio::select! {
                outcome = &mut attack => break outcome,
                () = self.round() => {}
            }
        };
        while self.rounds <= before + least {
            self.round().await;
        }
        self.round().await;
        for client in [&self.provider, &self.consumer] {
            assert_eq!(connects_and_losses(client), (1, 0), "somebody was disturbed: {:?}", client.stats());
        }
        outcome
    }
}
