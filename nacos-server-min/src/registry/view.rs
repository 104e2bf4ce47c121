use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::instance::Instance;
use super::overrides::Overrides;
use super::service::Kind;

/// Which published instances become rows of a list, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// One row per address and cluster, the newest client's; sorted, so that equal lists are equal bytes.
    NewestClient,
    /// Only exact duplicates collapse; the order looks random and is the same every time.
    Distinct,
}

/// How lists are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) rows: Rows,
    /// Whether thresholds protect lists at all.
    pub(crate) protection: bool,
}

/// How many differently filtered encodings of one list are kept: filters are texts that clients choose.
const MAX_ENCODINGS: usize = 16;

/// The list of one service at one revision.
#[derive(Debug)]
pub(crate) struct View {
    rows: Box<[Arc<Instance>]>,
    pub(crate) kind: Kind,
    /// At or below this share of healthy instances, lists show all of theirs as healthy.
    threshold: Option<f32>,
    /// Milliseconds; of the revision, not of the answer.
    pub(crate) last_ref_time: i64,
    encoded: Mutex<Vec<(Option<Arc<str>>, Bytes)>>,
}

impl View {
    pub(super) fn new<'a>(
        published: impl Iterator<Item = (u64, &'a Arc<Instance>)>,
        rows: Rows,
        kind: Kind,
        last_ref_time: i64,
    ) -> Self {
        let mut all: Vec<(u64, &Arc<Instance>)> = published.collect();
        match rows {
            Rows::NewestClient => {
                // Within one client the later item of its batch wins, hence the stable sort and the reversed duplicates.
                all.reverse();
                all.sort_by(|(a_client, a), (b_client, b)| a.row().cmp(&b.row()).then(b_client.cmp(a_client)));
                all.dedup_by(|(_, next), (_, kept)| next.row() == kept.row());
            }
            Rows::Distinct => {
                all.sort_by_cached_key(|(client, instance)| (scattered(instance), *client));
                let mut kept: Vec<(u64, &Arc<Instance>)> = Vec::with_capacity(all.len());
                for item in all {
                    let twin = kept.iter().rev().take_while(|k| k.1.row() == item.1.row()).any(|k| k.1 == item.1);
                    if !twin {
                        kept.push(item);
                    }
                }
                all = kept;
            }
        }
        let rows = all.into_iter().map(|(_, instance)| Arc::clone(instance)).collect();
        Self { rows, kind, threshold: None, last_ref_time, encoded: Mutex::default() }
    }

    /// The list of a service that does not exist.
    pub(crate) fn empty(last_ref_time: i64) -> Self {
        Self { rows: Box::default(), kind: Kind::Ephemeral, threshold: None, last_ref_time, encoded: Mutex::default() }
    }

    pub(super) fn with_overrides(mut self, overrides: &Overrides) -> Self {
        if !overrides.is_empty() {
            self.rows = self.rows.into_iter().map(|instance| overrides.applied(instance)).collect();
        }
        self
    }

    pub(super) fn with_threshold(mut self, threshold: Option<f32>) -> Self {
        self.threshold = threshold;
        self
    }

    /// The same list under another threshold.
    pub(super) fn protected_by(&self, threshold: Option<f32>) -> Self {
        let (rows, kind, last_ref_time) = (self.rows.clone(), self.kind, self.last_ref_time);
        Self { rows, kind, threshold, last_ref_time, encoded: Mutex::default() }
    }

    /// All rows, the disabled ones too.
    pub(crate) fn rows(&self) -> &[Arc<Instance>] {
        &self.rows
    }

    /// Whether so few of a list's instances are healthy that the list shows all of them as healthy.
    pub(crate) fn reaches_threshold(&self, clusters: Option<&str>, healthy_only: bool) -> bool {
        let Some(threshold) = self.threshold else { return false };
        let (healthy, total) = self
            .listed(clusters, healthy_only)
            .fold((0_usize, 0_usize), |(healthy, total), i| (healthy + usize::from(i.healthy), total + 1));
        total > 0 && share(healthy, total) <= threshold
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows that a list shows: enabled, in one of the clusters, and healthy if only such are wanted.
    pub(crate) fn listed<'a>(
        &'a self,
        clusters: Option<&'a str>,
        healthy_only: bool,
    ) -> impl Iterator<Item = &'a Instance> + Clone {
        let clusters = clusters.filter(|text| !text.trim().is_empty());
        self.rows.iter().map(AsRef::as_ref).filter(move |instance| {
            instance.enabled
                && (instance.healthy || !healthy_only)
                && clusters.is_none_or(|text| text.split(',').any(|cluster| cluster == &*instance.cluster))
        })
    }

    /// The encoded list for a cluster filter, made by `encode` once and then shared.
    pub(crate) fn encoded(&self, clusters: Option<&Arc<str>>, encode: impl FnOnce() -> Bytes) -> Bytes {
        let mut known = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = known.iter().find(|(text, _)| text.as_ref() == clusters) {
            return bytes.clone();
        }
        let bytes = encode();
        if known.len() < MAX_ENCODINGS {
            known.push((clusters.cloned(), bytes.clone()));
        }
        bytes
    }
}

/// In single precision, as the threshold is: 7 of 10 are 0.7, not a little more.
#[expect(clippy::cast_precision_loss, reason = "exact up to 16 million instances of one service")]
pub(crate) fn share(healthy: usize, total: usize) -> f32 {
    healthy as f32 / total as f32
}

fn scattered(instance: &Instance) -> u64 {
    let mut hasher = DefaultHasher::new();
    instance.row().hash(&mut hasher);
    hasher.finish()
}
