use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::connection::Connection;
use crate::api::grpc::Budget;

/// The present gRPC connections by id.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    /// Shared by all of them.
    pub(crate) budget: Arc<Budget>,
    connections: Mutex<HashMap<Box<str>, Arc<Connection>>>,
}

impl ConnectionTable {
    /// `max_buffered`: see [`Settings`](crate::Settings).
    pub(crate) fn new(max_buffered: usize) -> Self {
        Self { budget: Arc::new(Budget::new(max_buffered)), connections: Mutex::default() }
    }

    pub(crate) fn add(&self, connection: &Arc<Connection>) {
        self.lock().insert(connection.id.clone(), Arc::clone(connection));
    }

    pub(crate) fn remove(&self, connection: &Connection) {
        self.lock().remove(&connection.id);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Connection>> {
        self.lock().get(id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// All of them, taken out first so that `act` may do what it likes.
    pub(crate) fn for_each(&self, act: impl FnMut(&Arc<Connection>)) {
        let all: Vec<Arc<Connection>> = self.lock().values().cloned().collect();
        all.iter().for_each(act);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
