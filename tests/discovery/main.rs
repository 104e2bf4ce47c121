//! An application that registers, serves, watches others and leaves, against our server, through public paths only.

mod adapting;
mod discovering;
mod leaving;
mod measuring;
mod registering;
mod reporting;
mod serving;
mod support;
mod world;
