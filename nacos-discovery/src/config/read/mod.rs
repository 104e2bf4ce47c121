//! Reads typed values out of layers, and keeps account of what was asked for and what is worth a word.

mod asked;
mod note;
mod placeholder;
mod reader;
mod setting;
mod values;

pub(crate) use asked::Asked;
pub(crate) use note::Note;
pub(crate) use reader::Reader;
pub(crate) use setting::Setting;
pub(crate) use values::{boolean, duration, milliseconds};
