//! Who is told of calls.

mod call_info;
mod completed;
mod hooks;
mod observer;

pub use call_info::CallInfo;
pub use completed::Completed;
pub use hooks::Hooks;
pub(super) use observer::{HookList, Observer};
