use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::health::PaceRules;
use crate::push::Family;

/// The switches an operator sees and turns. Kept and shown whole; what has a meaning here says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Switches {
    masters: Option<Vec<String>>,
    ad_weight_map: BTreeMap<String, i32>,
    default_push_cache_millis: i64,
    /// Milliseconds between beats, for instances whose metadata name no interval.
    pub(crate) client_beat_interval: i64,
    default_cache_millis: i64,
    distro_threshold: f32,
    /// Whether missing beats have consequences.
    pub(crate) health_check_enabled: bool,
    auto_change_health_check_enabled: bool,
    distro_enabled: bool,
    enable_standalone: bool,
    push_enabled: bool,
    check_times: i32,
    http_health_params: HealthParams,
    tcp_health_params: HealthParams,
    mysql_health_params: HealthParams,
    incremental_list: Vec<String>,
    server_status_synchronization_period_millis: i64,
    service_status_synchronization_period_millis: i64,
    #[serde(rename = "disableAddIP")]
    disable_add_ip: bool,
    send_beat_only: bool,
    /// Whether clients may leave everything but the address out of a beat.
    pub(crate) light_beat_enabled: bool,
    /// Paths by prefix, and the status that requests to them are answered with.
    pub(crate) limited_url_map: BTreeMap<String, u16>,
    distro_server_expired_millis: i64,
    push_go_version: String,
    push_java_version: String,
    push_python_version: String,
    #[serde(rename = "pushCVersion")]
    push_c_version: String,
    #[serde(rename = "pushCSharpVersion")]
    push_csharp_version: String,
    enable_authentication: bool,
    /// As it was set; blank once an operator has taken it back.
    overridden_server_status: Option<String>,
    /// Whether an HTTP registration that does not say is ephemeral.
    pub(crate) default_instance_ephemeral: bool,
    health_check_white_list: Vec<String>,
    name: &'static str,
    checksum: Option<String>,
}

/// What a server says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerStatus {
    Up,
    Down,
    Starting,
    Paused,
    WriteOnly,
    ReadOnly,
}

