//! The tool as its users run it: a process with arguments, an output and an exit code, against real sockets.

mod changing;
mod comparing;
mod diagnosing;
mod documented;
mod explaining;
mod failing;
mod logging_in;
mod looking;
mod recorded;
mod routing;
mod support;
mod watching;
