//! Finds the relations that words name with a whole cue. Pure.
//!
//! A question may mean every relation with a word of it, because the best fact wins. What is forgotten by mistake is lost. So a cue counts here
//! with all of its words: "where I work" does not mean "work with".

use std::collections::HashSet;

use recall_domain::{EntityType, Relation, ValueType};
use recall_text::terms;

/// Prepositions, which tell cues with one verb apart.
const PREPOSITIONS: &[&str] = &["about", "as", "at", "by", "for", "from", "in", "into", "of", "on", "to", "with"];
/// Those for which "where" stands.
const OF_PLACE: &[&str] = &["at", "from", "in", "on", "to"];
/// Words of cues that tell where somebody comes from. That is not where they live now.
const OF_ORIGIN: &[&str] = &["born", "from", "grow", "originally", "raised"];
/// Those for which "when" stands.
const OF_TIME: &[&str] = &["at", "in", "on"];

/// Which side of its fact a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedSide {
    /// "where I live", "my employer"
    Subject,
    /// "my boss", who manages me
    Object,
    /// "where Anna lives": the words do not tell.
    Either,
}

/// The words of a request.
#[derive(Debug)]
pub(super) struct RequestWords {
    words: HashSet<String>,
    terms: HashSet<String>,
}

impl RequestWords {
    pub(super) fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).filter(|word| !word.is_empty()).collect();
        Self { words, terms: terms(text).into_iter().map(|(term, _)| term).collect() }
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether the request has a word of a question: "who came to dinner".
    pub(super) fn asks(&self) -> bool {
        ["who", "whom", "where", "when", "which", "how", "why"].iter().any(|word| self.has(word))
    }

    /// Returns which side the request names of facts of a relation; `None` if it does not mean the relation.
    pub(super) fn side_of(&self, r: &Relation) -> Option<NamedSide> {
        if !self.asks_for_object_of(r) {
            return None;
        }
        let cues = &r.cues;
        let is_meant = |cue: &String| !r.value_types.is_empty() || !cue.split(' ').any(|word| OF_ORIGIN.contains(&word));
        let any = |lists: &[&Vec<String>]| lists.iter().copied().flatten().any(|cue| is_meant(cue) && self.has_cue(cue));
        // As written: the stem of "manager" is that of "manage".
        let has_noun = |nouns: &[String]| nouns.iter().any(|noun| noun.split(' ').all(|w| self.has(w) || self.has(&format!("{w}s"))));
        let (subject, object) = if r.symmetric { (NamedSide::Either, NamedSide::Either) } else { (NamedSide::Subject, NamedSide::Object) };
        // "Who I manage", and "who manages me"
        let of_verb = |as_subject, as_object| match (self.has("i"), self.has("me") || self.has("us")) {
            (true, _) => as_subject,
            (false, true) => as_object,
            (false, false) => NamedSide::Either,
        };
        if has_noun(&cues.inverse_nouns) {
            Some(object)
        } else if has_noun(&cues.nouns) {
            Some(subject)
        } else if any(&[&cues.inverse_verbs]) {
            Some(of_verb(object, subject))
        } else if any(&[&cues.verbs, &cues.adjectives, &cues.ending_verbs, &cues.questions]) || self.has_cue(&r.phrase) {
            Some(of_verb(subject, object))
        } else {
            None
        }
    }

    /// Whether the request means a measure of a relation that covers several. "My weight" has the label "weight", or none if it was told with the
    /// verb "weigh"; it never means the height.
    pub(super) fn means_measure(&self, r: &Relation, label: Option<&str>) -> bool {
        let is_told_by_verb = |noun: &str| r.cues.verbs.iter().any(|verb| noun.starts_with(verb.as_str()));
        match label {
            _ if !r.labels => true,
            Some(label) => {
                let mut words = label.split(' ');
                let is_asked_by_verb = || r.cues.verbs.iter().any(|verb| self.has(verb) && label.starts_with(verb.as_str()));
                words.all(|word| self.has(&word.to_lowercase())) || is_asked_by_verb()
            }
            None => self.words.iter().any(|word| is_told_by_verb(word)),
        }
    }

    /// Whether the object of a relation can be what the request asks for: a place is "where".
    fn asks_for_object_of(&self, r: &Relation) -> bool {
        let is_place = |t: &EntityType| matches!(t, EntityType::Place | EntityType::Organization);
        if self.has("where") {
            r.value_types.is_empty() && !r.object_types.is_empty() && r.object_types.iter().all(is_place)
        } else if self.has("when") {
            r.value_types.contains(&ValueType::Date)
        } else {
            true
        }
    }

    /// Whether the request has all words of a cue, apart from forms of "be" and articles.
    fn has_cue(&self, cue: &str) -> bool {
        let stands_for = |word: &str| self.has("where") && OF_PLACE.contains(&word) || self.has("when") && OF_TIME.contains(&word);
        let mut wanted = terms(cue).into_iter().peekable();
        wanted.peek().is_some()
            && wanted.all(|(term, _)| self.terms.contains(&term))
            && cue.split(' ').filter(|word| PREPOSITIONS.contains(word)).all(|word| self.has(word) || stands_for(word))
    }
}

#[cfg(test)]
mod tests {
    use recall_domain::Ontology;

    use super::*;

    #[test]
    fn request_means_the_relations_of_which_it_has_all_words() {
        let ontology = Ontology::parse(include_str!("../../../data/ontology.toml")).unwrap();
        let meant = |text: &str| {
            let words = RequestWords::of(text);
            ontology.iter().filter_map(|r| Some((r.name.as_str(), words.side_of(r)?))).collect::<Vec<_>>()
        };
        use NamedSide::{Either, Object, Subject};
        assert_eq!(meant("where I live"), [("LIVES_IN", Subject), ("LOCATED_IN", Subject)]);
        assert_eq!(meant("where Anna lives"), [("LIVES_IN", Either), ("LOCATED_IN", Either)]);
        assert_eq!(meant("where I work"), [("WORKS_FOR", Subject)]);
        assert_eq!(meant("who I manage"), [("MANAGES", Subject)]);
        assert_eq!(meant("my boss"), [("MANAGES", Object)]);
        assert_eq!(meant("when I was born"), [("BIRTHDAY", Subject)]);
        assert_eq!(meant("my work"), []);
        assert_eq!(meant("who manages me"), [("MANAGES", Object)]);
        assert!(!meant("where I was born").iter().any(|(relation, _)| *relation == "LIVES_IN"));
        let size = ontology.iter().find(|r| r.labels && r.cues.verbs.iter().any(|verb| verb == "weigh")).unwrap();
        for (text, label, expected) in [
            ("my weight", Some("weight"), true),
            ("my weight", Some("shoe size"), false),
            ("my weight", None, true),
            ("my height", None, false),
            ("what I weigh", Some("weight"), true),
            ("what I weigh", Some("height"), false),
        ] {
            assert_eq!(RequestWords::of(text).means_measure(size, label), expected, "{text} {label:?}");
        }
        assert!(!meant("where I come from").iter().any(|(relation, _)| *relation == "LIVES_IN"));
    }
}
