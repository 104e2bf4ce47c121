mod errors;
mod formats;
mod keys;
mod layers;
mod load_balancer;
mod robustness;
mod spring;

use super::read::Note;
use super::{DiscoveryConfig, DiscoveryConfigBuilder, DiscoveryConfigError};

/// What a builder gives, with what it would log.
fn read(builder: DiscoveryConfigBuilder) -> Result<(DiscoveryConfig, Vec<String>), DiscoveryConfigError> {
    let (config, notes) = builder.read()?;
    let text = |note| match note {
        Note::Info(text) => format!("info: {text}"),
        Note::Warn(text) => format!("warn: {text}"),
    };
    Ok((config, notes.into_iter().map(text).collect()))
}

fn yaml(text: &str) -> Result<(DiscoveryConfig, Vec<String>), DiscoveryConfigError> {
    read(DiscoveryConfig::builder().yaml_str(text)?)
}

/// The message of what must fail.
fn error(result: Result<(DiscoveryConfig, Vec<String>), DiscoveryConfigError>) -> String {
    match result {
        Ok(read) => panic!("accepted: {read:?}"),
        Err(error) => error.to_string(),
    }
}
