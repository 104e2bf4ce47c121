//! Where the figures were measured.

use std::fmt;
use std::process::Command;
use std::time::Instant;

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

/// Processor seconds that this process has used so far, to a hundredth; 0 where the system does not tell.
pub(crate) fn cpu_seconds() -> f64 {
    own_ticks(2) / 100.0
}

/// The same with the processes that it started, once they have ended.
fn cpu_seconds_with_children() -> f64 {
    own_ticks(4) / 100.0
}

fn own_ticks(fields: usize) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold spaces; user and system time are the 12th and 13th fields after it, those of ended children
    // follow.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().skip(11).take(fields).filter_map(|f| f.parse::<f64>().ok()).sum()
}

/// Processor seconds that another process has used so far, by its threads that still run; 0 where the system does not tell.
pub(crate) fn cpu_seconds_of(process: u32) -> f64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return 0.0 };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Resident memory of a process in bytes.
pub(crate) fn resident(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1_024.0)
}

/// How many files and sockets this process may have open.
pub(crate) fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Watches how much of the processors others use meanwhile: figures of a busy machine say little.
pub(crate) struct Others {
    start: Instant,
    machine: f64,
    own: f64,
}

impl Others {
    pub(crate) fn watch() -> Self {
        Self { start: Instant::now(), machine: busy_seconds(), own: cpu_seconds_with_children() }
    }

    /// Their share of the whole machine since the start, in percent. Processes that this one started count as its
    /// own once they have ended.
    pub(crate) fn percent(&self) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let foreign = (busy_seconds() - self.machine) - (cpu_seconds_with_children() - self.own);
        (100.0 * foreign / (self.start.elapsed().as_secs_f64() * cores)).max(0.0)
    }
}

/// Processor seconds that the machine has spent on anything but waiting.
fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = fields.filter_map(|f| f.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in user.
    let busy: f64 = ticks.iter().take(8).sum::<f64>() - ticks.iter().skip(3).take(2).sum::<f64>();
    busy / 100.0
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
