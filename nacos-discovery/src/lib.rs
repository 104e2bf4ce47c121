//! Service discovery on top of the client.
