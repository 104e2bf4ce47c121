//! What the documents say to run is understood by the programs. It is not run: `--help` behind it lets clap read the rest.

use std::process::Command;

use nacos_tests::documents::Document;

#[test]
fn every_documented_command_of_an_example_is_understood() {
    let programs = [
        ("provider", env!("CARGO_BIN_EXE_provider")),
        ("consumer", env!("CARGO_BIN_EXE_consumer")),
        ("spring_provider", env!("CARGO_BIN_EXE_spring_provider")),
        ("spring_consumer", env!("CARGO_BIN_EXE_spring_consumer")),
        ("gateway", env!("CARGO_BIN_EXE_gateway")),
    ];
    let documents = Document::all().expect("the documents can be read");
    let mut count = 0;
    for (name, path) in programs {
        for command in documents.iter().flat_map(|document| document.commands(name)) {
            count += 1;
            let output = Command::new(path).args(&command.arguments).arg("--help").output().expect("it is built");
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {name} {:?}: {words}", command.place, command.arguments);
        }
    }
    assert!(count > 2, "only {count} commands were found");
}
