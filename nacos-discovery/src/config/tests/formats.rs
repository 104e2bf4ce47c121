//! What the three formats can express.

use super::{error, read, yaml};
use crate::config::DiscoveryConfig;

const DISCOVERY: &str = "spring.cloud.nacos.discovery";

#[test]
fn later_documents_count_more_and_those_of_profiles_are_left_out() {
    let (config, notes) = yaml(
        "spring.cloud.nacos.discovery: {group: first, service: s}\n\
         ---\n\
         spring.cloud.nacos.discovery.group: second\n\
         ---\n\
         spring:\n  config.activate.on-profile: prod\n  cloud.nacos.discovery: {group: third, nonsense: 1}\n\
         ---\n\
         spring.profiles: [dev, test]\n\
         spring.cloud.nacos.discovery.group: fourth\n\
         ---\n",
    )
    .unwrap();
    assert_eq!((config.group(), config.service()), ("second", Some("s")));
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("info: YAML text, line 6:") && notes[0].contains("prod"), "{notes:?}");

    let properties = format!(
        "{DISCOVERY}.group=first\n#---\nspring.config.activate.on-profile=dev\n{DISCOVERY}.group=second\n!---\n{DISCOVERY}.weight=3\n"
    );
    let (config, notes) = read(DiscoveryConfig::builder().properties_str(&properties).unwrap()).unwrap();
    assert_eq!((config.group(), config.weight(), notes.len()), ("first", 3.0, 1));

    // Choosing a profile is no condition.
    let (config, notes) = yaml("spring.profiles.active: dev\nspring.cloud.nacos.discovery.group: G\n").unwrap();
    assert_eq!((config.group(), notes.len()), ("G", 0));
}

#[test]
fn yaml_has_anchors_merges_lists_and_nothing() {
    let (config, _) = yaml(
        "common: &common\n  zone: a\n  version: v1\n\
         more: &more {zone: b, tier: gold}\n\
         spring:\n  cloud:\n    inetutils:\n      preferred-networks:\n        - 10.0\n        - 192.168\n      ignored-interfaces: []\n    nacos:\n      discovery:\n        \
         group: ~\n        weight:\n        metadata:\n          <<: [*common, *more]\n          version: \"v2\"\n          '[a.b/c]': null\n",
    )
    .unwrap();
    let metadata: Vec<_> = config.metadata().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(metadata, [("a.b/c", ""), ("tier", "gold"), ("version", "v2"), ("zone", "a")]);
    assert_eq!((config.group(), config.weight()), ("DEFAULT_GROUP", 1.0));
    let networks: Vec<_> = config.address().preferred_networks.iter().map(|p| p.as_str()).collect();
    assert_eq!(networks, ["10.0", "192.168"]);

    let (config, _) = yaml("spring.cloud.nacos.discovery:\n  server-addr: [a, 'b:1']\n  metadata:\n").unwrap();
    assert_eq!((config.servers(), config.metadata().len()), ("a,b:1", 0));
    for nothing in ["", "\n", "# only a comment\n", "---\n---\n", "---\n...\n", "\u{feff}"] {
        assert_eq!(yaml(nothing).unwrap().0, DiscoveryConfig::default(), "{nothing:?}");
    }
}

