"""Checks two promises about the dependency tree: the stated minimum Rust version, and the size of the client's tree."""

import json
import subprocess
import sys

CLIENT_LIMIT = 90


def version(text):
    parts = [int(part) for part in text.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def main():
    metadata = json.loads(
        subprocess.check_output(["cargo", "metadata", "--locked", "--format-version", "1"])
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    members = set(metadata["workspace_members"])
    stated = {packages[member]["rust_version"] for member in members}
    if len(stated) != 1 or None in stated:
        sys.exit(f"the workspace states more than one minimum Rust version, or none: {stated}")
    stated = stated.pop()
    with_version = [p for p in packages.values() if p["id"] not in members and p["rust_version"]]
    needed = max(with_version, key=lambda package: version(package["rust_version"]))
    if version(needed["rust_version"]) != version(stated):
        sys.exit(f"rust-version is {stated}, but {needed['name']} {needed['version']} needs {needed['rust_version']}")
    print(f"minimum Rust version {stated}, because of {needed['name']} {needed['version']}")

    tree = subprocess.check_output(
        ["cargo", "tree", "--locked", "-p", "nacos-client", "-e", "normal", "--prefix", "none", "--no-dedupe"],
        text=True,
    )
    crates = {" ".join(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    if len(crates) > CLIENT_LIMIT:
        sys.exit(f"nacos-client pulls in {len(crates)} crates, more than {CLIENT_LIMIT}")
    print(f"nacos-client's tree: {len(crates)} crates of at most {CLIENT_LIMIT}")


if __name__ == "__main__":
    main()
