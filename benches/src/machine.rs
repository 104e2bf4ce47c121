//! Where the figures were measured.

use std::fmt;
use std::process::Command;

use serde_json::{Value, json};

/// The machine and the sources that were measured.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    cores: usize,
    cpu: String,
    load: String,
    commit: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            cpu: cpu().unwrap_or_else(|| "unknown CPU".to_owned()),
            load: load().unwrap_or_else(|| "unknown".to_owned()),
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({"cores": self.cores, "cpu": self.cpu, "load": self.load, "commit": self.commit})
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, cpu, load, commit } = self;
        write!(f, "{cores} cores, {cpu}; load before the run {load}; commit {commit}")
    }
}

fn cpu() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn load() -> Option<String> {
    Some(std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.to_owned())
}

/// The short hash, with a mark when files that git knows differ from it.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR")]).args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no", "--", ":/"])?.is_empty();
    Some(if changed { format!("{hash} with changes") } else { hash })
}
