//! Servers that others wrote, where the environment names them.

use std::ffi::OsString;

/// Names the script that starts a real Nacos server, such as `tests/interop/nacos-server/run`.
const NACOS: &str = "NACOS_BENCH_NACOS";
/// Names the program `rnacos`.
const R_NACOS: &str = "NACOS_BENCH_RNACOS";

/// One of them.
#[derive(Debug, Clone)]
pub(crate) enum Rival {
    /// By its script.
    Nacos(OsString),
    /// By its program.
    RNacos(OsString),
}

impl Rival {
    /// All that are there.
    pub(crate) fn present() -> Vec<Self> {
        let named = std::env::var_os;
        [named(NACOS).map(Self::Nacos), named(R_NACOS).map(Self::RNacos)].into_iter().flatten().collect()
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Nacos(_) => "real Nacos 2.0.4",
            Self::RNacos(_) => "r-nacos",
        }
    }
}

/// What was measured of a rival; nothing, with a line that says why, if it failed at it.
pub(crate) fn or_told<T>(rival: &Rival, what: &str, measured: Result<T, super::Failure>) -> Option<T> {
    measured.map_err(|error| println!("\n{}: {what}: {error}", rival.name())).ok()
}
