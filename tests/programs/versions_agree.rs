//! The version is written in `Cargo.toml`, and what repeats it agrees.

mod promises {
    #[test]
    fn plugin_changelog_and_packages_have_the_crates_version() {
        let version = env!("CARGO_PKG_VERSION");
        let plugin: serde_json::Value = serde_json::from_str(include_str!("../../plugin/.claude-plugin/plugin.json")).unwrap();
        assert_eq!(plugin["version"], version);
        let newest = include_str!("../../CHANGELOG.md").lines().find_map(|line| line.strip_prefix("## ")).unwrap();
        assert_eq!(newest.split(',').next(), Some(version));
        let printed = std::process::Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/dist/version")).output().unwrap();
        assert_eq!(String::from_utf8(printed.stdout).unwrap().trim(), version);
    }
}
