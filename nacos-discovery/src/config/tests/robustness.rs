//! No text makes the reader panic, and none makes it slow.

use proptest::prelude::*;

use super::read;
use crate::config::DiscoveryConfig;

/// Pieces that mean something to one of the formats, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("spring.cloud.nacos.discovery"),
        Just("spring:\n  cloud:\n    nacos:\n      discovery:\n"),
        Just("        metadata"),
        Just("weight"),
        Just("server-addr"),
        Just(": "),
        Just(" = "),
        Just("\n"),
        Just("  "),
        Just("\t"),
        Just("---\n"),
        Just("#---\n"),
        Just("&a "),
        Just("*a"),
        Just("<<"),
        Just("- "),
        Just("? "),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just("${"),
        Just("'"),
        Just("\""),
        Just("|\n"),
        Just(">-\n"),
        Just("!!str "),
        Just("%TAG ! x\n"),
        Just("\\u00"),
        Just("\\"),
        Just("."),
        Just(","),
        Just("é\u{2028}\0"),
        Just("1e400"),
        Just("2024-01-01T00:00:00Z"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn try_all(text: &str) {
    for builder in [
        DiscoveryConfig::builder().yaml_str(text),
        DiscoveryConfig::builder().toml_str(text),
        DiscoveryConfig::builder().properties_str(text),
    ] {
        // Whatever comes of it can be shown.
        match builder.and_then(read) {
            Ok((config, notes)) => drop(format!("{config:?} {notes:?}")),
            Err(error) => drop(format!("{error} {error:?}")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,200}|(.|\n){0,200}") {
        try_all(&text);
    }

    #[test]
    fn no_arrangement_of_pieces_is_too_odd(text in pieces()) {
        try_all(&text);
    }

    #[test]
    fn no_damage_to_a_real_file_is_too_odd(at in 0_usize..3000, length in 0_usize..40, with in "\\PC{0,8}|[\\[\\]{}:&*|>'\"\n -]{0,8}") {
        let text = super::spring::APPLICATION;
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let damaged = format!("{}{with}{}", &text[..floor(at)], &text[floor(at + length)..]);
        try_all(&damaged);
    }

    #[test]
    fn no_name_and_value_are_too_odd(name in "(spring.cloud.nacos.discovery[.\\[])?\\PC{0,30}", value in "\\PC{0,30}|-?[0-9]{1,25}") {
        let _ = read(DiscoveryConfig::builder().property(&name, &value).metadata(&name, &value));
        let _ = read(DiscoveryConfig::builder().variables([(name.as_str(), value.as_str())]));
        let upper = format!("SPRING_CLOUD_NACOS_DISCOVERY_{}", name.to_uppercase());
        let _ = read(DiscoveryConfig::builder().variables([(upper, value)]));
    }
}
