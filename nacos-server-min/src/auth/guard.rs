use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Pass, UserTable};

/// Tokens at a time. Further logins end those that would end first.
const MOST_TOKENS: usize = 100_000;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Why somebody is not let in, in the words of Nacos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    /// Neither a token nor a user with the right password.
    Unknown,
    /// The token is none of this server's.
    Invalid,
    /// The token's life is over.
    Expired,
}

impl Denial {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Unknown => "user not found!",
            Self::Invalid => "token invalid!",
            Self::Expired => "token expired!",
        }
    }
}

/// Lets users in.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Of a token.
    pub(crate) life: Duration,
    state: Mutex<State>,
}

struct State {
    users: UserTable,
    /// When each ends.
    tokens: HashMap<String, Instant>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("users", &self.users).field("tokens", &self.tokens.len()).finish()
    }
}

impl Guard {
    pub(crate) fn new(users: UserTable, life: Duration) -> Self {
        Self { life, state: Mutex::new(State { users, tokens: HashMap::new() }) }
    }

    /// Whether whoever shows `pass` is let in.
    pub(crate) fn admit(&self, pass: Pass<'_>) -> Result<(), Denial> {
        let state = self.state();
        match (pass.token, pass.username) {
            (Some(token), _) => match state.tokens.get(token) {
                None => Err(Denial::Invalid),
                Some(end) if *end <= Instant::now() => Err(Denial::Expired),
                Some(_) => Ok(()),
            },
            (None, Some(name)) if state.users.knows(name, pass.password.unwrap_or_default()) => Ok(()),
            (None, _) => Err(Denial::Unknown),
        }
    }

    /// A new token for a user with the right password.
    pub(crate) fn log_in(&self, name: &str, password: &str) -> Option<String> {
        let now = Instant::now();
        let mut state = self.state();
        if !state.users.knows(name, password) {
            return None;
        }
        if state.tokens.len() >= MOST_TOKENS {
            state.tokens.retain(|_, end| *end > now);
        }
        if state.tokens.len() >= MOST_TOKENS {
            let first = state.tokens.iter().min_by_key(|(_, end)| **end).map(|(token, _)| token.clone());
            first.and_then(|token| state.tokens.remove(&token));
        }
        let token = token()?;
        state.tokens.insert(token.clone(), now + self.life);
        Some(token)
    }

    /// No token of before is taken any more, as after the change of a secret.
    pub(crate) fn forget_tokens(&self) {
        self.state().tokens.clear();
    }

    /// The lives of all tokens are over.
    pub(crate) fn expire_tokens(&self) {
        let now = Instant::now();
        self.state().tokens.values_mut().for_each(|end| *end = now);
    }

    pub(crate) fn set_password(&self, name: &str, password: &str) {
        self.state().users.put(name.to_owned(), password.to_owned());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves a whole value, even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `None` if the system has no random numbers.
fn token() -> Option<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::with_capacity(2 * TOKEN_BYTES);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        let mut users = UserTable::default();
        users.put("nacos".to_owned(), "hunter2".to_owned());
        Guard::new(users, Duration::from_secs(10))
    }

    fn with_token(token: &str) -> Pass<'_> {
        Pass { token: Some(token), ..Pass::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_lets_in_until_its_life_is_over() {
        let guard = guard();
        assert_eq!(guard.log_in("nacos", "hunter3"), None);
        assert_eq!(guard.log_in("nacos", ""), None);
        assert_eq!(guard.log_in("who", "hunter2"), None);
        let token = guard.log_in("nacos", "hunter2").expect("the right password");
        assert_eq!(guard.admit(with_token(&token)), Ok(()));
        assert_eq!(guard.admit(with_token("x")), Err(Denial::Invalid));
        assert_eq!(guard.admit(Pass::default()), Err(Denial::Unknown));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(guard.admit(with_token(&token)), Err(Denial::Expired));
        let other = guard.log_in("nacos", "hunter2").expect("the right password");
        assert_ne!(token, other);
        guard.forget_tokens();
        assert_eq!(guard.admit(with_token(&other)), Err(Denial::Invalid));
    }

    #[test]
    fn user_and_password_let_in_without_a_token() {
        let (guard, user) = (guard(), |password| Pass { username: Some("nacos"), password, token: None });
        assert_eq!(guard.admit(user(Some("hunter2"))), Ok(()));
        assert_eq!(guard.admit(user(Some("hunter"))), Err(Denial::Unknown));
        assert_eq!(guard.admit(user(None)), Err(Denial::Unknown));
        guard.set_password("nacos", "other");
        assert_eq!(guard.admit(user(Some("hunter2"))), Err(Denial::Unknown));
    }

    #[test]
    fn a05_nothing_shows_a_password_or_a_token() {
        let guard = guard();
        let token = guard.log_in("nacos", "hunter2").expect("the right password");
        let shown = format!("{guard:?}");
        assert!(shown.contains("nacos") && !shown.contains("hunter2") && !shown.contains(&token), "{shown}");
    }
}
