//! Where settings come from: texts of three formats, the environment, the code. Each becomes a layer.

mod document;
mod format;
mod layer;
mod name;
mod properties;
mod scalar;
mod toml;
mod variables;
mod yaml;

pub(crate) use document::Property;
pub(crate) use format::{Format, read};
pub(crate) use layer::{Found, Layer};
pub(crate) use name::PropertyName;
pub(crate) use variables::Variables;
