//! `docs/dependencies.md` names every direct dependency, and no other.

use std::collections::BTreeSet;

#[test]
fn every_direct_dependency_is_explained_and_nothing_else() {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    let of_targets =
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|t| t.values()).filter_map(toml::Value::as_table);
    let places = of_targets.chain([&manifest]);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = places.flat_map(|world| kinds.iter().filter_map(|kind| world.get(*kind)?.as_table()));
    let used: BTreeSet<&str> = tables.flat_map(|t| t.keys()).map(String::as_str).collect();
    let page = include_str!("../../docs/dependencies.md");
    let tables = page.split("\n## ").skip(1);
    let explained: BTreeSet<&str> =
        tables.flat_map(str::lines).filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name)).collect();
    assert_eq!(used, explained);
}
