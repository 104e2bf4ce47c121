//! What rules may be as large as. Everything that a request costs is bounded by these.

/// Rules of a service.
pub(super) const RULES: usize = 256;
/// Conditions of a rule.
pub(super) const CONDITIONS: usize = 16;
/// Destinations of a rule.
pub(super) const DESTINATIONS: usize = 32;
/// Labels of a service, each of which has tables of its own.
pub(super) const LABELS: usize = 128;
/// Texts of `any`.
pub(super) const TEXTS: usize = 1024;
/// Bytes of a name: of a rule, a header, a metadata key.
pub(super) const NAME: usize = 128;
/// Bytes of a value: in rules, as in requests, whose longer ones are not looked at.
pub(super) const VALUE: usize = 256;
/// Bytes of a path.
pub(super) const PATH: usize = 4096;
/// Bytes of an expression.
pub(super) const EXPRESSION: usize = 1024;
/// Bytes of a compiled expression.
pub(super) const COMPILED: usize = 32 * 1024;
