//! Whether a message is about what a question names.

use std::collections::HashSet;

use super::{
    exclusion::is_passed_over,
    lexicon::{is_function_word, is_person_noun},
    names::NameMention,
    quotes::QuoteFinder,
    words::{Word, is_first_person, is_we, same_noun, words},
};
use recall_domain::{Entity, EntityType, Message, context::SHARED_SPEAKER};

impl QuoteFinder<'_> {
    /// Whether the message is by or about each entity that the question names, or if `with_descriptions` is false, each with a proper name.
    ///
    /// "I" is the caller, whose messages have no speaker.
    pub(super) fn is_about(&self, message: &Message, addressee: Option<&str>, with_descriptions: bool) -> bool {
        let question = self.question;
        let text = words(message.text.as_str());
        let said: HashSet<String> = text.iter().map(|w| w.plain.clone()).collect();
        let mut by: Vec<String> = message.speaker.iter().flat_map(|s| words(s)).map(|w| w.plain).collect();
        if said.contains("you") || said.contains("your") {
            by.extend(addressee.into_iter().flat_map(words).map(|w| w.plain));
        }
        // A proper name of an unknown entity must be present as well.
        let stranger = |i: usize, w: &Word| w.proper && !question.in_name(i) && !question.in_period(i) && !is_function_word(w);
        let mut strangers = question.words.iter().enumerate().filter(|(i, w)| stranger(*i, w));
        let is_absent = |w: &Word| !said.iter().any(|s| same_noun(s, &w.plain)) && !by.contains(&w.plain);
        if strangers.any(|(_, w)| is_absent(w) || is_passed_over(&text, w)) {
            return false;
        }
        question.named.iter().all(|named| {
            let word = &question.words[named.start];
            if is_first_person(&word.plain) {
                return message.speaker.is_none()
                    || (is_we(&word.plain) && message.speaker.as_deref() == Some(SHARED_SPEAKER))
                    || self.entities.iter().any(|e| e.is_viewer && message.speaker.as_deref() == Some(&e.name));
            }
            let own = &question.words[named.start..named.end];
            // In "the Osprey launch", only the proper name identifies the entity.
            let proper = own.iter().any(|w| w.capital);
            if !proper && !with_descriptions {
                return true;
            }
            // "Callum" alone may be another Callum.
            let is_shared = |w: &Word| own.len() > 1 && self.is_shared_name(named, w);
            let telling = own.iter().filter(|w| (w.capital || !proper) && !is_shared(w));
            let is_said = |word: &str| said.iter().any(|s| same_noun(s, word)) || by.iter().any(|b| b == word);
            (telling.into_iter().any(|w| is_said(&w.plain)) || self.other_names(named).any(|name| name.iter().all(|w| is_said(&w.plain))))
                && !own.iter().filter(|w| w.capital).any(|w| is_passed_over(&text, w))
        })
    }

    /// Returns the words of the other names of a named entity: a message may use one of them.
    pub(super) fn other_names(&self, named: &NameMention) -> impl Iterator<Item = Vec<Word>> {
        let own = self.entities.iter().filter(move |e| named.entities.len() == 1 && named.entities.contains(&e.id));
        own.flat_map(|e| std::iter::once(&e.name).chain(&e.aliases)).map(|name| words(name)).filter(|name| !name.is_empty())
    }

    /// Whether a word of the question is the name of a person, also without a capital. "Dad" is a role, and its word is content.
    pub(super) fn names_person(&self, position: usize) -> bool {
        let named = self.question.named.iter().find(|n| (n.start..n.end).contains(&position));
        let is_person = |e: &Entity| e.entity_type == EntityType::Person && !e.is_viewer;
        let is_word_of_role = self.question.words.get(position).is_none_or(|w| is_person_noun(&w.plain));
        !is_word_of_role && named.is_some_and(|n| self.entities.iter().any(|e| n.entities.contains(&e.id) && is_person(e)))
    }

    /// Whether a word is also the first name of another entity.
    fn is_shared_name(&self, named: &NameMention, word: &Word) -> bool {
        let others = self.entities.iter().filter(|e| !named.entities.contains(&e.id));
        let mut names = others.flat_map(|e| std::iter::once(&e.name).chain(&e.aliases));
        names.any(|name| words(name).first().is_some_and(|first| first.plain == word.plain))
    }
}
