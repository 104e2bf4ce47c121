//! A scripted server behind in-memory pipes, and a handler that keeps what it is told.

mod client;
mod server;

pub(super) use client::{Client, key, register, settings};
pub(super) use server::{Answer, Peer, Script, ScriptedServer, standard};
