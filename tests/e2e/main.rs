//! The client against servers, through public paths only. Each test's name begins with the promise or the fault it is about.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod support;

mod addresses;
mod applications;
mod bad_input;
mod calls;
mod closing;
mod connection;
mod contexts;
mod crash;
mod environment;
mod errors;
mod freshness;
mod generations;
mod handlers;
mod hostile;
mod hostile_clients;
mod huge;
mod lifecycle;
mod listening;
mod login;
mod moving;
mod over_http;
mod picking;
mod protection;
mod protocols;
mod quietness;
mod reading;
mod redo;
mod registration;
mod services;
mod start;
mod tolerance;
mod users;
