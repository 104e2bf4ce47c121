//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use nacos_client::{DEFAULT_CLUSTER, DEFAULT_GROUP, Protocol};
use nacos_discovery::AddressFamily;

use crate::request_args::RequestArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, and something is wrong: `diff` found a difference, `doctor` a failed check,
     `explain` nobody who takes requests, `routes check` a problem in a file,
     `routes dry-run` a request that may find nobody
  2  wrong usage or setting
  3  no server answered in time
  4  a server refused, denied or failed
  5  no such service, instance or namespace
  6  something on this machine, such as output that cannot be written

The environment variables of the Rust client (NACOS_PASSWORD, NACOS_PROTOCOL, NACOS_CONTEXT_PATH, NACOS_GRPC_PORT_OFFSET, …) count
here too. NACOSCTL_LOG=debug shows what the client does.";

/// Look into a Nacos registry, change what is in it, compare servers, and find out why something is not seen.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Whether the standard input, which is there once, is asked for both the password and requests.
    pub(crate) fn wants_input_twice(&self) -> bool {
        let is_input = |file: &PathBuf| file == Path::new("-");
        let requests = match &self.command {
            Command::Routes(Routes::DryRun(run)) => Some(&run.requests),
            _ => None,
        };
        self.common.password_file.as_ref().is_some_and(is_input) && requests.is_some_and(is_input)
    }
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Common {
    /// Server, host:port of its HTTP; several are split by commas.
    #[arg(short, long, global = true, env = "NACOS_SERVER_ADDR", default_value = "127.0.0.1:8848")]
    pub(crate) server: String,
    /// Namespace, by its id (not the name that the console shows).
    #[arg(short, long, global = true, env = "NACOS_NAMESPACE", default_value = "public", hide_default_value = true)]
    pub(crate) namespace: String,
    /// Group of the service.
    #[arg(short, long, global = true, default_value = DEFAULT_GROUP)]
    pub(crate) group: String,
    /// User to log in as. The password comes from NACOS_PASSWORD or --password-file, never from the command line, which
    /// everybody on the machine can read.
    #[arg(long, global = true, env = "NACOS_USERNAME", value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// File with the password, without its last line break; - is the standard input.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// What is spoken; auto finds out.
    #[arg(long, global = true, value_enum)]
    pub(crate) protocol: Option<ProtocolArg>,
    /// How long a call may take, such as 500ms or 3s.
    #[arg(long, global = true, default_value = "3s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
    /// JSON instead of tables: one document, or one for each line of `watch`.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colours; auto uses them on a terminal.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// What is spoken.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// gRPC where the server offers it.
    Auto,
    /// gRPC: Nacos 2.x and 3.x.
    Grpc,
    /// HTTP: all versions.
    Http,
}

