//! What an edit or a deletion does to remote objects, as admission announces it in a warning. Tools read the warnings: each begins
//! with the words of its effect.

/// An effect. The order is that of their weight: what a person must see comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Remote objects are replaced.
    Replaces,
    /// Remote objects are deleted.
    Deletes,
    /// Remote objects are stopped and started again.
    Stops,
    /// Nothing can be adopted as the spec says.
    CannotAdopt,
    /// The field cannot be changed, and `lifecycle.replace` forbids a replacement: the resource will not be ready.
    CannotChange,
    /// Something else is required first, such as `lifecycle.disruption: Allow`.
    Waits,
    /// Remote objects that are missing in the cloud are created again, so that the id is another one.
    Recreates,
    /// Remote objects are created in addition.
    Creates,
    /// A remote object is adopted.
    Adopts,
    /// Fields are changed in place.
    Changes,
    /// Fields that differ in the cloud, and that the request does not edit, are changed in place.
    Corrects,
    /// The change is made when an object is stopped for another reason.
    IsApplied,
    /// Nothing is changed, because the resource is paused.
    ChangesNothing,
    /// Remote objects are kept although their resource is deleted.
    Keeps,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 14] = [
        Self::Replaces,
        Self::Deletes,
        Self::Stops,
        Self::CannotAdopt,
        Self::CannotChange,
        Self::Waits,
        Self::Recreates,
        Self::Creates,
        Self::Adopts,
        Self::Changes,
        Self::Corrects,
        Self::IsApplied,
        Self::ChangesNothing,
        Self::Keeps,
    ];

    /// The words with which the warning begins, after the object.
    pub fn words(self) -> &'static str {
        match self {
            Self::Replaces => "replaces",
            Self::Deletes => "deletes",
            Self::Stops => "stops and starts",
            Self::CannotAdopt => "cannot adopt",
            Self::CannotChange => "cannot change",
            Self::Waits => "waits for",
            Self::Recreates => "recreates",
            Self::Creates => "creates",
            Self::Adopts => "adopts",
            Self::Changes => "changes",
            Self::Corrects => "corrects",
            Self::IsApplied => "is applied when",
            Self::ChangesNothing => "changes nothing",
            Self::Keeps => "keeps",
        }
    }

    /// Whether it follows from what exists in the cloud, and not from an edit.
    pub fn is_observed(self) -> bool {
        matches!(self, Self::Recreates | Self::Corrects | Self::Adopts | Self::CannotAdopt)
    }

    /// The effect that a warning announces, without its object; `None` for another warning.
    pub fn of(warning: &str) -> Option<Self> {
        let begins = |effect: &Self| {
            let rest = warning.strip_prefix(effect.words());
            rest.is_some_and(|rest| rest.starts_with(' '))
        };
        // The longest words decide: "changes nothing" is not "changes".
        Self::ALL.into_iter().filter(begins).max_by_key(|effect| effect.words().len())
    }
}

/// What the warning of a dry run says, followed by the reason, if nothing is known of what exists in the cloud.
pub const NOT_COMPARED: &str = "is not compared with the cloud: ";
/// The beginning of that reason if the provider takes too long.
pub const NO_ANSWER: &str = "it did not answer";

/// The characters of a value that a warning shows.
const MAX_SHOWN: usize = 48;

/// A value as a warning shows it: a long one is cut. What tells one ARN from another is at its end. Once cut, it stays as it is.
pub fn shortened(value: &str) -> String {
    let (count, left) = (value.chars().count(), MAX_SHOWN - 1);
    if count <= MAX_SHOWN {
        value.to_owned()
    } else if value.starts_with("arn:") {
        format!("…{}", value.chars().skip(count - left).collect::<String>())
    } else {
        format!("{}…", value.chars().take(left).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_read_by_its_first_words() {
        for effect in Effect::ALL {
            assert_eq!(Effect::of(&format!("{} vpc-1", effect.words())), Some(effect));
        }
        for other in ["spec.a: is bad", "changesets", ""] {
            assert_eq!(Effect::of(other), None);
        }
    }

    #[test]
    fn a_long_value_is_cut_and_an_arn_keeps_its_end() {
        assert_eq!(shortened(&"é".repeat(48)), "é".repeat(48));
        assert_eq!(shortened(&"é".repeat(49)), format!("{}…", "é".repeat(47)));
        let arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/73e2d6bc24d8a067";
        let cut = "…1:123456789012:targetgroup/web/73e2d6bc24d8a067";
        assert_eq!((&*shortened(arn), &*shortened(cut)), (cut, cut));
    }
}
