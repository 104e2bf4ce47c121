//! One module for each family of commands.

mod diff;
mod explain;
mod namespaces;
mod routes;
mod set;
mod show;
mod take_part;
mod watch;

use clap::CommandFactory;

pub(crate) use self::show::{listed, near_misses};

use crate::{
    cli::{Cli, Command},
    doctor,
    failure::{Done, Failure},
    output::Output,
    registry::Registry,
};

/// Runs the command.
pub(crate) async fn run(cli: Cli, output: Output) -> Result<Done, Failure> {
    if cli.wants_input_twice() {
        let text =
            "--password-file - and --requests -: only one of them can be the standard input; put the other in a file";
        return Err(Failure::Usage(text.to_owned()));
    }
    let registry = Registry::new(cli.common)?;
    match cli.command {
        Command::Services { name } => show::services(&registry, output, name.as_deref()).await,
        Command::Instances { service, all } => show::instances(&registry, output, &service, all).await,
        Command::Show { service } => show::service(&registry, output, &service).await,
        Command::Watch { service, lines } => watch::watch(&registry, output, &service, lines).await,
        Command::Register(register) => take_part::register(&registry, output, register).await,
        Command::Deregister(target) => take_part::deregister(&registry, output, &target).await,
        Command::Drain(target) => set::drain(&registry, output, &target).await,
        Command::Set(set) => set::set(&registry, output, set).await,
        Command::Service(service) => set::service(&registry, output, service).await,
        Command::Namespaces(command) => namespaces::run(&registry, output, command).await,
        Command::Diff { service, nodes } => diff::diff(&registry, output, &service, &nodes).await,
        Command::Explain(consumer) => explain::explain(&registry, output, &consumer).await,
        Command::Routes(command) => routes::run(&registry, output, command).await,
        Command::Doctor { service } => doctor::doctor(&registry, output, service.as_deref()).await,
        Command::Completions { shell } => {
            // Into memory: it takes a reader who has seen enough for a bug.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "nacosctl", &mut script);
            output.text(&String::from_utf8_lossy(&script))?;
            Ok(Done::Fine)
        }
    }
}
