//! The transport as a whole, against a scripted server over in-memory pipes on paused time, and by hand against a real one.

mod calls;
mod dns;
mod handshake;
mod life_cycle;
mod login;
mod loss;
mod moving;
mod pushes;
mod real_peer;
