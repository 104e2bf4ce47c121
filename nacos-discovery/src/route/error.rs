/// Rules that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// A rule says something that cannot be.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where: `services.order-service.routes[2].to[0].percent`.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}
