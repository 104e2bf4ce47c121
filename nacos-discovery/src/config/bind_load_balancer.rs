//! Which keys of Spring Cloud LoadBalancer mean something here. Most others are for what is done in another way here; so what
//! is not read is told in one line, and none is refused.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;

use super::bind::Read;
use super::load_balancer::{LoadBalancer, Requests};
use super::read::{Note, Reader, Setting, boolean, duration};

const PREFIX: &str = "spring.cloud.loadbalancer";

/// The keys that are read, for all services below [`PREFIX`], for one below `clients.<id>`.
const READ: [&str; 10] = [
    "zone",
    "x-forwarded.enabled",
    "service-discovery.timeout",
    "retry.enabled",
    "retry.max-retries-on-next-service-instance",
    "retry.retry-on-all-operations",
    "retry.retryable-status-codes",
    "retry.backoff.enabled",
    "retry.backoff.min-backoff",
    "retry.backoff.max-backoff",
];

/// Keys that say, with this value, what is done here in any case.
const AS_IT_IS: [(&str, &str); 5] = [
    ("enabled", "true"),
    ("nacos.enabled", "true"),
    ("configurations", "default"),
    ("retry.avoid-previous-instance", "true"),
    ("retry.max-retries-on-same-service-instance", "0"),
];

/// Reads what is below the prefix.
pub(super) fn load_balancer(reader: &mut Reader<'_>) -> Read<LoadBalancer> {
    let names = reader.names(PREFIX);
    let mut settings = LoadBalancer { all: requests(reader, PREFIX)?, ..LoadBalancer::default() };
    for id in names.iter().filter_map(|name| client(name)).map(|(id, _)| id).collect::<BTreeSet<_>>() {
        let own = requests(reader, &format!("{PREFIX}.clients.{id}"))?;
        if own != Requests::default() {
            settings.services.insert(id.to_owned(), own);
        }
    }
    let unread: BTreeSet<&str> = names.iter().filter(|name| !is_read(reader, name)).map(String::as_str).collect();
    if !unread.is_empty() {
        let keys = Vec::from_iter(unread).join(", ");
        reader.notes.push(Note::warn(format!(
            "these keys below {PREFIX} have no effect here: {keys}; weights, the own cluster and pushed lists count in any case, \
             and what else there is of the kind is set in code, by ServiceSettings and by routes"
        )));
    }
    Ok(settings)
}

fn requests(reader: &Reader<'_>, prefix: &str) -> Read<Requests> {
    let find = |key: &str| reader.look_up(&format!("{prefix}.{key}"));
    let flag = |key| parsed(find(key)?, "true or false", boolean);
    let time = |key| parsed(find(key)?, "milliseconds, or a duration such as 5s", duration);
    let retries = |text: &str| text.parse().ok().filter(|retries| *retries <= 100);
    let statuses = reader.items(&format!("{prefix}.retry.retryable-status-codes"))?;
    let statuses = statuses.iter().map(|item| item.parse("a status such as 503", |text| text.parse().ok()));
    let statuses: Vec<StatusCode> = statuses.collect::<Read<_>>()?;
    Ok(Requests {
        zone: find("zone")?.map(|setting| setting.text),
        forwarded: flag("x-forwarded.enabled")?,
        first_list_wait: time("service-discovery.timeout")?,
        retry: flag("retry.enabled")?,
        next_instances: parsed(find("retry.max-retries-on-next-service-instance")?, "a number from 0 to 100", retries)?,
        all_methods: flag("retry.retry-on-all-operations")?,
        statuses: Some(statuses).filter(|statuses| !statuses.is_empty()),
        pauses: flag("retry.backoff.enabled")?,
        first_pause: time("retry.backoff.min-backoff")?,
        longest_pause: time("retry.backoff.max-backoff")?.map(|pause| pause.min(LONGEST_PAUSE)),
    })
}

/// Spring's default is longer than any caller waits.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

fn parsed<T>(setting: Option<Setting>, accepted: &str, parse: impl FnOnce(&str) -> Option<T>) -> Read<Option<T>> {
    setting.map(|setting| setting.parse(accepted, parse)).transpose()
}

/// The service that a name below the prefix is for, and the key.
fn client(name: &str) -> Option<(&str, &str)> {
    let (clients, rest) = name.split_once('.')?;
    clients.eq_ignore_ascii_case("clients").then(|| rest.split_once('.')).flatten()
}

fn is_read(reader: &Reader<'_>, name: &str) -> bool {
    let (prefix, key) = match client(name) {
        Some((id, key)) => (format!("{PREFIX}.clients.{id}"), key),
        None => (PREFIX.to_owned(), name),
    };
    // An item of a list stands for the list.
    let key =
        key.rsplit_once('.').filter(|(_, item)| item.bytes().all(|b| b.is_ascii_digit())).map_or(key, |(list, _)| list);
    let value = |known| reader.look_up(&format!("{prefix}.{known}")).ok().flatten();
    let is_usual = |known, usual| value(known).is_some_and(|setting| setting.text.eq_ignore_ascii_case(usual));
    READ.iter().any(|known| same(known, key))
        || AS_IT_IS.iter().any(|(known, usual)| same(known, key) && is_usual(known, usual))
}

/// `max-retries`, `maxRetries` and `max_retries` are one name; in a variable's name dots stand for dashes, too.
fn same(known: &str, written: &str) -> bool {
    fn uniform(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| !matches!(c, '.' | '-' | '_')).map(|c| c.to_ascii_lowercase())
    }
    uniform(known).eq(uniform(written))
}
