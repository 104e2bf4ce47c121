//! Every recorded message is read, and what we write looks like what real peers write.

mod golden;
mod recoding;
mod recorded;
mod robustness;
