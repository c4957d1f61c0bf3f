//! The pages of the documentation lead where they say.

use std::fs;
use std::path::{Path, PathBuf};

/// The name that a link finds a heading by, as GitHub makes it.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The pages, and the text of each without its blocks of code.
pub(super) fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = ["", "docs", "docs/dev", "clients/python", "clients/typescript"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let paths = all.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let without_code = |text: String| {
        let mut is_code = false;
        let is_prose = |line: &&str| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence && !line.starts_with("    ")
        };
        text.lines().filter(is_prose).map(|line| format!("{line}\n")).collect()
    };
    paths.map(|path| (path.clone(), without_code(fs::read_to_string(path).unwrap()))).collect()
}

mod promises {
    use super::*;

    #[test]
    fn every_link_of_a_page_leads_to_a_file_and_to_a_heading_in_it() {
        let pages = pages();
        assert!(pages.len() > 15, "{}", pages.len());
        let has_heading = |path: &Path, wanted: &str| {
            let text = pages.iter().find(|(page, _)| page.canonicalize().unwrap() == path).map(|(_, text)| text).expect("a page");
            text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line.trim_start_matches('#')) == wanted)
        };
        let mut wrong = Vec::new();
        for (page, text) in &pages {
            let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
            for link in links.filter(|link| !link.starts_with("http")) {
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
                let leads = match target.canonicalize() {
                    Ok(target) => heading.is_empty() || has_heading(&target, heading),
                    Err(_) => false,
                };
                if !leads {
                    wrong.push(format!("{}: {link}", page.display()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
