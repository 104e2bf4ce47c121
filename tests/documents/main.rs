//! What the documents say can be done: their links lead somewhere, their code is compiled, their settings are taken.

mod code;
mod links;
mod reading;
mod settings;
