//! Nacos client SDK.
