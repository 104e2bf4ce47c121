use serde::{Deserialize, Deserializer, Serialize};

use crate::grpc::MetadataMap;
use crate::lenient;

/// The parameter `beat` of a full beat: everything a server needs to register the instance anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BeatInfo {
    /// Port.
    #[serde(deserialize_with = "lenient::integer")]
    pub port: i32,
    /// Address or host name.
    #[serde(deserialize_with = "lenient::text")]
    pub ip: Option<String>,
    /// Weight; servers take a missing one for 0.
    #[serde(deserialize_with = "lenient::number")]
    pub weight: f64,
    /// `group@@name`: servers since 2.0 refresh by this name, and take a bare one for one of the default group.
    #[serde(deserialize_with = "lenient::text")]
    pub service_name: Option<String>,
    /// Cluster.
    #[serde(deserialize_with = "lenient::text")]
    pub cluster: Option<String>,
    /// Labels of the instance.
    #[serde(deserialize_with = "lenient::metadata")]
    pub metadata: MetadataMap,
    /// Of no meaning to servers.
    #[serde(deserialize_with = "lenient::boolean")]
    pub scheduled: bool,
    /// Milliseconds between beats; of no meaning to servers.
    #[serde(deserialize_with = "lenient::integer")]
    pub period: i64,
    /// Of no meaning to servers.
    #[serde(deserialize_with = "lenient::boolean")]
    pub stopped: bool,
}

/// The answer to a beat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BeatAnswer {
    /// Milliseconds to the next beat; 0 or less says nothing, and so does what is no number.
    #[serde(deserialize_with = "milliseconds")]
    pub client_beat_interval: i64,
    /// [`BEAT_OK`](crate::code::BEAT_OK), [`BEAT_UNKNOWN`](crate::code::BEAT_UNKNOWN), or 0 when it is missing, as in answers of 1.1.
    #[serde(deserialize_with = "lenient::integer")]
    pub code: i32,
    /// Whether light beats are understood.
    #[serde(deserialize_with = "lenient::boolean")]
    pub light_beat_enabled: bool,
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    lenient::readable_integer(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;
    use crate::http::read;

    #[test]
    fn h03_a_full_beat_carries_everything() {
        let metadata = MetadataMap::from_iter([("k", "{\"a\":1}")]);
        let beat = BeatInfo {
            port: 80,
            ip: Some("10.0.0.9".to_owned()),
            weight: 2.5,
            service_name: Some("G@@s".to_owned()),
            cluster: Some("c".to_owned()),
            metadata,
            period: 5_000,
            ..BeatInfo::default()
        };
        let json = serde_json::to_string(&beat).unwrap();
        assert_eq!(
            json,
            r#"{"port":80,"ip":"10.0.0.9","weight":2.5,"serviceName":"G@@s","cluster":"c","metadata":{"k":"{\"a\":1}"},"scheduled":false,"period":5000,"stopped":false}"#
        );
        assert_eq!(read::<BeatInfo>(json.as_bytes(), "beat").unwrap(), beat);
    }

    #[test]
    fn answers_of_every_generation_are_read() {
        let answer = |json: &str| read::<BeatAnswer>(json.as_bytes(), "answer to a beat").unwrap();
        let new = answer(r#"{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}"#);
        assert_eq!((new.client_beat_interval, new.code, new.light_beat_enabled), (5_000, code::BEAT_OK, true));
        let old = answer(r#"{"clientBeatInterval":5000}"#);
        assert_eq!((old.code, old.light_beat_enabled), (0, false));
        assert_eq!(answer(r#"{"clientBeatInterval":5000,"code":20404}"#).code, code::BEAT_UNKNOWN);
        for odd in ["\"abc\"", "null", "1e300", "{}"] {
            let json = format!("{{\"clientBeatInterval\":{odd},\"code\":10200}}");
            assert_eq!(answer(&json), BeatAnswer { code: code::BEAT_OK, ..BeatAnswer::default() });
        }
    }
}
