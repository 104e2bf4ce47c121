//! Keeps `INDEX.md` true: it covers every kind it must, and each test or benchmark it names is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The kinds of failure and the guarantees that need a test.
const REQUIRED: &str = "
    CG1 CG3 CG4 CG5 CG6 CG7 CG8 CG9 CG10 CG11 CG13 CG14 CG15 CG16 CG17 CG18 CG19
    CG21 CG22 CG23 CG24 CG25 CG26 CG27 CG28 CG29 CG30 CG31 CG32 CG33 CG34 CG35 CG36 CG37 CG38
    CG45 CG46 CG47 A01 A03 A05 A10 A11 A12
    CG50 CG51 CG52 CG53 CG54 CG57
    G01 G02 G03 G04 G05 G07 G08 G09 G11 G12 G13 G15 G17 G19 G20 G21 G23 G25 G26
    H07 H08 H10 K06
    F01 F02 F04 F08 F11 F12 L01 L10 L11 K05 B15 C01 C04 T01 T03 T04 T06 T07
    B13 B16 SD1 SD2 SD3 SD4 SD5 SD6 SD7 SD8 SD9 SD10 SD11 SD12 SD13 SC19 SC20
    LB1 SC1 SC2 SC3 SC4 SC5 SC6 SC9 SC10 SC11 SC12 RB1 SC18 B01 B03 B04 B05 B10
    SC7 SC16 SC17 B07 B08 B11 B12
    SC13 SC14 SC15
    SC8 BL1 BL2 BL3 BL4 BL5
    H01 H02 H03 H05 H11 H13 H14 H16 L07 L09 L13 K03
    CTL1 CTL2 CTL3 CTL4 CTL5 CTL6 CTL7 CTL8 CTL9
    RB2 RB3 RB4 RB5
    EX1 EX2 EX3
    AD1 AD2 AD3 AD4 AD5 AD6 AD7 AD8
    PR1 GW1 GW2 GW3 GW4 GW5 GW6 GW7";

/// A line of the index and what it says shows it.
#[derive(Debug, Default, PartialEq)]
struct Entry {
    words: String,
    shown_by: Vec<Proof>,
}

#[derive(Debug, PartialEq)]
enum Proof {
    /// A function in a source file, path from the root of the repository.
    Test { path: String, name: String },
    /// A name in a file of the benchmarks.
    Bench { path: String, name: String },
}

/// Reads `- words [ID]` lines, each followed by its proofs: ``  - `path::name` `` or ``  - benches: `path::name` ``.
fn parse(text: &str) -> Result<BTreeMap<String, Entry>, String> {
    let mut entries = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        if let Some(proof) = line.strip_prefix("  - ") {
            let id = current.as_ref().ok_or_else(|| format!("a proof without a kind: {line}"))?;
            let entry: &mut Entry = entries.get_mut(id).ok_or_else(|| format!("no entry {id}"))?;
            entry.shown_by.push(parse_proof(proof)?);
        } else if let Some(item) = line.strip_prefix("- ") {
            let (words, id) = item
                .rsplit_once(" [")
                .and_then(|(words, id)| Some((words, id.strip_suffix(']')?)))
                .ok_or_else(|| format!("no id at the end: {line}"))?;
            if entries.insert(id.to_owned(), Entry { words: words.to_owned(), shown_by: Vec::new() }).is_some() {
                return Err(format!("{id} stands twice"));
            }
            current = Some(id.to_owned());
        } else if !line.is_empty() {
            current = None;
        }
    }
    Ok(entries)
}

fn parse_proof(text: &str) -> Result<Proof, String> {
    let (bench, reference) = match text.strip_prefix("benches: ") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let quoted = reference.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(quoted, _)| quoted);
    let (path, name) = quoted.and_then(|q| q.split_once("::")).ok_or_else(|| format!("no `path::name`: {text}"))?;
    let (path, name) = (path.to_owned(), name.to_owned());
    Ok(if bench { Proof::Bench { path, name } } else { Proof::Test { path, name } })
}

