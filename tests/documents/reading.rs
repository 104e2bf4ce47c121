//! That documents are read as they are meant.

use std::path::PathBuf;

use nacos_tests::documents::Document;

const TEXT: &str = "\
# The first: `Heading` of_all!

A [link](docs/a.md#b), `[no](link)` and [another](https://x.y/z).

```rust,no_run
let code = \"[not](a-link)\";
# hidden();
```

```yaml routes
a: b
```

```sh
NACOS=1 cargo run --locked -p examples --bin provider -- --server 'a b' # a comment
nacosctl explain x \\
  --cluster east | head
cargo run -p nacos-server-min &
```
";

fn document() -> Document {
    Document { path: PathBuf::from("X.md"), text: TEXT.to_owned() }
}

#[test]
fn blocks_have_a_language_and_a_kind() {
    let fences = document().fences();
    let kinds: Vec<_> = fences.iter().map(|fence| (fence.language(), fence.kind())).collect();
    assert_eq!(kinds, [("rust", ""), ("yaml", "routes"), ("sh", "")]);
    assert_eq!((&*fences[1].code, &*fences[1].place), ("a: b\n", "X.md:10"));
}

#[test]
fn links_and_headings_are_found_outside_of_code_only() {
    let links = document().links();
    let targets: Vec<_> = links.iter().map(|link| (&*link.target, link.is_external())).collect();
    assert_eq!(targets, [("docs/a.md#b", false), ("https://x.y/z", true)]);
    assert_eq!(document().anchors().into_iter().collect::<Vec<_>>(), ["the-first-heading-of_all"]);
}

#[test]
fn commands_are_split_as_a_shell_does_it() {
    let provider = document().commands("provider");
    assert_eq!(provider[0].arguments, ["--server", "a b"]);
    assert_eq!(provider[0].package.as_deref(), Some("examples"));
    assert_eq!(document().commands("nacosctl")[0].arguments, ["explain", "x", "--cluster", "east"]);
    assert_eq!(document().commands("nacos-server-min")[0].arguments, [""; 0]);
}
