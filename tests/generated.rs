//! The checked-in stubs are what the `.proto` files say.

use std::fs;
use std::path::Path;

#[test]
fn generated_stubs_match_the_proto_files() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = crate_dir.join("../examples");
    for (proto_dir, name, kept) in [
        (crate_dir.join("proto"), "echo", crate_dir.join("discovery/echo.rs")),
        (examples.join("proto"), "greeter", examples.join("src/greeter.rs")),
    ] {
        let descriptors = protox::compile([format!("{name}.proto")], [proto_dir]).expect("the proto file compiles");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
        tonic_prost_build::configure().out_dir(out).compile_fds(descriptors).expect("code can be generated");
        let fresh = fs::read_to_string(out.join(format!("{name}.rs"))).expect("it is called like its package");
        if std::env::var_os("NACOS_TESTS_REGENERATE").is_some() {
            fs::write(&kept, &fresh).expect("the checked-in file can be written");
        }
        let kept = fs::read_to_string(kept).expect("the checked-in file exists");
        assert_eq!(kept, fresh, "run this test with NACOS_TESTS_REGENERATE=1 and commit the result");
    }
}
