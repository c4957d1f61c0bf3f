use std::path::Path;

use crate::config::*;

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
fn what_does_not_fit_is_told_by_its_key_and_its_place() {
    for (text, told) in [
        ("[limits]\nturns = 'ü'\n", "limits.turns: invalid type: string \"ü\", expected u32 (line 2, column 9)"),
        (
            "[log]\nformat = 'text'\n[limits]\nsilence = '1h'\ngrace = true\n",
            "limits.grace: invalid type: boolean `true`, expected a string (line 5, column 9)",
        ),
        ("limits = { run_cost = 1, grace = 3 }\n", "limits.grace: invalid type: integer `3`, expected a string (line 1, column 34)"),
        (
            "[relaunch]\nmode = 'frsh'\n",
            "relaunch.mode: unknown variant `frsh`, expected one of `auto`, `fresh`, `resume` (line 2, column 8)",
        ),
        ("[relaunch]\nattempts = -1\n", "relaunch.attempts: invalid value: integer `-1`, expected u32 (line 2, column 12)"),
        // The part that does not fit, and the whole where that is it.
        ("[runner.x]\nargs = ['a',\n 'ü', 3]\n", "runner.x.args: invalid type: integer `3`, expected a string (line 3, column 7)"),
        ("[runner.x.env]\nA = 'b'\nB = 7\n", "runner.x.env: invalid type: integer `7`, expected a string (line 3, column 5)"),
        ("[limits.grace]\nx = 3\n", "limits.grace: invalid type: map, expected a string (line 1, column 1)"),
        // What JSON has no form for.
        ("[relaunch]\nattempts = 99999999999999999999\n", "relaunch.attempts: is a number out of range (line 2, column 12)"),
        ("[limits]\nday_cost = inf\n", "limits.day_cost: is no finite number (line 2, column 12)"),
        ("[limits]\nday_cost = 1e999\n", "limits.day_cost: is no finite number (line 2, column 12)"),
        (
            "[runner.x]\nargs = ['a', 2026-11-22]\n",
            "runner.x.args: is a date, which no key takes; a text goes in quotes (line 2, column 14)",
        ),
        // Nothing to do with a key.
        ("\n[log\n", "line 2, column 5: unclosed table, expected `]`"),
        ("[log]\nformat = 'text'\nformat = 'text'\n", "line 3, column 1: duplicate key"),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), format!("config.toml: {told}"), "{text}");
    }
}

#[test]
fn every_form_of_a_value_is_read() {
    let text = "limits = { turns = 1_000, day_cost = 0x10, run_cost = 2 }\nrelaunch.config_dirs = ['/a', \"/\\u00fc\"]\n\
        [runner]\ndefault = 'x'\n[runner.x]\nargs = [\"\"\"\na\"\"\"]\nenv.A = 'b'\n[runner.'y z']\n[chain]\nmax_depth = 18446744073709551615\n";
    let loaded = read(text).unwrap();
    let config = &loaded.config;
    assert_eq!((config.limits.turns, config.limits.day_cost, config.limits.run_cost), (1000, 16.0, 2.0));
    assert_eq!(config.relaunch.config_dirs, [Path::new("/a"), Path::new("/ü")]);
    let (name, runner) = config.runner(None).unwrap();
    assert_eq!((name.as_str(), runner.args, runner.env["A"].as_str()), ("x", vec!["a".to_owned()], "b"));
    assert_eq!(config.runner(Some("y z")).unwrap().1.allowed_tools, default_tools());
    assert_eq!(config.chain.max_depth, usize::MAX);
    let set = ["limits.turns", "limits.day_cost", "limits.run_cost", "relaunch.config_dirs", "runner.default"];
    assert_eq!(loaded.set[..5], set);
}

#[test]
fn the_pause_doubles_up_to_its_cap() {
    let relaunch = Relaunch::default();
    assert_eq!(relaunch.pause(1), Duration::from_secs(10));
    assert_eq!(relaunch.pause(3), Duration::from_secs(40));
    assert_eq!(relaunch.pause(60), Duration::from_secs(900));
}
