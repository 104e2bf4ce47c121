use std::fs;

use nacos_tests::documents::Document;

/// What a block of Rust may say of itself. Whatever else rustdoc knows keeps it from being compiled or from running.
const RUST: [&str; 2] = ["rust", "rust,no_run"];
const OTHERS: [&str; 5] = ["sh", "text", "toml", "yaml", "json"];

#[test]
fn every_block_says_what_it_is_and_none_of_rust_is_left_out() {
    let documents = Document::all().expect("the documents can be read");
    let fences: Vec<_> = documents.iter().flat_map(Document::fences).collect();
    for fence in &fences {
        let known = RUST.contains(&&*fence.info) || OTHERS.contains(&fence.language());
        assert!(known, "{}: `{}`", fence.place, fence.info);
    }
    assert!(fences.iter().filter(|fence| fence.language() == "rust").count() >= 5);
}

#[test]
fn every_document_with_rust_is_compiled() {
    let pages = fs::read_to_string(Document::root().join("tests/src/pages.rs")).expect("it is there");
    for document in Document::all().expect("the documents can be read") {
        if document.fences().iter().any(|fence| fence.language() == "rust") {
            let path = document.path.display();
            assert!(pages.contains(&format!("= \"{path}\";")), "{path} is not named in tests/src/pages.rs");
        }
    }
}

/// A block below `<!-- file: path -->` is that file, which is compiled and run where it lies.
#[test]
fn blocks_that_are_files_are_those_files() {
    let mut compared = 0;
    for document in Document::all().expect("the documents can be read") {
        for part in document.text.split("<!-- file: ").skip(1) {
            let (path, rest) = part.split_once(" -->").expect("the comment ends");
            let code = rest.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
            let (code, _) = code.unwrap_or_else(|| panic!("{}: no Rust follows {path}", document.path.display()));
            let file = fs::read_to_string(Document::root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(code, file, "{path} in {}", document.path.display());
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[test]
fn what_cargo_is_told_to_run_is_there() {
    for document in Document::all().expect("the documents can be read") {
        for fence in document.fences().iter().filter(|fence| fence.language() == "sh") {
            for command in nacos_tests::documents::Command::all(fence) {
                let Some(package) = &command.package else { continue };
                let folder = Document::root().join(package);
                let sources = ["src/main.rs".to_owned(), format!("src/bin/{}.rs", command.program)];
                let there = sources.iter().any(|source| folder.join(source).is_file());
                assert!(there, "{}: {} of {package}", command.place, command.program);
            }
        }
    }
}
