//! Texts that want to do harm, or are broken.

use proptest::prelude::*;

use super::any_document::any_document;
use super::*;

fn both(text: &str) -> [Result<RouteDocument, RouteError>; 2] {
    [RouteDocument::from_yaml(text), RouteDocument::from_json(text)]
}

#[test]
fn aliases_of_aliases_are_counted_before_they_are_put_in() {
    let levels = (1..10).map(|n| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 9].join(", ")));
    let bomb = format!("l0: &l0 [x]\n{}", levels.collect::<String>());
    let error = RouteDocument::from_yaml(&bomb).expect_err("too many");
    assert_eq!(error.to_string(), "7:15: more than 200000 values, those of aliases included");

    let texts = vec!["x"; 1000].join(", ");
    let condition = format!("{{ header: {{ name: a, any: [&t {texts}] }} }}");
    let rules = vec!["*r"; 1000].join(", ");
    let bomb = format!(
        "services:\n  a: {{ routes: [&r {{ name: one, to: [{{ baseline: true }}], when: [&c {condition}, {}] }}, {rules}] }}",
        vec!["*c"; 1000].join(", ")
    );
    let error = RouteDocument::from_yaml(&bomb).expect_err("too many");
    assert!(is_syntax(&error, "more than 200000 values, those of aliases included"), "{error}");
}

/// Whether the text is refused for a reason that ends so.
fn is_syntax(error: &RouteError, end: &str) -> bool {
    matches!(error.problem(), Problem::Syntax { reason } if reason.ends_with(end))
}

#[test]
fn depth_is_bounded() {
    for text in ["[".repeat(10_000), "{a: ".repeat(10_000), "- ".repeat(10_000), "{\"a\": ".repeat(10_000)] {
        let error = RouteDocument::from_yaml(&text).expect_err("too deep");
        // The parser may look ahead, as far as its own limit.
        let is_ours = is_syntax(&error, "nested more than 32 levels deep");
        assert!(is_ours || is_syntax(&error, "recursion limit exceeded"), "{error}");
        assert!(RouteDocument::from_json(&text).is_err());
    }
    let closed = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for read in both(&closed(100)).into_iter().chain([RouteDocument::from_json(&closed(10_000))]) {
        assert_eq!(read.expect_err("too deep").to_string(), "1:33: nested more than 32 levels deep");
    }
}

#[test]
fn length_is_bounded() {
    let large = format!("services: {{}}\n{}", "# much\n".repeat(1_500_000));
    for read in both(&large) {
        assert_eq!(read.expect_err("too long").to_string(), "longer than 1048576 bytes");
    }
    let longest = format!("services: {{}} #{}", "x".repeat(1024 * 1024 - 15));
    assert_eq!(RouteDocument::from_yaml(&longest), Ok(RouteDocument::new()));
}

#[test]
fn odd_characters_are_refused_with_their_place() {
    for read in both("{ \"services\": {}\0 }") {
        let error = read.expect_err("no document");
        assert_eq!(error.line_and_column(), Some((1, 17)), "{error}");
    }
    assert!(RouteDocument::from_yaml("services: \u{7f}\u{85}").is_err());
}

#[test]
fn whatever_repeats_for_a_megabyte_is_refused() {
    for part in [
        "[",
        "{",
        "- ",
        "? ",
        "a: ",
        "a:\n",
        ": ",
        "&a ",
        "*a ",
        "!a ",
        "%",
        "'",
        "\"",
        "|\n",
        ">",
        "#",
        "\t",
        ",",
        "]",
        "}",
        "---\n",
        "...\n",
        "{}",
        "a",
        "é",
        "\\",
        "[a",
        "{a: b, ",
        "- - ",
        "<<: ",
        "\n",
        "\r",
        " ",
        "''",
        "\"\"",
        "\"\\u0000",
    ] {
        let text = part.repeat(1024 * 1024 / part.len());
        for read in both(&text).into_iter().chain(both(&format!("services: {text}"))) {
            assert!(read.is_err(), "{part:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}|[-{}\\[\\]:,&*#!|>'\"%@`\n a?]{0,60}") {
        for text in [text.clone(), format!("services: {text}"), format!("services:\n  a:\n    routes: {text}")] {
            for read in both(&text) {
                if let Err(error) = read {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }

    /// A document in which something is cut out, doubled or put in is refused, or is one that can be written and read.
    #[test]
    fn broken_documents_are_read_or_refused(
        document in any_document(),
        at in any::<prop::sample::Index>(),
        length in 0_usize..20,
        put in "\\PC{0,6}|[-{}\\[\\]:,&*#'\" ]{0,6}|null|true|-1|1e999",
    ) {
        let json = serde_json::to_string(&document).expect("JSON");
        let chars: Vec<char> = json.chars().collect();
        let begin = at.index(chars.len());
        let end = (begin + length).min(chars.len());
        let broken: String = chars[..begin].iter().copied().chain(put.chars()).chain(chars[end..].iter().copied()).collect();
        for read in both(&broken).into_iter().flatten() {
            let json = serde_json::to_string(&read).expect("JSON");
            prop_assert_eq!(RouteDocument::from_json(&json), Ok(read));
        }
    }
}
