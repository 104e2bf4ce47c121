use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use super::placeholder::{Meaning, expand};
use super::{Asked, Note, Setting, boolean, milliseconds};
use crate::config::DiscoveryConfigError;
use crate::config::source::{Found, Layer};

type Read<T> = Result<T, DiscoveryConfigError>;

/// Reads settings out of layers, the last of which counts most. Remembers what it was asked for: that is what is known.
pub(crate) struct Reader<'l> {
    layers: &'l [Layer],
    asked: Vec<Asked>,
    pub(crate) notes: Vec<Note>,
}

impl<'l> Reader<'l> {
    pub(crate) fn new(layers: &'l [Layer], notes: Vec<Note>) -> Self {
        Self { layers, asked: Vec::new(), notes }
    }

    /// The value of a key; a blank one counts as not set, but hides those of the layers below.
    pub(crate) fn setting(&mut self, key: &'static str) -> Read<Option<Setting>> {
        self.asked.push(Asked { key, below: false });
        self.look_up(key)
    }

    /// The same of a key that is made up as it is read, which does not become known by that.
    pub(crate) fn look_up(&self, key: &str) -> Read<Option<Setting>> {
        let found = self.layers.iter().rev().find_map(|layer| layer.find(key));
        let setting = found.map(|found| self.resolve(key, found)).transpose()?;
        let setting = setting.map(|setting| {
            let text = setting.text.trim().to_owned();
            setting.with_text(&text)
        });
        Ok(setting.filter(|setting| !setting.text.is_empty()))
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Read<Option<String>> {
        Ok(self.setting(key)?.map(|setting| setting.text))
    }

    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        accepted: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Read<Option<T>> {
        self.setting(key)?.map(|setting| setting.parse(accepted, parse)).transpose()
    }

    pub(crate) fn flag(&mut self, key: &'static str, default: bool) -> Read<bool> {
        Ok(self.parsed(key, "true or false", boolean)?.unwrap_or(default))
    }

    pub(crate) fn number<T: FromStr>(&mut self, key: &'static str, accepted: &str) -> Read<Option<T>> {
        self.parsed(key, accepted, |text| text.parse().ok())
    }

    pub(crate) fn milliseconds(&mut self, key: &'static str) -> Read<Option<Duration>> {
        self.parsed(key, "milliseconds, at least 1, or a duration such as 5s", milliseconds)
    }

    /// The entries of a map, each from the layer that counts most.
    pub(crate) fn entries(&mut self, key: &'static str) -> Read<BTreeMap<String, Setting>> {
        self.asked.push(Asked { key, below: true });
        self.refuse_text(key)?;
        let mut entries = BTreeMap::new();
        for layer in self.layers {
            for (rest, found) in layer.entries(key) {
                let setting = self.resolve(&format!("{key}.{rest}"), found)?;
                entries.insert(rest, setting);
            }
        }
        Ok(entries)
    }

    /// The same, the values alone.
    pub(crate) fn map(&mut self, key: &'static str) -> Read<BTreeMap<String, String>> {
        Ok(self.entries(key)?.into_iter().map(|(name, setting)| (name, setting.text)).collect())
    }

    /// The items of a list, written as a list or as one text split by commas; all from the layer that counts most.
    pub(crate) fn list(&mut self, key: &'static str) -> Read<Vec<Setting>> {
        self.asked.push(Asked { key, below: true });
        self.items(key)
    }

    /// The same of a key that is made up as it is read.
    pub(crate) fn items(&self, key: &str) -> Read<Vec<Setting>> {
        for layer in self.layers.iter().rev() {
            let mut items = layer.entries(key);
            if !items.is_empty() {
                items.sort_by_key(|(index, _)| index.parse::<usize>().unwrap_or(usize::MAX));
                let items = items.into_iter().map(|(index, found)| self.resolve(&format!("{key}[{index}]"), found));
                return items.collect();
            }
            if let Some(found) = layer.find(key) {
                let whole = self.resolve(key, found)?;
                let items = whole.text.split(',').map(str::trim).filter(|item| !item.is_empty());
                return Ok(items.map(|item| whole.clone().with_text(item)).collect());
            }
        }
        Ok(Vec::new())
    }

    /// What follows `prefix` in the names below it, of what is set. Values are not looked into.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let is_set = |found: &Found| found.text.as_deref().is_none_or(|text| !text.trim().is_empty());
        let entries = self.layers.iter().flat_map(|layer| layer.entries(prefix));
        entries.filter(|(_, found)| is_set(found)).map(|(name, _)| name).collect()
    }

    /// A key of Spring's that nothing here corresponds to: told once.
    pub(crate) fn meaningless(&mut self, key: &'static str, instead: &str) -> Read<()> {
        if let Some(setting) = self.setting(key)? {
            self.notes.push(Note::warn(format!("{}: {key} has no effect here: {instead}", setting.place)));
        }
        Ok(())
    }

    /// A key that needs something which is not there.
    pub(crate) fn not_built_in(&mut self, key: &'static str, feature: &'static str) -> Read<()> {
        match self.setting(key)? {
            Some(setting) => Err(DiscoveryConfigError::NotBuiltIn { key, place: setting.place, feature }),
            None => Ok(()),
        }
    }

    /// Refuses a value where keys and values belong.
    fn refuse_text(&self, key: &'static str) -> Read<()> {
        for found in self.layers.iter().filter_map(|layer| layer.find(key)) {
            let setting = self.resolve(key, found)?;
            if !setting.text.trim().is_empty() {
                return Err(setting.refused("a block of keys and values"));
            }
        }
        Ok(())
    }

    /// Refuses names below `prefix` that nobody asked for.
    pub(crate) fn refuse_unknown(&self, prefix: &'static str) -> Read<()> {
        self.refuse_text(prefix)?;
        let unknown = self.layers.iter().rev().find_map(|layer| layer.unknown(prefix, &self.asked));
        let Some((key, place)) = unknown else { return Ok(()) };
        let nearest = self.nearest(prefix, &key);
        Err(DiscoveryConfigError::UnknownKey { key, place, nearest })
    }

    fn nearest(&self, prefix: &'static str, key: &str) -> &'static str {
        let uniform = |text: &str| text.to_ascii_lowercase().replace(['-', '_', '.'], "");
        let wanted = uniform(key);
        let known = self.asked.iter().map(|asked| asked.key).filter(|known| known.starts_with(prefix));
        let scored = known.map(|known| (strsim::damerau_levenshtein(&uniform(known), &wanted), known));
        scored.min().map_or(prefix, |(_, known)| known)
    }

    fn resolve(&self, key: &str, found: Found) -> Read<Setting> {
        let Found { text, place, literal } = found;
        let Some(text) = text else {
            return Err(Setting::new(key, "(not Unicode)".to_owned(), place).refused("valid Unicode"));
        };
        let text = if literal {
            text
        } else {
            expand(&text, &|name| self.meaning(name)).map_err(|unresolved| DiscoveryConfigError::Placeholder {
                key: key.to_owned(),
                place: place.clone(),
                placeholder: unresolved.placeholder,
                reason: unresolved.reason,
            })?
        };
        Ok(Setting::new(key, text, place))
    }

    /// What a placeholder's name stands for: a key of any layer, or an environment variable.
    fn meaning(&self, name: &str) -> Option<Meaning> {
        let found = self.layers.iter().rev().find_map(|layer| match layer {
            Layer::Variables(variables) => variables.exact(name).or_else(|| layer.find(name)),
            _ => layer.find(name),
        })?;
        Some(Meaning { text: found.text, literal: found.literal })
    }
}