/// Whether `source` declares a test function of this name that runs: by an attribute, or through a scenario macro.
fn declares_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declared = lines.iter().position(|line| {
        let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(['(', '<']))
    });
    let Some(at) = declared else { return false };
    let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let attributes: Vec<_> = attributes.collect();
    if attributes.iter().any(|line| line.starts_with("#[ignore")) {
        return false;
    }
    let by_attribute = attributes.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    by_attribute || in_scenario_macro(&lines, name)
}

/// Whether a macro that makes tests of scenarios names it.
fn in_scenario_macro(lines: &[&str], name: &str) -> bool {
    let mut inside = false;
    for line in lines.iter().filter(|line| !line.starts_with("//")) {
        let macros = ["in_every_world!", "in_our_worlds!", "in_http_worlds!"];
        inside |= macros.iter().any(|name| line.starts_with(name));
        if inside && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name) {
            return true;
        }
        inside &= !line.ends_with('}') && !line.ends_with(");");
    }
    false
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace").to_owned()
}

fn check(proof: &Proof) -> Result<(), String> {
    let (Proof::Test { path, name } | Proof::Bench { path, name }) = proof;
    let source = fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"))?;
    let found = match proof {
        Proof::Test { .. } => declares_test(&source, name),
        Proof::Bench { .. } => path.starts_with("benches/") && source.contains(name.as_str()),
    };
    if found { Ok(()) } else { Err(format!("{path} has no test {name}")) }
}

#[test]
fn every_kind_is_listed_with_a_test_that_exists() {
    let text = fs::read_to_string(root().join("tests/INDEX.md")).expect("the index lies beside this test");
    let entries = parse(&text).expect("the index is in form");
    let mut faults = Vec::new();
    for id in REQUIRED.split_whitespace() {
        match entries.get(id) {
            None => faults.push(format!("{id} is not listed")),
            Some(entry) if entry.shown_by.is_empty() => faults.push(format!("{id} has no test")),
            Some(entry) if entry.words.split_whitespace().count() < 4 => {
                faults.push(format!("{id} is not put in words"))
            }
            Some(_) => {}
        }
    }
    for (id, entry) in &entries {
        let failed = entry.shown_by.iter().filter_map(|proof| check(proof).err());
        faults.extend(failed.map(|fault| format!("{id}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_index_is_read_by_kind() {
    let entries =
        parse("# Title\n\ntext\n\n- A thing holds [CG1]\n  - `a/b.rs::x` when so\n  - benches: `benches/p.rs::y`\n")
            .unwrap();
    let test = Proof::Test { path: "a/b.rs".to_owned(), name: "x".to_owned() };
    let bench = Proof::Bench { path: "benches/p.rs".to_owned(), name: "y".to_owned() };
    assert_eq!(entries["CG1"], Entry { words: "A thing holds".to_owned(), shown_by: vec![test, bench] });
    for bad in ["- no id\n", "- one [A]\n- two [A]\n", "  - `a::b`\n", "- w [A]\n  - a::b\n", "- w [A]\n  - `a`\n"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn only_functions_that_run_as_tests_count() {
    for yes in [
        "#[test]\nfn x() {}",
        "/// Doc.\n#[tokio::test(start_paused = true)]\n    async fn x() {",
        "proptest! {\n  #[test]\n  fn x(a: u8) {",
        "in_every_world! {\n  y,\n  x,\n}\nasync fn x(world: World) {}",
        "async fn x(world: World) {}\nin_our_worlds!(y, x);",
    ] {
        assert!(declares_test(yes, "x"), "{yes}");
    }
    for no in [
        "fn x() {}",
        "#[test]\nfn xy() {}",
        "// #[test]\n// fn x() {}",
        "#[test]\nfn y() { x() }\n\nfn x() {}",
        "#[test]\n#[ignore]\nfn x() {}",
        "async fn x(world: World) {}\nin_every_world! {\n  y,\n}\nx();",
        "async fn x(world: World) {}\n// in_our_worlds! { x }",
        "",
    ] {
        assert!(!declares_test(no, "x"), "{no}");
    }
}
