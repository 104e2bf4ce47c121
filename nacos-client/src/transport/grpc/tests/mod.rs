//! The transport as a whole, against a scripted server over in-memory pipes on paused time, and by hand against a real one.

mod real_peer;
