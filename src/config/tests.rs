use super::*;

fn read(text: &str) -> Result<Loaded> {
    parse(text.as_bytes(), Path::new("config.toml"))
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    let error = read("[relaunch]\nmax_concurent = 2\n").unwrap_err();
    assert_eq!(error.to_string(), "config.toml: relaunch.max_concurent: is no known key");
    assert!(error.hint().contains("`relaunch.max_concurrent`"));
    assert!(read("[runner.claude]\nprogramm = 'x'\n").unwrap_err().hint().contains("runner.*.program"));
    assert!(read("[limit]\ngrace = '3s'\n").unwrap_err().hint().contains("limits.grace"));
}

#[test]
fn the_written_template_reads_back_with_every_key_uncommented() {
    assert!(read(&template()).unwrap().set.is_empty());
    let uncommented: String =
        template().lines().map(|l| if l.starts_with("# ") { String::new() } else { l.replacen('#', "", 1) + "\n" }).collect();
    let loaded = read(&uncommented).unwrap();
    assert_eq!(loaded.set.len(), KEYS.len());
    let plain = Config::default();
    assert_eq!(toml::to_string(&loaded.config.relaunch).unwrap(), toml::to_string(&plain.relaunch).unwrap());
    assert_eq!(toml::to_string(&loaded.config.limits).unwrap(), toml::to_string(&plain.limits).unwrap());
    assert_eq!(toml::to_string(&loaded.config.log).unwrap(), toml::to_string(&plain.log).unwrap());
    assert_eq!(toml::to_string(&loaded.config.metrics).unwrap(), toml::to_string(&plain.metrics).unwrap());
    assert_eq!((loaded.config.history.keep, plain.history.keep), (None, None));
    assert_eq!(loaded.config.runner(None).unwrap(), plain.runner(None).unwrap());
}

#[test]
fn a_wrong_value_names_its_line() {
    let error = read("[relaunch]\nbackoff = 'soon'\n").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(read("[relaunch]\nattempts = 0\n").is_err());
    assert!(read("[limits]\nday_cost = -1\n").is_err() && read("[limits]\nday_cost = nan\n").is_err());
    assert!(read("[limits]\ntree_cost = -0.1\n").is_err() && read("[limits]\ntree_time = 'long'\n").is_err());
    assert_eq!(read("[limits]\nday_cost = 3\n").unwrap().config.limits.day_cost, 3.0);
    assert!(read("[runner]\ndefault = 'codex'\n").is_err());
    assert!(read("[history]\nkeep = 'long'\n").unwrap_err().to_string().contains("line 2"));
    assert_eq!(read("[history]\nkeep = '2h'\n").unwrap().config.history.keep, Some(Span(Duration::from_secs(7200))));
}

#[test]
fn the_pause_doubles_up_to_its_cap() {
    let relaunch = Relaunch::default();
    assert_eq!(relaunch.pause(1), Duration::from_secs(10));
    assert_eq!(relaunch.pause(3), Duration::from_secs(40));
    assert_eq!(relaunch.pause(60), Duration::from_secs(900));
}
