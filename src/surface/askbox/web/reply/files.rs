//! Style, script, icons: built into the program, the same for everybody.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use crate::surface::askbox::web::reply::plain;

const STYLE: &str = include_str!("../static/style.css");
const SCRIPT: &str = include_str!("../static/page.js");
const ICON: &str = include_str!("../static/icon.svg");
const MANIFEST: &str = include_str!("../static/manifest.json");
const ICON_180: &[u8] = include_bytes!("../static/icon-180.png");
const ICON_512: &[u8] = include_bytes!("../static/icon-512.png");

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = [STYLE, SCRIPT, ICON, MANIFEST].concat();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, all.as_bytes()).simple().to_string().split_off(24)
});

/// A word that changes with the files: their addresses carry it.
pub fn version() -> &'static str {
    &VERSION
}

/// `/static/FILE`
pub async fn show(Path(file): Path<String>) -> Response {
    let (kind, bytes) = match file.as_str() {
        "style.css" => ("text/css; charset=utf-8", STYLE.as_bytes()),
        "page.js" => ("text/javascript; charset=utf-8", SCRIPT.as_bytes()),
        "icon.svg" => ("image/svg+xml", ICON.as_bytes()),
        "icon-180.png" => ("image/png", ICON_180),
        "icon-512.png" => ("image/png", ICON_512),
        "manifest.json" => ("application/manifest+json", MANIFEST.as_bytes()),
        _ => return plain(StatusCode::NOT_FOUND, "there is no such file"),
    };
    // Their addresses change with their content.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")], bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_the_page_is_small_and_asks_for_nothing_elsewhere() {
        assert!(SCRIPT.len() <= 8 << 10, "{} bytes", SCRIPT.len());
        for text in [SCRIPT, STYLE, MANIFEST] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("eval"), "{text}");
        }
    }
}
