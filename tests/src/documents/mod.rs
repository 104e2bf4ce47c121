//! The Markdown documents of the repository, as far as tests look into them: code, links and commands.

mod command;
mod document;
mod fence;
mod link;

pub use command::Command;
pub use document::Document;
pub use fence::Fence;
pub use link::Link;
