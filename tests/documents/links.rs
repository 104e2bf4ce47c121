use nacos_tests::documents::{Document, Link};

/// What is wrong with a link of a document, if anything.
fn fault(documents: &[Document], document: &Document, link: &Link) -> Option<String> {
    let (path, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
    let folder = document.path.parent()?;
    let root = Document::root();
    let file = if path.is_empty() { root.join(&document.path) } else { root.join(folder).join(path) };
    let Ok(file) = file.canonicalize() else { return Some(format!("there is no {path}")) };
    if anchor.is_empty() {
        return None;
    }
    let named = documents.iter().find(|other| root.join(&other.path).canonicalize().is_ok_and(|path| path == file));
    let known = named.is_some_and(|other| other.anchors().contains(anchor));
    (!known).then(|| format!("there is no heading #{anchor} in {}", file.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let documents = Document::all().expect("the documents can be read");
    let mut faults = Vec::new();
    let mut links = 0;
    for document in &documents {
        for link in document.links().iter().filter(|link| !link.is_external()) {
            links += 1;
            faults.extend(fault(&documents, document, link).map(|fault| format!("{}: {fault}", link.place)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(links > 10, "only {links} links were found");
}

#[test]
fn every_page_is_linked_from_the_readme() {
    let documents = Document::all().expect("the documents can be read");
    let readme = documents.iter().find(|document| document.path.ends_with("README.md")).expect("there is a README");
    let linked: Vec<_> = readme.links().into_iter().map(|link| link.target).collect();
    for page in documents.iter().filter(|document| document.path.starts_with("docs")) {
        let path = page.path.to_string_lossy();
        assert!(linked.iter().any(|target| target.split('#').next() == Some(&path)), "{path}");
    }
}
