//! Objects that are chosen by what they are, and not by their names.

use crate::failure::Failure;
use crate::manifests::{Manifest, selector};
use crate::reading::Wanted;

/// How objects are chosen.
pub(super) struct Choice<'a> {
    selector: &'a str,
    field_selector: &'a str,
    all: bool,
}

impl<'a> Choice<'a> {
    /// Those with these labels and fields, both empty for any; or all there are.
    pub(super) fn new(selector: &'a str, field_selector: &'a str, all: bool) -> Self {
        Self {
            selector,
            field_selector,
            all,
        }
    }

    /// Refuses names beside a choice: whoever gives both may mean either, and one of them is more than was meant.
    pub(super) fn check_names(&self, wanted: &Wanted) -> Result<(), Failure> {
        let is_made = self.all || !self.selector.is_empty() || !self.field_selector.is_empty();
        match is_made && !wanted.names.is_empty() {
            true => Err(Failure::refused(
                "name cannot be provided when a selector is specified",
                "leave the name out, or -l, --field-selector and --all",
            )),
            false => Ok(()),
        }
    }

    /// Those of a file's objects that are chosen.
    pub(super) fn of_manifests<'m>(
        &self,
        all: &'m [Manifest],
    ) -> Result<Vec<&'m Manifest>, Failure> {
        if !all.is_empty() && !self.field_selector.is_empty() {
            return Err(Failure::refused(
                "the objects of a file cannot be chosen by their fields",
                "leave --field-selector out, or choose them with -l",
            ));
        }
        let wanted = selector(self.selector)?;
        let is_chosen = |manifest: &&Manifest| wanted.matches(|key| manifest.object.label(key));
        Ok(all.iter().filter(is_chosen).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading;

    #[test]
    fn names_and_choices_are_not_mixed() {
        let words = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            reading::read_words(&words).unwrap().remove(0)
        };
        for (text, choice, is_fine) in [
            ("cm a", Choice::new("", "", false), true),
            ("cm", Choice::new("a=b", "", false), true),
            ("cm", Choice::new("", "", true), true),
            ("cm a", Choice::new("a=b", "", false), false),
            ("cm/a", Choice::new("", "metadata.name=b", false), false),
            ("cm a", Choice::new("", "", true), false),
        ] {
            assert_eq!(choice.check_names(&words(text)).is_ok(), is_fine, "{text}");
        }
    }

    #[test]
    fn of_a_file_only_what_is_chosen_counts() {
        let file = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {keep: 'yes'}}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {keep: 'no'}}}";
        let all = Manifest::parse("file", file).unwrap();
        let names = |selector: &str| -> Vec<String> {
            let chosen = Choice::new(selector, "", false).of_manifests(&all).unwrap();
            let names = chosen
                .iter()
                .map(|manifest| manifest.object.name().to_owned());
            names.collect()
        };
        assert_eq!(names(""), ["a", "b"]);
        assert_eq!(names("keep=no"), ["b"]);
        assert!(names("keep=never").is_empty());
        assert!(Choice::new("=", "", false).of_manifests(&all).is_err());
        assert!(
            Choice::new("", "metadata.name=a", false)
                .of_manifests(&all)
                .is_err()
        );
    }
}
