//! The files of the page, which are part of the program: plain ES modules and one style sheet, as they are in `assets`.

/// A file, its type and its content.
pub(super) type Asset = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const ICON: &str = "image/svg+xml";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All of them, by their path.
pub(super) const ASSETS: [Asset; 15] = [
    ("/", HTML, include_str!("assets/index.html")),
    ("/icon.svg", ICON, include_str!("assets/icon.svg")),
    ("/style.css", CSS, include_str!("assets/style.css")),
    ("/app.js", SCRIPT, include_str!("assets/app.js")),
    ("/api.js", SCRIPT, include_str!("assets/api.js")),
    ("/store.js", SCRIPT, include_str!("assets/store.js")),
    ("/dom.js", SCRIPT, include_str!("assets/dom.js")),
    ("/list.js", SCRIPT, include_str!("assets/list.js")),
    ("/fix.js", SCRIPT, include_str!("assets/fix.js")),
    ("/detail.js", SCRIPT, include_str!("assets/detail.js")),
    ("/map.js", SCRIPT, include_str!("assets/map.js")),
    ("/graph.js", SCRIPT, include_str!("assets/graph.js")),
    ("/plans.js", SCRIPT, include_str!("assets/plans.js")),
    ("/tables.js", SCRIPT, include_str!("assets/tables.js")),
    ("/keys.js", SCRIPT, include_str!("assets/keys.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_refers_to_nothing_elsewhere() {
        let size: usize = ASSETS.iter().map(|(.., content)| content.len()).sum();
        assert!(size < 300_000, "{size} bytes");
        for (path, _, content) in ASSETS {
            // The namespace of SVG is no address.
            let content = content.replace("http://www.w3.org/2000/svg", "");
            for elsewhere in ["http://", "https://", "innerHTML", "eval(", " style=\"", " onclick="] {
                assert!(!content.contains(elsewhere), "{path} has {elsewhere}");
            }
        }
    }

    #[test]
    fn every_import_is_a_file() {
        for (path, _, content) in ASSETS {
            let imports =
                content.lines().filter_map(|line| line.split_once("from \".").map(|(_, rest)| rest));
            for import in imports {
                let file = import.split('"').next().unwrap();
                assert!(ASSETS.iter().any(|(known, ..)| *known == file), "{path} imports {file}");
            }
        }
    }
}
