//! The client against servers, through public paths only. Each test's name begins with the promise or the fault it is about.

mod support;

mod bad_input;
mod freshness;
mod handlers;
mod listening;
mod protection;
mod start;
