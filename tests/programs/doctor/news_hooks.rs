//! The doctor and the dialogs that are told as news: their hooks, and their files.

use serde_json::Value;

use super::{configure, findings, finds, finds_and_mends, well};

#[test]
fn doctor_knows_the_folder_of_dialogs_and_reads_its_files() {
    let world = well();
    let file = "m/dialogs/7c9e6679-7425-40de-944b-e07fc1f90ae7.json";
    world.sh("mkdir -m 700 m/dialogs");
    let good = r#"{"program":"kimi","session_id":"s","cwd":"/","tool":"Bash","asks":"ls","since":"2026-11-27T12:00:00Z"}"#;
    std::fs::write(world.path(file), good).unwrap();
    assert_eq!(findings(&world), [] as [Value; 0]);
    std::fs::write(world.path(file), "{").unwrap();
    finds_and_mends(&world, "dialog", "dialogs/7c9e6679");
    world.sh("mkfifo m/dialogs/x");
    finds_and_mends(&world, "no_file", "dialogs/x");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_misses_the_hooks_of_dialogs_that_are_news() {
        let world = well();
        let news = |programs: &str| format!("[live]\nnews = {programs}\n[target.desk]\nexec = [\"/bin/true\"]\n");
        configure(&world, &news("[\"kimi\", \"gemini\"]"));
        assert_eq!(findings(&world).len(), 2);
        configure(&world, &news("[\"kimi\"]"));
        assert!(finds(&world, "live_without_hook", "live.news").ends_with("/.kimi-code/config.toml"));
        let kimi = |event: &str| format!("[[hooks]]\nevent = \"{event}\"\ncommand = \"askbox hook --from kimi\"\n");
        std::fs::create_dir(world.home().join(".kimi-code")).unwrap();
        let file = world.home().join(".kimi-code/config.toml");
        std::fs::write(&file, kimi("PermissionRequest")).unwrap();
        assert_eq!(findings(&world).len(), 1);
        std::fs::write(&file, kimi("PermissionRequest") + &kimi("PermissionResult")).unwrap();
        assert_eq!(findings(&world), [] as [Value; 0]);
        configure(&world, &(news("[\"kimi\"]") + "live = \"never\"\n"));
        finds(&world, "live_without_target", "live.news");
        configure(&world, &news("[\"gemini\"]"));
        assert!(finds(&world, "live_without_hook", "live.news").ends_with("/.gemini/settings.json"));
    }
}
