use std::sync::Arc;
use std::time::Duration;

use super::answers::AnswerFault;
use super::gate::Direction;
use super::state::PushMode;
use crate::context::Context;

/// The switches of a server's faults. Cheap to clone; a handle does not keep the server running.
#[derive(Debug, Clone)]
pub struct Fault {
    context: Arc<Context>,
}

impl Fault {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context }
    }

    /// Connections are still accepted, but nothing is read and nothing is written any more, on all ports.
    pub fn freeze(&self) {
        self.context.fault.gate.shut(Direction::Both);
    }

    /// Ends [`Fault::freeze`]; what arrived meanwhile is handled now.
    pub fn thaw(&self) {
        self.context.fault.gate.open();
        self.context.udp.nudge();
    }

    /// Lets one connection's bytes vanish, in one direction or both, while the socket stays open. False if there is no such
    /// connection.
    pub fn black_hole(&self, connection_id: &str, direction: Direction) -> bool {
        self.with_connection(connection_id, |connection| connection.gate().shut(direction))
    }

    /// Ends [`Fault::black_hole`]. False if there is no such connection.
    pub fn heal(&self, connection_id: &str) -> bool {
        self.with_connection(connection_id, |connection| connection.gate().open())
    }

    /// Forgets a connection and all it published, without closing its socket: its requests are answered with 301 from now on.
    /// False if there is no such connection.
    pub fn forget(&self, connection_id: &str) -> bool {
        self.with_connection(connection_id, |connection| connection.forget())
    }

    /// Closes all TCP connections of both ports at once; new ones are welcome. Returns how many gRPC connections there were.
    pub fn kill_connections(&self) -> usize {
        let count = self.context.connections.len();
        self.context.fault.kill_connections();
        count
    }

    /// Adds a fault in the answers. Several may be in force; the first one that matches decides the answer, delays add up.
    pub fn answers(&self, fault: AnswerFault) {
        self.context.fault.add(fault);
    }

    /// Ends all faults in the answers.
    pub fn clear_answers(&self) {
        self.context.fault.clear_answers();
    }

    /// Pushes stay unsent until [`Fault::deliver_pushes`]; then each subscriber gets the newest list.
    pub fn hold_pushes(&self) {
        self.context.fault.set_push_mode(PushMode::Hold);
    }

    /// Pushes are lost on their way, as if the client had never acknowledged them.
    pub fn drop_pushes(&self) {
        self.context.fault.set_push_mode(PushMode::Drop);
    }

    /// Ends [`Fault::hold_pushes`] and [`Fault::drop_pushes`].
    pub fn deliver_pushes(&self) {
        self.context.fault.set_push_mode(PushMode::Deliver);
        self.context.nudge_pushes();
    }

    /// A changed list is pushed so much later; zero ends it.
    pub fn delay_pushes(&self, delay: Duration) {
        self.context.fault.set_push_delay(delay);
    }

    /// The server claims to be starting: readiness fails, gRPC answers 300, set-ups of SDKs are turned away.
    pub fn starting(&self, starting: bool) {
        self.context.fault.set_starting(starting);
    }

    /// Sets the wall clock of this server apart from the real one; lists carry its time. Delays do not depend on it.
    pub fn skew_clock(&self, milliseconds: i64) {
        self.context.clock.set_skew(milliseconds);
    }

    /// No token that was given before is taken any more, as after the change of a secret.
    pub fn forget_tokens(&self) {
        if let Some(guard) = &self.context.guard {
            guard.forget_tokens();
        }
    }

    /// The lives of all tokens are over.
    pub fn expire_tokens(&self) {
        if let Some(guard) = &self.context.guard {
            guard.expire_tokens();
        }
    }

    /// Changes the password of a user, or adds one. Tokens stay good; nothing happens where everybody is let in.
    pub fn set_password(&self, name: &str, password: &str) {
        if let Some(guard) = &self.context.guard {
            guard.set_password(name, password);
        }
    }

    fn with_connection(&self, id: &str, act: impl FnOnce(&crate::conn::Connection)) -> bool {
        self.context.connections.get(id).map(|connection| act(&connection)).is_some()
    }
}
