//! Roles of people ("sister", "boss") and which of them exclude each other. Pure; the list is data.

use std::{collections::HashMap, sync::OnceLock};

use recall_domain::FirstPerson;

const ROLES: &str = include_str!("../../../../data/lexicon/roles.txt");

/// The kind of a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RoleClass {
    Kin,
    Partner,
    Former,
    Lead,
    Staff,
    Peer,
    Social,
    Service,
}

/// How many people can have the role for one person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HolderCount {
    One,
    Some,
    Many,
}

impl HolderCount {
    /// Returns the value for this number of holders.
    pub(crate) fn of(self, one: f64, some: f64, many: f64) -> f64 {
        match self {
            Self::One => one,
            Self::Some => some,
            Self::Many => many,
        }
    }
}

/// One role, independent of the word used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Role {
    /// Its most common word.
    pub(crate) name: &'static str,
    pub(crate) class: RoleClass,
    pub(crate) holders: HolderCount,
}

struct List {
    by_word: HashMap<&'static str, Role>,
}

fn list() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut by_word = HashMap::new();
        for line in ROLES.lines().filter(|l| !l.starts_with('#')) {
            let Some((head, words)) = line.split_once(": ") else { continue };
            let mut head = head.split(' ');
            let class = match head.next() {
                Some("kin") => RoleClass::Kin,
                Some("partner") => RoleClass::Partner,
                Some("former") => RoleClass::Former,
                Some("lead") => RoleClass::Lead,
                Some("staff") => RoleClass::Staff,
                Some("peer") => RoleClass::Peer,
                Some("social") => RoleClass::Social,
                Some("service") => RoleClass::Service,
                _ => continue,
            };
            let holders = match head.next() {
                Some("one") => HolderCount::One,
                Some("some") => HolderCount::Some,
                _ => HolderCount::Many,
            };
            let words: Vec<&str> = words.split(", ").collect();
            let Some(name) = words.first().copied() else { continue };
            by_word.extend(words.iter().map(|w| (*w, Role { name, class, holders })));
        }
        List { by_word }
    })
}

impl Role {
    /// Returns the role that a word names.
    pub(crate) fn of(word: &str) -> Option<Self> {
        list().by_word.get(word.to_lowercase().as_str()).copied()
    }

    /// Returns every word for this role.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        list().by_word.iter().filter(move |(_, r)| r.name == self.name).map(|(w, _)| *w)
    }

    /// Whether people say the word alone, like a name: in "I told mum Anna is late", mum is not Anna.
    pub(crate) fn is_used_as_name(self) -> bool {
        matches!(self.name, "mother" | "father" | "grandmother" | "grandfather")
    }

    /// Whether one person is unlikely to have both roles: a brother is not the dentist, but a friend may be a neighbour.
    pub(crate) fn excludes(self, other: Self) -> bool {
        use RoleClass as C;
        let changing = |c| matches!(c, C::Partner | C::Former);
        let about_work = |c| matches!(c, C::Lead | C::Staff | C::Peer);
        let met = |c| matches!(c, C::Peer | C::Social | C::Partner | C::Former);
        if self.name == other.name || (changing(self.class) && changing(other.class)) {
            return false;
        }
        // Colleagues may be promoted.
        if about_work(self.class) && about_work(other.class) {
            return false;
        }
        !(met(self.class) && met(other.class))
    }
}

/// Whether the words after a name give a further role to a known person: "is also my boss", "is my colleague too".
pub(crate) fn is_added(after: &[String]) -> bool {
    let next = |i: usize| after.get(i).map_or("", String::as_str);
    let is_copula = matches!(next(0), "is" | "was" | "'s");
    let is_role = |i: usize| Role::of(next(i)).is_some();
    let is_owned = |i: usize| FirstPerson::is_determiner(next(i)) && is_role(i + 1);
    let is_too = |i: usize| next(i) == "too" || next(i) == "also" || next(i) == "as" && next(i + 1) == "well";
    is_copula && (next(1) == "also" && is_owned(2) || is_owned(1) && is_too(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(word: &str) -> Role {
        Role::of(word).unwrap_or_else(|| panic!("{word}"))
    }

    #[test]
    fn synonyms_name_the_same_role() {
        for (a, b) in [("mom", "Mother"), ("boss", "manager"), ("coworker", "colleague"), ("flatmate", "roommate")] {
            assert_eq!(role(a), role(b));
        }
        assert!(role("mom").words().any(|w| w == "mum"));
        assert_eq!(Role::of("sushi"), None);
    }

    #[test]
    fn incompatible_roles_exclude_each_other() {
        for (a, b, excluded) in [
            ("brother", "boss", true),
            ("brother", "father", true),
            ("brother", "friend", true),
            ("dentist", "landlord", true),
            ("dentist", "cousin", true),
            ("friend", "neighbour", false),
            ("friend", "colleague", false),
            ("colleague", "boss", false),
            ("girlfriend", "wife", false),
            ("mom", "mother", false),
        ] {
            assert_eq!(role(a).excludes(role(b)), excluded, "{a} and {b}");
            assert_eq!(role(b).excludes(role(a)), excluded, "{b} and {a}");
        }
    }
}
