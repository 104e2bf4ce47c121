//! The checked-in code is what the `.proto` file says.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_matches_the_proto_file() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto_dir = crate_dir.join("proto");
    let descriptors = protox::compile(["nacos_grpc_service.proto"], [&proto_dir]).expect("the proto file compiles");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    prost_build::Config::new()
        .bytes(["."])
        .btree_map(["."])
        .extern_path(".google.protobuf.Any", "crate::Any")
        .out_dir(out)
        .compile_fds(descriptors)
        .expect("code can be generated");
    let fresh = fs::read_to_string(out.join("_.rs")).expect("a file without package is called `_.rs`");
    let kept_path = crate_dir.join("src/generated.rs");
    if std::env::var_os("NACOS_PROTO_REGENERATE").is_some() {
        fs::write(&kept_path, &fresh).expect("the checked-in file can be written");
    }
    let kept = fs::read_to_string(&kept_path).expect("the checked-in file exists");
    assert_eq!(kept, fresh, "run this test with NACOS_PROTO_REGENERATE=1 and commit the result");
}
