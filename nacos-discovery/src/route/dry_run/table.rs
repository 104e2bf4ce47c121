//! A dry run for people: a line for each request, another one for each further destination of it.

use std::fmt;

use super::outcome::DryRunRequest;
use super::report::DryRun;

const HEADINGS: [&str; 5] = ["REQUEST", "RULE", "TO", "INSTANCES", "ELSE"];

type Line = [String; HEADINGS.len()];

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<Line> =
            [HEADINGS.map(str::to_owned)].into_iter().chain(self.requests.iter().flat_map(lines)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
        let widths: [usize; HEADINGS.len()] = std::array::from_fn(width);
        for line in &lines {
            let padded = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

fn lines(request: &DryRunRequest) -> Vec<Line> {
    let lines = request.to.iter().enumerate().map(|(index, to)| {
        let is_drawn = request.to.len() > 1;
        let destination =
            if is_drawn { format!("{} % {}", to.percent, to.destination) } else { to.destination.clone() };
        let miss = match request.miss.as_str() {
            "fail" => "fail".to_owned(),
            miss => format!("{miss} ({})", request.miss_instances),
        };
        let of_request = |text: &str| if index == 0 { one_line(text) } else { String::new() };
        let rule = request.rule.as_deref().unwrap_or("-");
        [
            of_request(&request.request),
            of_request(rule),
            one_line(&destination),
            to.instances.to_string(),
            one_line(&miss),
        ]
    });
    lines.collect()
}

/// What requests say must not break lines.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
