//! What was measured, as a table for people and as JSON for programs.

use serde_json::{Value, json};

use super::machine::Others;

/// Which way a figure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

/// One measured figure, ours beside the peer's.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    name: String,
    unit: &'static str,
    better: Better,
    ours: Option<f64>,
    peer: Option<f64>,
    target: Option<&'static str>,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, better: Better) -> Self {
        Self { name: name.into(), unit, better, ours: None, peer: None, target: None }
    }

    pub(crate) fn ours(mut self, value: impl Into<Option<f64>>) -> Self {
        self.ours = value.into();
        self
    }

    pub(crate) fn peer(mut self, value: impl Into<Option<f64>>) -> Self {
        self.peer = value.into();
        self
    }

    /// The aim, in words.
    pub(crate) fn target(mut self, words: &'static str) -> Self {
        self.target = Some(words);
        self
    }

    /// How many times better ours is than the peer's; below 1 it is worse.
    fn ratio(&self) -> Option<f64> {
        let (ours, peer) = (self.ours?, self.peer?);
        let ratio = match self.better {
            Better::Less => peer / ours,
            Better::More => ours / peer,
        };
        ratio.is_finite().then_some(ratio)
    }

    fn to_json(&self) -> Value {
        json!({"name": self.name, "unit": self.unit, "ours": self.ours, "peer": self.peer, "ratio": self.ratio(),
            "target": self.target})
    }
}

/// The figures of one part, under one heading, against one peer.
pub(crate) struct Table {
    title: String,
    peer: &'static str,
    figures: Vec<Figure>,
    others: Others,
}

impl Table {
    /// Made before the first measurement: it watches the machine from here on.
    pub(crate) fn new(title: impl Into<String>, peer: &'static str) -> Self {
        Self { title: title.into(), peer, figures: Vec::new(), others: Others::watch() }
    }

    pub(crate) fn push(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// The table in the form that `BENCHMARKS.md` uses.
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!("\n### {}\n\n", self.title);
        out += &format!("| | ours | {} | times better | target |\n|---|---:|---:|---:|---|\n", self.peer);
        for figure in &self.figures {
            let cell = |value: Option<f64>| {
                value.map_or("–".to_owned(), |v| format!("{} {}", digits(v), figure.unit).trim_end().to_owned())
            };
            let ratio = figure.ratio().map_or("–".to_owned(), digits);
            let target = figure.target.unwrap_or("–");
            out +=
                &format!("| {} | {} | {} | {ratio} | {target} |\n", figure.name, cell(figure.ours), cell(figure.peer));
        }
        out += &format!("\nOthers used {:.0} % of the machine meanwhile.\n", self.others.percent());
        out
    }

    pub(crate) fn to_json(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(Figure::to_json).collect();
        json!({"title": self.title, "peer": self.peer, "figures": figures, "others_percent": self.others.percent()})
    }
}

/// Three significant digits, thousands set apart.
pub(crate) fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 100.0 {
        let decimals = if value.abs() < 1.0 { 3 } else { usize::from(value.abs() < 10.0) + 1 };
        let text = format!("{value:.decimals$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    let whole = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The middle of the values; 0 of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    percentile(values, 50)
}

/// The value that `percent` of the values do not exceed (nearest rank); 0 of none.
pub(crate) fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.1234, 1.234, 12.34, 123.4, 27_000.0, 1_234_567.0, -403.0].map(digits);
        assert_eq!(texts, ["0", "0.123", "1.23", "12.3", "123", "27 000", "1 234 567", "-403"]);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut values: Vec<f64> = (1..=1_000).rev().map(f64::from).collect();
        assert_eq!((median(&mut values), percentile(&mut values, 99)), (500.0, 990.0));
        assert_eq!((median(&mut [7.0]), percentile(&mut [], 99)), (7.0, 0.0));
    }

    #[test]
    fn a_ratio_above_one_is_good_either_way() {
        assert_eq!(Figure::new("", "ns", Better::Less).ours(10.0).peer(100.0).ratio(), Some(10.0));
        assert_eq!(Figure::new("", "/s", Better::More).ours(100.0).peer(10.0).ratio(), Some(10.0));
        assert_eq!(Figure::new("", "", Better::Less).ours(0.0).peer(10.0).ratio(), None);
        assert_eq!(Figure::new("", "", Better::Less).ours(1.0).ratio(), None);
    }
}
