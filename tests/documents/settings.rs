use nacos_discovery::DiscoveryConfig;
use nacos_discovery::route::{RecordedRequest, RouteDocument};
use nacos_tests::documents::{Document, Fence};

/// What the reader of a block's kind says of it.
fn read(fence: &Fence) -> Result<(), String> {
    match (fence.language(), fence.kind()) {
        ("yaml", "settings") => {
            let builder = DiscoveryConfig::builder().yaml_str(&fence.code).map_err(|e| e.to_string())?;
            builder.build().map(drop).map_err(|e| e.to_string())
        }
        ("yaml", "routes") => RouteDocument::from_yaml(&fence.code).map(drop).map_err(|e| e.to_string()),
        ("json", "routes") => RouteDocument::from_json(&fence.code).map(drop).map_err(|e| e.to_string()),
        ("json", "request") => RecordedRequest::from_json(&fence.code).map(drop).map_err(|e| e.to_string()),
        (language, kind) => Err(format!("nobody reads `{language} {kind}`")),
    }
}

#[test]
fn every_block_of_settings_is_taken_as_it_stands() {
    let mut count = 0;
    for document in Document::all().expect("the documents can be read") {
        let fences = document.fences();
        for fence in fences.iter().filter(|fence| ["yaml", "json"].contains(&fence.language())) {
            count += 1;
            assert_eq!(read(fence), Ok(()), "{}", fence.place);
        }
    }
    assert!(count > 0);
}
