//! Spring-Cloud-style service discovery on top of [`nacos_client`].
//!
//! Nothing is here yet but the crate's place in the workspace. It will hold the `spring.cloud.nacos.discovery.*` settings, the
//! registration life cycle, and the tower layers that pick, eject, balance and retry; until then, use [`nacos_client`] itself.
