//! Sets of fields, as trees.

use std::cmp::Ordering;

use super::path::PathElement;

/// A set of paths into an object. Being in it says nothing about what is inside or around a field.
///
/// Both lists are sorted, and no child is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) members: Vec<PathElement>,
    pub(super) children: Vec<(PathElement, FieldSet)>,
}

impl FieldSet {
    /// The set of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A set of paths given by field names.
    #[must_use]
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Vec<PathElement> = path.iter().map(|name| PathElement::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path; the empty one is the object itself, which nobody owns.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.insert_member(last.clone()),
            [first, rest @ ..] => self.child_mut(first.clone()).insert(rest),
        }
    }

    /// Whether a path is in the set.
    #[must_use]
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.child(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.iter().all(|(_, child)| child.is_empty())
    }

    /// How many paths are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
            + self
                .children
                .iter()
                .map(|(_, child)| child.len())
                .sum::<usize>()
    }

    /// All paths, those that end here first.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::with_capacity(self.len());
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            paths.push(path);
        }
        for (element, child) in &self.children {
            prefix.push(element.clone());
            child.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// Paths in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let both =
            |a: &(PathElement, Self), b: &(PathElement, Self)| Some((a.0.clone(), a.1.union(&b.1)));
        Self {
            members: zip(
                &self.members,
                &other.members,
                Ord::cmp,
                |a, _| Some(a.clone()),
                true,
                true,
            ),
            children: zip(
                &self.children,
                &other.children,
                by_element,
                both,
                true,
                true,
            ),
        }
    }

    /// Paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = |a: &(PathElement, Self), b: &(PathElement, Self)| {
            let set = a.1.intersection(&b.1);
            (!set.is_empty()).then(|| (a.0.clone(), set))
        };
        Self {
            members: zip(
                &self.members,
                &other.members,
                Ord::cmp,
                |a, _| Some(a.clone()),
                false,
                false,
            ),
            children: zip(
                &self.children,
                &other.children,
                by_element,
                both,
                false,
                false,
            ),
        }
    }

    /// Paths in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let both = |a: &(PathElement, Self), b: &(PathElement, Self)| {
            let set = a.1.difference(&b.1);
            (!set.is_empty()).then(|| (a.0.clone(), set))
        };
        Self {
            members: zip(
                &self.members,
                &other.members,
                Ord::cmp,
                |_, _| None,
                true,
                false,
            ),
            children: zip(
                &self.children,
                &other.children,
                by_element,
                both,
                true,
                false,
            ),
        }
    }

    /// Paths in this set that are neither in the other nor inside one that is.
    #[must_use]
    pub fn difference_below(&self, other: &Self) -> Self {
        let mut left = Self {
            members: zip(
                &self.members,
                &other.members,
                Ord::cmp,
                |_, _| None,
                true,
                false,
            ),
            children: Vec::with_capacity(self.children.len()),
        };
        for (element, child) in &self.children {
            if other.has_member(element) {
                continue;
            }
            let child = match other.child(element) {
                Some(other) => child.difference_below(other),
                None => child.clone(),
            };
            if !child.is_empty() {
                left.children.push((element.clone(), child));
            }
        }
        left
    }

    pub(super) fn has_member(&self, element: &PathElement) -> bool {
        self.members.binary_search(element).is_ok()
    }

    pub(super) fn child(&self, element: &PathElement) -> Option<&Self> {
        let place = self
            .children
            .binary_search_by(|(known, _)| known.cmp(element))
            .ok()?;
        self.children.get(place).map(|(_, child)| child)
    }

    pub(super) fn insert_member(&mut self, element: PathElement) {
        // Walks mostly arrive in order, where this is a push.
        match self.members.last().map(|last| last.cmp(&element)) {
            None | Some(Ordering::Less) => self.members.push(element),
            Some(Ordering::Equal) => {}
            Some(Ordering::Greater) => {
                if let Err(place) = self.members.binary_search(&element) {
                    self.members.insert(place, element);
                }
            }
        }
    }

    /// Adds all of `child` below `element`.
    pub(super) fn insert_child(&mut self, element: PathElement, child: Self) {
        if child.is_empty() {
            return;
        }
        match self
            .children
            .binary_search_by(|(known, _)| known.cmp(&element))
        {
            Err(place) => self.children.insert(place, (element, child)),
            Ok(place) => {
                if let Some((_, known)) = self.children.get_mut(place) {
                    *known = known.union(&child);
                }
            }
        }
    }

    fn child_mut(&mut self, element: PathElement) -> &mut Self {
        let place = match self
            .children
            .binary_search_by(|(known, _)| known.cmp(&element))
        {
            Ok(place) => place,
            Err(place) => {
                self.children.insert(place, (element, Self::new()));
                place
            }
        };
        // Invariant: `place` was found or has just been filled.
        &mut self.children[place].1
    }
}

fn by_element(a: &(PathElement, FieldSet), b: &(PathElement, FieldSet)) -> Ordering {
    a.0.cmp(&b.0)
}

/// Walks two sorted lists at once: `both` decides about what is in both, the flags about what is in one.
fn zip<T: Clone>(
    left: &[T],
    right: &[T],
    order: impl Fn(&T, &T) -> Ordering,
    both: impl Fn(&T, &T) -> Option<T>,
    keep_left: bool,
    keep_right: bool,
) -> Vec<T> {
    let mut out = Vec::with_capacity(if keep_left { left.len() } else { 0 });
    let (mut lefts, mut rights) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (lefts.peek(), rights.peek()) {
            (None, None) => return out,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => order(a, b),
        };
        match next {
            Ordering::Less => out.extend(lefts.next().filter(|_| keep_left).cloned()),
            Ordering::Greater => out.extend(rights.next().filter(|_| keep_right).cloned()),
            Ordering::Equal => {
                if let (Some(a), Some(b)) = (lefts.next(), rights.next()) {
                    out.extend(both(a, b));
                }
            }
        }
    }
}
