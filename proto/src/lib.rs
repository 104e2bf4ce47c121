//! Wire types of the Nacos protocols.
