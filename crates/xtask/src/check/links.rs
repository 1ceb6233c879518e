//! The links between the Markdown files of the repository: each names a file that exists, and a heading of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Folders that contain no documentation of the repository.
const SKIPPED: &[&str] = &[".git", "target", "node_modules"];

/// Checks all relative links.
pub(super) fn check() -> Result<()> {
    let root = paths::workspace_root()?;
    let mut files = Vec::new();
    markdown(&root, &mut files)?;
    let mut broken = Vec::new();
    for file in &files {
        let text = read(file)?;
        for link in links(&text) {
            if let Err(why) = resolve(file, &link) {
                let file = file.strip_prefix(&root).unwrap_or(file).display();
                broken.push(format!("{file}: {link}: {why}"));
            }
        }
    }
    if broken.is_empty() { Ok(()) } else { bail!("broken links:\n  {}", broken.join("\n  ")) }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn markdown(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                markdown(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(())
}

/// The targets of the links and images of a text.
fn links(text: &str) -> Vec<String> {
    let targets = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    targets.collect()
}

/// Whether a link in this file leads to a file, and to a heading if it names one. Links to other sites are not followed.
fn resolve(file: &Path, link: &str) -> Result<(), &'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = match file.parent() {
        Some(folder) if !path.is_empty() => folder.join(path),
        _ => file.to_path_buf(),
    };
    if !target.exists() {
        return Err("this file does not exist");
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let text = fs::read_to_string(&target).map_err(|_| "an anchor requires a text file")?;
    if anchors(&text).contains(anchor) { Ok(()) } else { Err("no heading has this anchor") }
}

/// The anchors of the headings of a text, as GitHub makes them: lower case, without punctuation, spaces as hyphens. A repeated
/// heading gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let numbered = (1..).map(|number| format!("{slug}-{number}"));
                let free = std::iter::once(slug.clone()).chain(numbered).find(|name| !anchors.contains(name));
                anchors.extend(free);
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_not_followed() {
        let text = "[a](b.md) ![c](d.png) `[e](f.md)`\n\n```\n[g](h.md)\n```\n\n| [i](j.md) |\n|---|\n";
        assert_eq!(links(text), ["b.md", "d.png", "j.md"]);
    }

    #[test]
    fn headings_have_the_anchors_of_github() {
        let text = "# `spec.lifecycle`: what to do\n\n## Again\n\n## Again\n";
        assert_eq!(anchors(text), ["speclifecycle-what-to-do", "again", "again-1"].map(str::to_owned).into());
    }

    #[test]
    fn a_link_to_a_missing_file_or_heading_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "# One\n").unwrap();
        for (link, expected) in [
            ("a.md", Ok(())),
            ("#one", Ok(())),
            ("a.md#one", Ok(())),
            ("https://kubernetes.io/docs", Ok(())),
            ("b.md", Err("this file does not exist")),
            ("#two", Err("no heading has this anchor")),
        ] {
            assert_eq!(resolve(&file, link), expected, "{link}");
        }
    }
}
