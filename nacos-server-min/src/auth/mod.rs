//! Who is let in, if not everybody: users with passwords, and tokens that they are given for them.
//!
//! Every user may do everything. Tokens are random and live in memory: nothing but this server can make one, and none outlives it.

mod guard;
mod pass;
mod user_table;

pub(crate) use guard::{Denial, Guard};
pub(crate) use pass::Pass;
pub(crate) use user_table::UserTable;
