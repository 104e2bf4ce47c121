//! The recorded conversation with Nacos 2.5.1, held again with our server.

mod comparer;
