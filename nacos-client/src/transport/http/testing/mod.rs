//! A scripted server behind in-memory pipes, and a transport under test with everything it reports.

mod client;
mod server;

pub(super) use client::{Client, instance, key, register, settings};
pub(super) use server::{Answer, Asked, Net};