impl From<ProtocolArg> for Protocol {
    fn from(arg: ProtocolArg) -> Self {
        match arg {
            ProtocolArg::Auto => Self::Auto,
            ProtocolArg::Grpc => Self::Grpc,
            ProtocolArg::Http => Self::Http,
        }
    }
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List services of all groups, with their instances counted.
    #[command(visible_alias = "ls")]
    Services {
        /// Only those whose name contains this.
        name: Option<String>,
    },
    /// List the instances of a service, as consumers get them.
    Instances {
        /// Name of the service.
        service: String,
        /// As operators see them: disabled ones too, and unhealthy ones as unhealthy.
        #[arg(long)]
        all: bool,
    },
    /// Show a service as a whole: threshold, metadata, clusters, subscribers.
    Show {
        /// Name of the service.
        service: String,
    },
    /// Print a line for each instance that joins, leaves or changes, until Ctrl-C.
    Watch {
        /// Name of the service.
        service: String,
        /// End after this many lines.
        #[arg(long)]
        lines: Option<usize>,
    },
    /// Register an instance; an ephemeral one until Ctrl-C.
    Register(Register),
    /// Remove an instance that its client does not keep alive: a persistent one, or one left over.
    Deregister(Target),
    /// Take an instance out of traffic (`set enabled … false`), and say what is left.
    Drain(Target),
    /// Change a field of an instance or a service.
    #[command(subcommand)]
    Set(Set),
    /// Create or remove a service.
    #[command(subcommand)]
    Service(Service),
    /// List, create, rename or remove namespaces.
    #[command(subcommand, visible_alias = "ns")]
    Namespaces(Namespaces),
    /// Ask several servers for one service, and show side by side what they differ in.
    Diff {
        /// Name of the service.
        service: String,
        /// The servers, host:port, split by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        nodes: Vec<String>,
    },
    /// Tell which instances of a service a consumer's requests would go to, their shares, and why not to the others.
    Explain(Explain),
    /// Check routing rules, and see what they would do.
    #[command(subcommand)]
    Routes(Routes),
    /// Find out what is wrong between here and the registry, or why a service is not seen.
    Doctor {
        /// A service that should have instances.
        service: Option<String>,
    },
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// A consumer, and the service it calls.
#[derive(Debug, Clone, Args)]
pub(crate) struct Explain {
    /// Name of the service.
    pub(crate) service: String,
    /// The consumer's own cluster, which it prefers; none if it is not given.
    #[arg(short, long)]
    pub(crate) cluster: Option<String>,
    /// The consumer's own zone, which it prefers; none if it is not given.
    #[arg(short, long)]
    pub(crate) zone: Option<String>,
    /// Addresses that the consumer can use; auto looks at this machine.
    #[arg(short, long, value_enum, default_value_t = FamilyArg::Auto)]
    pub(crate) family: FamilyArg,
    /// Metadata key that holds the port to be called, such as gRPC_port; the registered port if it is not given.
    #[arg(short, long, value_name = "KEY")]
    pub(crate) port_key: Option<String>,
    /// The request that is asked about.
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Routes {
    /// Check files of routing rules: the first problem of each with line, column and path, or what may not be meant.
    Check {
        /// The files; JSON if a name ends in .json, else YAML.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Tell where recorded requests would go by the rules of a file, with the instances that the registry lists now.
    DryRun(DryRun),
    /// Print the JSON Schema of rule files, for editors.
    Schema,
}

const DRY_RUN_HELP: &str = "\
Each line of the requests is a JSON object, of which everything may be left out:

  {\"method\": \"GET\", \"uri\": \"/orders?page=2\", \"headers\": {\"x-version\": \"v2\"}, \"tags\": {\"tenant\": \"acme\"}}

Nothing is sent or changed. Where a share is drawn at random, each destination is listed with its percentage; where a
request has the value that it is sticky by, the one that it goes to.";

/// Rules, and requests to try them with.
#[derive(Debug, Clone, Args)]
#[command(after_help = DRY_RUN_HELP)]
pub(crate) struct DryRun {
    /// File of the rules; JSON if its name ends in .json, else YAML.
    pub(crate) file: PathBuf,
    /// The service that is called.
    #[arg(long)]
    pub(crate) service: String,
    /// File of the requests, one JSON object a line; - reads the standard input.
    #[arg(long, value_name = "LOG")]
    pub(crate) requests: PathBuf,
}

/// Which addresses can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyArg {
    /// Those of the families that this machine has an address of.
    Auto,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Both.
    Dual,
}

impl From<FamilyArg> for AddressFamily {
    fn from(arg: FamilyArg) -> Self {
        match arg {
            FamilyArg::Auto => Self::Auto,
            FamilyArg::Ipv4 => Self::Ipv4,
            FamilyArg::Ipv6 => Self::Ipv6,
            FamilyArg::Dual => Self::Dual,
        }
    }
}

/// One instance of a service.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// Name of the service.
    pub(crate) service: String,
    /// Address of the instance, host:port.
    pub(crate) address: String,
    /// Its cluster.
    #[arg(short, long, default_value = DEFAULT_CLUSTER)]
    pub(crate) cluster: String,
}

impl Target {
    /// As it is written on the command line.
    pub(crate) fn arguments(&self) -> String {
        let Self { service, address, cluster } = self;
        match cluster.as_str() {
            DEFAULT_CLUSTER => format!("{service} {address}"),
            cluster => format!("{service} {address} --cluster {cluster}"),
        }
    }
}

/// An instance to register.
#[derive(Debug, Clone, Args)]
pub(crate) struct Register {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Share of the traffic, 0 to 10000.
    #[arg(short, long, default_value_t = 1.0)]
    pub(crate) weight: f64,
    /// Metadata, key=value; may be given several times.
    #[arg(short, long, value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// It stays in the registry without this process, until it is deregistered.
    #[arg(long)]
    pub(crate) persistent: bool,
    /// Leave after this time instead of at Ctrl-C, such as 30s.
    #[arg(long = "for", value_parser = humantime::parse_duration, conflicts_with = "persistent")]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Set {
    /// Share of the traffic of an instance, 0 to 10000.
    Weight {
        #[command(flatten)]
        target: Target,
        /// The weight.
        #[arg(allow_negative_numbers = true)]
        weight: f64,
    },
    /// Whether consumers see an instance.
    Enabled {
        #[command(flatten)]
        target: Target,
        /// true or false.
        #[arg(action = clap::ArgAction::Set)]
        enabled: bool,
    },
    /// All metadata of an instance. 2.x and 3.x lay them over those that the instance registered.
    Metadata {
        #[command(flatten)]
        target: Target,
        /// key=value, any number.
        #[arg(value_parser = pair)]
        entries: Vec<(String, String)>,
    },
    /// Protection threshold of a service, 0 to 1: at or below this share of healthy instances, consumers get unhealthy ones too.
    Protection {
        /// Name of the service.
        service: String,
        /// The threshold.
        #[arg(allow_negative_numbers = true)]
        threshold: f64,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Service {
    /// Create a persistent service. Most services need not be created: the first registration does it.
    Create {
        /// Name of the service.
        service: String,
        /// Protection threshold, 0 to 1.
        #[arg(long, default_value_t = 0.0)]
        protection: f64,
        /// Metadata, key=value; may be given several times.
        #[arg(short, long, value_parser = pair)]
        metadata: Vec<(String, String)>,
    },
    /// Remove a service without instances.
    Delete {
        /// Name of the service.
        service: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Namespaces {
    /// List them.
    #[command(visible_alias = "ls")]
    List,
    /// Declare one.
    Create {
        /// Id, which is what clients are configured with.
        id: String,
        /// Name that consoles show; the id if it is not given.
        #[arg(long)]
        name: Option<String>,
        /// What it is for.
        #[arg(long, default_value = "")]
        description: String,
    },
    /// Give one another name and description.
    Update {
        /// Id.
        id: String,
        /// Name that consoles show.
        #[arg(long)]
        name: String,
        /// What it is for.
        #[arg(long, default_value = "")]
        description: String,
    },
    /// Take a declaration back; what is registered there stays.
    Delete {
        /// Id.
        id: String,
    },
}

/// `key=value`
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write it as key=value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn metadata_is_split_at_the_first_equals_sign() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("a").is_err() && pair("=b").is_err());
    }
}