impl ServerStatus {
    fn named(text: &str) -> Option<Self> {
        Some(match text {
            "UP" => Self::Up,
            "DOWN" => Self::Down,
            "STARTING" => Self::Starting,
            "PAUSED" => Self::Paused,
            "WRITE_ONLY" => Self::WriteOnly,
            "READ_ONLY" => Self::ReadOnly,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct HealthParams {
    max: i32,
    min: i32,
    factor: f32,
}

impl HealthParams {
    fn pace(self, times: i32) -> PaceRules {
        let time = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let times = u32::try_from(times).unwrap_or(0).max(1);
        PaceRules { min: time(self.min), max: time(self.max), factor: self.factor.into(), times }
    }
}

impl Default for Switches {
    fn default() -> Self {
        let version = || "0.1.0".to_owned();
        Self {
            masters: None,
            ad_weight_map: BTreeMap::new(),
            default_push_cache_millis: 10_000,
            client_beat_interval: 5_000,
            default_cache_millis: 3_000,
            distro_threshold: 0.7,
            health_check_enabled: true,
            auto_change_health_check_enabled: true,
            distro_enabled: true,
            enable_standalone: true,
            push_enabled: true,
            check_times: 3,
            http_health_params: HealthParams { max: 5_000, min: 500, factor: 0.85 },
            tcp_health_params: HealthParams { max: 5_000, min: 1_000, factor: 0.75 },
            mysql_health_params: HealthParams { max: 3_000, min: 2_000, factor: 0.65 },
            incremental_list: Vec::new(),
            server_status_synchronization_period_millis: 2_000,
            service_status_synchronization_period_millis: 5_000,
            disable_add_ip: false,
            send_beat_only: false,
            light_beat_enabled: true,
            limited_url_map: BTreeMap::new(),
            distro_server_expired_millis: 10_000,
            push_go_version: version(),
            push_java_version: version(),
            push_python_version: "0.4.3".to_owned(),
            push_c_version: "1.0.12".to_owned(),
            push_csharp_version: "0.9.0".to_owned(),
            enable_authentication: false,
            overridden_server_status: None,
            default_instance_ephemeral: true,
            health_check_white_list: Vec::new(),
            name: "00-00---000-NACOS_SWITCH_DOMAIN-000---00-00",
            checksum: None,
        }
    }
}

/// Why a switch was not turned. `Display` gives the server's own text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SwitchError {
    #[error("For input string: \"{0}\"")]
    NotANumber(String),
    #[error("{0}")]
    TooSmall(&'static str),
    #[error("unsupported client type: {0}")]
    ClientType(String),
    #[error(r"illegal version, must match: [0-9]+\.[0-9]+\.[0-9]+")]
    Version,
    #[error("illegal {0}: {1}")]
    Illegal(&'static str, String),
}

impl Switches {
    /// Turns one switch. A switch that does not exist is none to turn, and that is fine.
    pub(crate) fn set(&mut self, entry: &str, value: &str) -> Result<(), SwitchError> {
        match entry {
            "batch" | "check" => self.health_check_enabled = is_true(value),
            "distroThreshold" => {
                let share: f32 = number(value)?;
                if !(0.0..=1.0).contains(&share) {
                    return Err(SwitchError::Illegal("distroThreshold", value.to_owned()));
                }
                self.distro_threshold = share;
            }
            "clientBeatInterval" => self.client_beat_interval = number(value)?,
            "pushVersion" => self.set_push_version(value)?,
            "pushCacheMillis" => {
                self.default_push_cache_millis =
                    at_least(value, 10_000, "min cache time for http or tcp is too small(<10000)")?;
            }
            "defaultCacheMillis" => {
                self.default_cache_millis = at_least(value, 1_000, "min default cache time  is too small(<1000)")?;
            }
            "masters" => self.masters = Some(value.split(',').map(str::to_owned).collect()),
            "distro" => self.distro_enabled = is_true(value),
            "pushEnabled" => self.push_enabled = is_true(value),
            "serviceStatusSynchronizationPeriodMillis" => {
                self.service_status_synchronization_period_millis =
                    at_least(value, 5_000, "serviceStatusSynchronizationPeriodMillis is too small(<5000)")?;
            }
            "serverStatusSynchronizationPeriodMillis" => {
                self.server_status_synchronization_period_millis =
                    at_least(value, 1_000, "serverStatusSynchronizationPeriodMillis is too small(<15000)")?;
            }
            "healthCheckTimes" => self.check_times = number(value)?,
            "disableAddIP" => self.disable_add_ip = is_true(value),
            "sendBeatOnly" => self.send_beat_only = is_true(value),
            "limitedUrlMap" => self.limit_urls(value)?,
            "enableStandalone" => self.enable_standalone = is_true(value),
            "overriddenServerStatus" => self.override_status(value)?,
            "defaultInstanceEphemeral" => self.default_instance_ephemeral = is_true(value),
            "distroServerExpiredMillis" => self.distro_server_expired_millis = number(value)?,
            "lightBeatEnabled" => self.light_beat_enabled = is_true(value),
            "autoChangeHealthCheckEnabled" => self.auto_change_health_check_enabled = is_true(value),
            _ => {}
        }
        Ok(())
    }

    fn set_push_version(&mut self, value: &str) -> Result<(), SwitchError> {
        let (client, version) = value.split_once(':').unwrap_or((value, ""));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if version.split('.').count() != 3 || !version.split('.').all(digits) {
            return Err(SwitchError::Version);
        }
        let known = match client {
            "java" => &mut self.push_java_version,
            "python" => &mut self.push_python_version,
            "c" => &mut self.push_c_version,
            "go" => &mut self.push_go_version,
            "csharp" => &mut self.push_csharp_version,
            _ => return Err(SwitchError::ClientType(client.to_owned())),
        };
        version.clone_into(known);
        Ok(())
    }

    /// `/path:status,…`; nothing at all leaves what there is.
    fn limit_urls(&mut self, value: &str) -> Result<(), SwitchError> {
        let pair = |pair: &str| {
            let illegal = || SwitchError::Illegal("limitedUrlMap", pair.to_owned());
            let (path, status) =
                pair.rsplit_once(':').filter(|(path, _)| !path.trim().is_empty()).ok_or_else(illegal)?;
            let status =
                status.trim().parse().ok().filter(|status| (200..=599).contains(status)).ok_or_else(illegal)?;
            Ok((path.trim().to_owned(), status))
        };
        if !value.trim().is_empty() {
            self.limited_url_map = value.split(',').map(pair).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    fn override_status(&mut self, value: &str) -> Result<(), SwitchError> {
        let illegal = || SwitchError::Illegal("overriddenServerStatus", value.to_owned());
        let value = value.trim();
        if !value.is_empty() && ServerStatus::named(value).is_none() {
            return Err(illegal());
        }
        self.overridden_server_status = Some(value.to_owned());
        Ok(())
    }

    pub(crate) fn pushes_enabled(&self) -> bool {
        self.push_enabled
    }

    /// How often instances are asked by TCP whether they are there.
    pub(crate) fn tcp_pace(&self) -> PaceRules {
        self.tcp_health_params.pace(self.check_times)
    }

    /// As [`Switches::tcp_pace`], by HTTP.
    pub(crate) fn http_pace(&self) -> PaceRules {
        self.http_health_params.pace(self.check_times)
    }

    /// The least version of a family of clients that is pushed to by UDP.
    pub(crate) fn push_version(&self, family: Family) -> &str {
        match family {
            Family::Java => &self.push_java_version,
            Family::Go => &self.push_go_version,
            Family::C => &self.push_c_version,
            Family::CSharp => &self.push_csharp_version,
            Family::Dns => &self.push_python_version,
        }
    }

    /// The server says it is in this state, whatever it is in.
    pub(crate) fn overridden_status(&self) -> Option<ServerStatus> {
        self.overridden_server_status.as_deref().and_then(ServerStatus::named)
    }
}

fn is_true(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "true" | "on" | "yes" | "y" | "t")
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, SwitchError> {
    value.trim().parse().map_err(|_| SwitchError::NotANumber(value.to_owned()))
}

fn at_least(value: &str, least: i64, text: &'static str) -> Result<i64, SwitchError> {
    let number = number(value)?;
    if number < least { Err(SwitchError::TooSmall(text)) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_shown() {
        let mut switches = Switches::default();
        assert_eq!(switches.set("clientBeatInterval", "6000"), Ok(()));
        assert_eq!(switches.set("pushVersion", "csharp:1.2.3"), Ok(()));
        assert_eq!(switches.set("overriddenServerStatus", "READ_ONLY"), Ok(()));
        assert_eq!(switches.overridden_status(), Some(ServerStatus::ReadOnly));
        assert_eq!(switches.set("limitedUrlMap", "/a:403,/b:503"), Ok(()));
        assert_eq!(switches.set("no such switch", "1"), Ok(()));
        let shown = serde_json::to_value(&switches).expect("JSON");
        assert_eq!((&shown["clientBeatInterval"], &shown["pushCSharpVersion"]), (&6_000.into(), &"1.2.3".into()));
        assert_eq!(
            (&shown["overriddenServerStatus"], &shown["limitedUrlMap"]["/b"]),
            (&"READ_ONLY".into(), &503.into())
        );
        assert_eq!(switches.set("limitedUrlMap", ""), Ok(()));
        assert_eq!(switches.limited_url_map.len(), 2, "it cannot be emptied");
        assert_eq!(switches.set("overriddenServerStatus", ""), Ok(()));
        assert_eq!(switches.overridden_status(), None);
        assert_eq!(shown["disableAddIP"], false);
        assert_eq!(shown.as_object().map(serde_json::Map::len), Some(34));
    }

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        let mut switches = Switches::default();
        for (entry, value, text) in [
            ("pushCacheMillis", "1", "min cache time for http or tcp is too small(<10000)"),
            ("pushCacheMillis", "abc", "For input string: \"abc\""),
            ("pushVersion", "zzz:0.1.0", "unsupported client type: zzz"),
            ("pushVersion", "java:x", r"illegal version, must match: [0-9]+\.[0-9]+\.[0-9]+"),
            ("limitedUrlMap", "/a:99", "illegal limitedUrlMap: /a:99"),
            ("overriddenServerStatus", "FINE", "illegal overriddenServerStatus: FINE"),
        ] {
            assert_eq!(switches.set(entry, value).map_err(|error| error.to_string()), Err(text.to_owned()));
        }
        assert_eq!(switches, Switches::default());
    }
}
