//! Logins at scripted servers, over real sockets.

mod logging_in;
mod secrets;
