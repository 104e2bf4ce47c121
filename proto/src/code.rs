//! Result and error codes.
//!
//! `resultCode` is [`OK`] or [`FAIL`]; an `ErrorResponse` built from an exception repeats its error code there. Codes are
//! signed: several negative ones are in use.

/// `resultCode` of a success.
pub const OK: i32 = 200;
/// `resultCode` of a failure, and the `errorCode` of an unexpected one.
pub const FAIL: i32 = 500;
/// The server is still starting.
pub const INVALID_SERVER_STATUS: i32 = 300;
/// The connection is unknown to the server: the whole set-up has to be run again.
pub const UNREGISTERED: i32 = 301;
/// No handler for this message type.
pub const NO_HANDLER: i32 = 302;
/// A parameter was refused.
pub const INVALID_PARAM: i32 = 400;
/// Not authenticated, or no permission.
pub const NO_RIGHT: i32 = 403;
/// Something named in the request does not exist.
pub const NOT_FOUND: i32 = 404;
/// The request contradicts what the server has.
pub const CONFLICT: i32 = 409;
/// The server does not implement the feature.
pub const NOT_IMPLEMENTED: i32 = 501;
/// The body could not be read, or the message came through the wrong port.
pub const BAD_GATEWAY: i32 = 502;
/// The server is overloaded.
pub const OVER_THRESHOLD: i32 = 503;
/// The connection has no naming client, or is gone.
pub const CLIENT_DISCONNECT: i32 = -401;
/// The receiver of a push failed to handle it.
pub const CLIENT_ERROR: i32 = -500;
/// `code` in the answer to a beat: the instance is known.
pub const BEAT_OK: i32 = 10_200;
/// `code` in the answer to a beat: the instance is unknown and must be registered. It comes with HTTP status 200.
pub const BEAT_UNKNOWN: i32 = 20_404;
