use clap::{Parser, ValueEnum};
use nacos_server_min::{Behaviour, Probes};

/// A compact Nacos-compatible registry server.
///
/// HTTP listens on the port, gRPC 1000 above it; the port after that is taken too. Everything is kept in memory.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    /// Main port; 0 takes three free ones.
    #[arg(long, env = "NACOS_SERVER_PORT", default_value_t = 8848)]
    pub(crate) port: u16,

    /// Address or name of the interface to listen on.
    #[arg(long, env = "NACOS_SERVER_HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// What to log, to stderr: error, warn, info, debug, trace, or filters like `nacos_server_min=debug`.
    #[arg(long, env = "NACOS_SERVER_LOG", default_value = "info")]
    pub(crate) log: String,

    /// Whose habits the server has.
    #[arg(long, env = "NACOS_SERVER_BEHAVIOUR", value_enum, default_value_t = Habits::Standard)]
    pub(crate) behaviour: Habits,

    /// Which persistent instances to ask whether they are there. Those at loopback and link-local addresses only with
    /// `everywhere`.
    #[arg(long, env = "NACOS_SERVER_PROBES", value_enum, default_value_t = ProbesArg::Remote)]
    pub(crate) probes: ProbesArg,

    /// Threads that answer HTTP and do nothing else; 0 lets the threads of gRPC do it. [default: one for each processor]
    #[arg(long, env = "NACOS_SERVER_HTTP_THREADS", value_parser = threads)]
    pub(crate) http_threads: Option<usize>,

    /// Lets only this user in, who may do everything; without it everybody is let in.
    #[arg(long, env = "NACOS_SERVER_AUTH_USER", value_name = "NAME")]
    pub(crate) auth_user: Option<String>,

    /// Environment variable with the password of that user: what stands on a command line, everybody on the machine can read.
    #[arg(long, default_value = "NACOS_SERVER_AUTH_PASSWORD", value_name = "VARIABLE")]
    pub(crate) auth_password_env: String,

    /// How long a token lives, in seconds.
    #[arg(long, env = "NACOS_SERVER_TOKEN_SECONDS", default_value_t = 18_000)]
    pub(crate) token_seconds: u64,

    /// Seed of everything random, such as the oddities of `nacos25`.
    #[arg(long, env = "NACOS_SERVER_SEED", default_value_t = 0)]
    pub(crate) seed: u64,
}

impl Args {
    /// See [`nacos_server_min::Builder::http_threads`].
    pub(crate) fn http_threads(&self) -> usize {
        self.http_threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS))
    }
}

/// More than any machine has processors.
const MOST_THREADS: usize = 1_024;

fn threads(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| "not a number".to_owned())?;
    if count > MOST_THREADS { Err(format!("at most {MOST_THREADS}")) } else { Ok(count) }
}

/// [`Probes`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProbesArg {
    /// None.
    Off,
    /// Those on other machines.
    Remote,
    /// All of them.
    Everywhere,
}

impl From<ProbesArg> for Probes {
    fn from(probes: ProbesArg) -> Self {
        match probes {
            ProbesArg::Off => Self::Off,
            ProbesArg::Remote => Self::Remote,
            ProbesArg::Everywhere => Self::Everywhere,
        }
    }
}

/// [`Behaviour`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Habits {
    /// Prompt and consistent.
    Standard,
    /// As slow, stale and odd as a recorded Nacos 2.5.1.
    Nacos25,
}

impl From<Habits> for Behaviour {
    fn from(habits: Habits) -> Self {
        match habits {
            Habits::Standard => Self::Standard,
            Habits::Nacos25 => Self::Nacos25,
        }
    }
}
