/// A key that is known because it was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) key: &'static str,
    /// Whether names below it are known too: it is a map or list.
    pub(crate) below: bool,
}
