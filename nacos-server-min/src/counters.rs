use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the server did so far; a snapshot of running counters.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters { $($(#[$doc])* pub $name: u64,)* }

        /// The counters themselves.
        #[derive(Debug, Default)]
        pub(crate) struct LiveCounters { $(pub(crate) $name: Counter,)* }

        impl LiveCounters {
            pub(crate) fn snapshot(&self) -> Counters {
                Counters { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// TCP connections accepted on the gRPC port.
    connections,
    /// TCP connections turned away because there were too many.
    connections_refused,
    /// Set-ups accepted.
    setups,
    /// Unary gRPC requests answered.
    requests,
    /// Of those, answers that were no success.
    requests_refused,
    /// HTTP requests answered.
    http_requests,
    /// Lists written as JSON, for answers and for pushes. Subscribers with the same filter share theirs.
    lists_encoded,
    /// Pushes written, repetitions included.
    pushes,
    /// Of those, pushes of a list that was sent before and not acknowledged.
    pushes_repeated,
    /// Pushes that a fault swallowed.
    pushes_dropped,
    /// Positive acknowledgements of pushes.
    acks,
    /// Negative acknowledgements of pushes.
    refusals,
    /// Probes sent to silent connections.
    probes,
    /// Connections unregistered because they stayed silent.
    evictions,
    /// Connections closed because pushes were never acknowledged.
    unacknowledged_closed,
    /// Connection resets sent on request.
    resets,
    /// Beats by HTTP, of known instances and of unknown ones.
    beats,
    /// Of those, light beats of instances that are not registered: their clients are told to register again.
    beats_unknown,
    /// Of those, beats that came after the deregistration of their instance and were ignored.
    beats_too_late,
    /// Instances that became unhealthy because they did not beat.
    instances_unhealthy,
    /// Instances that were removed because they did not beat.
    instances_expired,
    /// Datagrams with lists sent to clients of the 1.x protocol, repetitions included.
    udp_pushes,
    /// Of those, repetitions because the first one was not acknowledged.
    udp_pushes_repeated,
    /// Acknowledgements of such datagrams.
    udp_acks,
    /// Subscribers by UDP that were forgotten because they acknowledged neither a datagram nor its repetition.
    udp_unacknowledged,
    /// Lists that were not sent by UDP because they are too large, for a datagram or for the client.
    udp_too_large,
    /// Datagrams that the system would not send.
    udp_failed,
    /// Datagrams received that acknowledge nothing that is waited for: late, from another address, or no acknowledgements.
    udp_ignored,
    /// Questions with a port for pushes that led to no subscription: there are too many, or nobody may be pushed to there.
    udp_refused,
    /// Questions to persistent instances whether they are there.
    health_probes,
    /// Questions that were not asked, because the settings do not allow that address.
    health_probes_denied,
    /// Persistent instances whose health the answers changed.
    health_changes,
    /// Logins that got a token.
    logins,
    /// Logins that did not.
    logins_refused,
    /// Requests that were not let in, for want of a good token.
    denials,
    /// Instances of which an operator's words were forgotten, because they had gone.
    overrides_forgotten,
}

/// One running counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_many(&self, n: usize) {
        self.0.fetch_add(u64::try_from(n).unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
