/// Something to be told once the settings are read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Info(String),
    Warn(String),
}

impl Note {
    pub(crate) fn info(text: impl Into<String>) -> Self {
        Self::Info(text.into())
    }

    pub(crate) fn warn(text: impl Into<String>) -> Self {
        Self::Warn(text.into())
    }

    pub(crate) fn log(&self) {
        match self {
            Self::Info(text) => tracing::info!("{text}"),
            Self::Warn(text) => tracing::warn!("{text}"),
        }
    }
}
