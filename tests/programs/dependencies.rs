//! `docs/dev/dependencies.md` names every direct dependency, and no other.

use std::collections::BTreeSet;

mod promises {
    use super::*;

    #[test]
    fn every_direct_dependency_is_explained_and_nothing_else() {
        let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
        let of_all_crates = manifest["workspace"]["dependencies"].as_table();
        let of_the_tests = manifest["dev-dependencies"].as_table();
        let names = of_all_crates.into_iter().chain(of_the_tests).flat_map(|table| table.keys()).map(String::as_str);
        let used: BTreeSet<&str> = names.filter(|name| !name.starts_with("askbox-")).collect();
        let page = include_str!("../../docs/dev/dependencies.md");
        let tables = page.split("\n## ").skip(1);
        let explained: BTreeSet<&str> =
            tables.flat_map(str::lines).filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name)).collect();
        assert_eq!(used, explained);
    }
}
