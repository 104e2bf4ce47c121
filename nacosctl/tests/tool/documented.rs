use nacos_tests::documents::Document;
use tokio::process::Command;

/// `--help` behind a command lets the tool read all of it, and run none.
#[tokio::test]
async fn every_documented_command_is_understood() {
    let documents = Document::all().expect("the documents can be read");
    let commands: Vec<_> = documents.iter().flat_map(|document| document.commands("nacosctl")).collect();
    assert!(commands.len() > 5, "only {} commands were found", commands.len());
    for command in commands {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_nacosctl"));
        let output = tool.args(&command.arguments).arg("--help").output().await.expect("it is built");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: nacosctl {:?}: {words}", command.place, command.arguments);
    }
}
