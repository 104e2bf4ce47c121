use std::fmt;

use serde::{Deserialize, Serialize};

use crate::lenient;

/// The answer to a login that succeeded; it has no envelope in any generation. Shown without the token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoginAnswer {
    /// What every call is to carry. Opaque.
    #[serde(deserialize_with = "lenient::text")]
    pub access_token: Option<String>,
    /// What is left of its life, in seconds.
    #[serde(deserialize_with = "lenient::readable_integer")]
    pub token_ttl: Option<i64>,
    /// Whether the user may do everything.
    #[serde(deserialize_with = "lenient::boolean")]
    pub global_admin: bool,
    /// The user. Servers before 2.0 leave it out.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
}

impl fmt::Debug for LoginAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginAnswer")
            .field("token_ttl", &self.token_ttl)
            .field("global_admin", &self.global_admin)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::read;

    #[test]
    fn answers_of_all_generations_are_read() {
        let ttl = |json: &str| read::<LoginAnswer>(json.as_bytes(), "login").unwrap().token_ttl;
        assert_eq!(ttl(r#"{"accessToken":"t","tokenTtl":18000,"globalAdmin":true,"username":"nacos"}"#), Some(18_000));
        assert_eq!(ttl(r#"{"accessToken":"t","tokenTtl":"18000"}"#), Some(18_000));
        assert_eq!(ttl(r#"{"accessToken":"t","tokenTtl":-1}"#), Some(-1));
        assert_eq!(ttl(r#"{"accessToken":"t","tokenTtl":null,"globalAdmin":null}"#), None);
        assert_eq!(ttl(r#"{"accessToken":"AUTH_DISABLED"}"#), None);
    }

    #[test]
    fn cg47_the_token_is_not_shown() {
        let answer = LoginAnswer { access_token: Some("hunter2".to_owned()), ..LoginAnswer::default() };
        assert!(!format!("{answer:?}").contains("hunter2"));
    }
}
