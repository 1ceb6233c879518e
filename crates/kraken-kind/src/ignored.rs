//! The paths of `lifecycle.ignoreChanges`, parsed by the parser that also validates them. Pure.

use kraken_options::Path;

/// The paths whose differences a resource ignores.
///
/// A path covers itself and everything below it: `tags` covers `tags.Team` and `tags["cost.center"]`. The index of a
/// list element may be given or omitted: `rules.port` covers `rules.0.port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    paths: Vec<Vec<String>>,
}

impl Ignored {
    /// Parses the paths. An invalid path ignores nothing; the spec is reported as invalid elsewhere.
    pub fn new(paths: &[String]) -> Self {
        Self { paths: paths.iter().filter_map(|path| segments(path)).collect() }
    }

    /// Whether nothing is ignored.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether a difference at this path, such as `tags.Team`, is ignored.
    pub fn covers(&self, path: &str) -> bool {
        let Some(path) = segments(path) else { return false };
        self.paths.iter().any(|ignored| is_prefix(ignored, &path))
    }
}

fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.parse::<Path>().ok()?;
    let segments = path.segments()?;
    Some(segments.into_iter().map(str::to_owned).collect())
}

/// Whether `ignored` equals `path` or one of its parents; indexes that `ignored` omits are skipped.
fn is_prefix(ignored: &[String], path: &[String]) -> bool {
    let (Some((first, rest)), Some((segment, below))) = (ignored.split_first(), path.split_first()) else {
        return ignored.is_empty();
    };
    let is_index = segment.bytes().all(|byte| byte.is_ascii_digit());
    (first == segment && is_prefix(rest, below)) || (is_index && is_prefix(ignored, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignoring(path: &str) -> Ignored {
        Ignored::new(&[path.to_owned()])
    }

    #[test]
    fn path_covers_itself_and_everything_below_it() {
        for (ignored, path) in [
            ("tags", "tags"),
            ("tags", "tags.Team"),
            ("tags", "tags[\"cost.center\"]"),
            ("healthCheck", "healthCheck.path"),
            ("subnetIDs", "subnetIDs[\"subnet-1\"]"),
        ] {
            assert!(ignoring(ignored).covers(path), "{ignored} {path}");
        }
        for (ignored, path) in
            [("tags", "tagsets"), ("tags.Team", "tags"), ("tags.Team", "tags.Tea"), ("a..b", "a")]
        {
            assert!(!ignoring(ignored).covers(path), "{ignored} {path}");
        }
    }

    #[test]
    fn path_notations_are_equivalent() {
        for ignored in ["tags[\"Team\"]", "tags['Team']", "tags.Team"] {
            assert!(ignoring(ignored).covers("tags.Team"), "{ignored}");
        }
        assert!(ignoring("tags.Team").covers("tags[\"Team\"]"));
    }

    #[test]
    fn index_of_a_list_element_is_optional() {
        for ignored in ["rules", "rules.0", "rules[0].port", "rules.port"] {
            assert!(ignoring(ignored).covers("rules.0.port"), "{ignored}");
        }
        assert!(!ignoring("rules.1.port").covers("rules.0.port"));
        assert!(!ignoring("rules.port").covers("rules.0.protocol"));
    }

    #[test]
    fn empty_list_covers_no_path() {
        assert!(Ignored::default().is_empty());
        assert!(!Ignored::default().covers("size"));
    }
}
