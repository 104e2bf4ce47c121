//! Whether what would be registered is valid, told where the place of each setting is known.

use nacos_client::{Instance, ServiceKey};

use super::bind::{Read, key};
use super::read::{Reader, Setting};
use super::{DiscoveryConfig, Place};

/// Refuses what the client would refuse to register.
pub(super) fn check_registration(reader: &mut Reader<'_>, config: &DiscoveryConfig) -> Read<()> {
    let (true, Some(service)) = (config.enabled && config.register_enabled, &config.service) else { return Ok(()) };
    let Ok(client) = config.client_config() else { return Ok(()) };
    let service = ServiceKey::new(&config.group, service);
    let refusal = |own: &Instance| client.check_registration(&service, own).err();
    let Some(error) = refusal(&config.sample()) else { return Ok(()) };
    let culprit = match error.field {
        "service name" => reader.setting(key!("service"))?.or(reader.setting("spring.application.name")?),
        "group" => reader.setting(key!("group"))?,
        "cluster" => reader.setting(key!("cluster-name"))?,
        "ip" => reader.setting(key!("ip"))?,
        _ => metadata(reader, |entry| refusal(entry).is_some())?,
    };
    let culprit = culprit.unwrap_or_else(|| Setting::new(key!("metadata"), String::new(), Place::Code));
    Err(culprit.refused(format!("what registries take: {}", error.reason)))
}

/// The setting behind metadata that are refused: an entry that is refused alone, else a time of the heart beat, else the
/// longest entry.
fn metadata(reader: &mut Reader<'_>, is_refused: impl Fn(&Instance) -> bool) -> Read<Option<Setting>> {
    let entries = reader.entries(key!("metadata"))?;
    let bare = || Instance::new(("127.0.0.1", 1));
    if let Some((_, alone)) = entries.iter().find(|(name, setting)| is_refused(&bare().metadata(*name, &setting.text)))
    {
        return Ok(Some(alone.clone()));
    }
    let together = entries.iter().fold(bare(), |all, (name, setting)| all.metadata(name, &setting.text));
    if !is_refused(&together) {
        for key in [key!("heart-beat-timeout"), key!("ip-delete-timeout"), key!("heart-beat-interval")] {
            if let Some(time) = reader.setting(key)? {
                return Ok(Some(time));
            }
        }
    }
    Ok(entries.into_values().max_by_key(|setting| setting.text.len()))
}
