/// What somebody shows to be let in.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pass<'a> {
    pub(crate) token: Option<&'a str>,
    pub(crate) username: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
}

impl<'a> Pass<'a> {
    /// Reads it from names that are the same in queries, forms and headers of gRPC.
    pub(crate) fn of(bearer: Option<&'a str>, get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        Self {
            token: bearer.or_else(|| get("accessToken")).filter(|token| !token.trim().is_empty()),
            username: get("username"),
            password: get("password"),
        }
    }
}