#[test]
fn toml_has_tables_dotted_keys_and_kinds() {
    let text = "[spring.application]\nname = 'orders'\n\n[spring.cloud.nacos.discovery]\nserver-addr = ['a', 'b']\nweight = 2\n\
                ephemeral = false\nport = 0x1F90\nmetadata.version = 'v2'\nmetadata.since = 2024-01-02\nmetadata.'a.b' = 1.5\n\
                [spring.cloud.nacos.discovery.client]\n";
    let (config, notes) = read(DiscoveryConfig::builder().toml_str(text).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    assert!(notes.is_empty());
    assert_eq!((config.servers(), config.service(), config.weight()), ("a,b", Some("orders"), 2.0));
    assert_eq!((config.ephemeral(), &*config.metadata()["version"]), (false, "v2"));
    assert_eq!((&*config.metadata()["since"], &*config.metadata()["a.b"]), ("2024-01-02", "1.5"));
    assert_eq!(config.port(), Some(8080));
}

#[test]
fn properties_have_escapes_continuations_and_three_separators() {
    let text = "# comment\r\n  ! another\r\nspring.cloud.nacos.discovery.group : G1\r\n\
                spring.cloud.nacos.discovery.service orders\\u002dservice\n\
                spring.cloud.nacos.discovery.metadata.a\\:b=\\ x\\ty\\\\\n\
                spring.cloud.nacos.discovery.metadata[c.d]=one \\\n    two\n\
                spring.cloud.nacos.discovery.metadata.smile=\\uD83D\\uDE00\rserver.port=1\\\n";
    let (config, _) = read(DiscoveryConfig::builder().properties_str(text).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((config.group(), config.service()), ("G1", Some("orders-service")));
    let metadata: Vec<_> = config.metadata().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(metadata, [("a:b", " x\ty\\"), ("c.d", "one two"), ("smile", "😀")]);
    assert_eq!(config.listen().port, 1);
}

#[test]
fn broken_texts_are_refused_by_line() {
    for (text, line, part) in [
        ("a: b\nc: [1, 2\nd: e\n", 3, ""),
        ("a: b\nb: \"x\n", 2, ""),
        ("a: 1\na: 2\n", 2, "twice"),
        ("- a\n- b\n", 1, "block of keys"),
        ("text", 1, "block of keys"),
        ("a: &x [*x]\n", 1, "alias"),
        ("a: &x 1\n---\nb: *x\n", 3, ""),
        ("? [1, 2]\n: b\n", 1, "key"),
        ("<<: text\n", 1, "merged"),
    ] {
        let message = error(yaml(text));
        assert!(message.starts_with("YAML text, line "), "{text:?}: {message}");
        assert!(message.contains(part), "{text:?}: {message}");
        let lines: Vec<String> = (line - 1..=line + 1).map(|line| format!("YAML text, line {line}:")).collect();
        assert!(lines.iter().any(|line| message.starts_with(line)), "{text:?}: {message}");
    }
    let toml = |text: &str| error(DiscoveryConfig::builder().toml_str(text).and_then(read));
    for text in ["a = 1\nb = hunter2\n", "a = 1\npassword = 'hunter2\n", "a = 1\na = 'hunter2'\n", "a = 1\n[a\n"] {
        let message = toml(text);
        assert!(message.starts_with("TOML text, line 2:") && !message.contains("hunter2"), "{text:?}: {message}");
    }
    let properties = |text: &str| error(DiscoveryConfig::builder().properties_str(text).and_then(read));
    for text in ["a=b\nc=\\u12", "a=b\nc=\\ud800", "a=b\nc\\uxyzw=1"] {
        assert!(properties(text).starts_with("properties text, line 2:"), "{text:?}");
    }
}

#[test]
fn small_texts_cannot_become_large_ones() {
    let laughs = (1..10).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(",")));
    let bomb = format!("a0: &a0 [x]\n{}", laughs.collect::<String>());
    assert!(error(yaml(&bomb)).contains("too large"));
    let chain = (1..5000).map(|n| format!("a{n}: &a{n} [*a{}]\n", n - 1));
    assert!(error(yaml(&format!("a0: &a0 [x]\n{}", chain.collect::<String>()))).contains("deep"));
    for deep in ["[".repeat(50_000), "{a: ".repeat(50_000), "- ".repeat(50_000)] {
        error(yaml(&deep));
    }
    let toml = format!("a = {}", "[".repeat(50_000));
    error(DiscoveryConfig::builder().toml_str(&toml).and_then(read));
}

/// Keys as they were written, recorded with Spring Boot 3.2.4 and Spring Cloud Alibaba 2023.0.1.2.
#[test]
fn keys_of_metadata_are_those_of_spring() {
    let (config, _) = yaml(
        "spring.cloud.nacos.discovery:\n  metadata:\n    gitCommit: x\n    my-key: x\n    my_key2: x\n    UPPER: x\n    '[c/d]': x\n    '[e.f]': x\n    \
         'a.b': x\n    x.y: x\n    nested: {one: 1, two: 2}\n    list: [p, q]\n    no: x\n    0x10: x\n    spaces: '  x  '\n    tagged: !!str yes\n",
    )
    .unwrap();
    let metadata: Vec<_> = config.metadata().iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        metadata.join(", "),
        "16=x, UPPER=x, a.b=x, c/d=x, e.f=x, false=x, gitCommit=x, list.0=p, list.1=q, my-key=x, my_key2=x, nested.one=1, \
         nested.two=2, spaces=  x  , tagged=yes, x.y=x"
    );
}
