//! Applies what a message says about names: aliases, renames and corrections. Pure.

use super::{
    message_entities::{MAX_ALIASES, MessageEntities},
    statement::Statement,
};
use recall_domain::{EntityKey, NameChange, Party};

/// Whether the message says that a mention is the speaker's own name.
pub(super) fn is_own_name(s: &Statement, mention: usize) -> bool {
    !s.is_impersonal && s.extraction.names.iter().any(|n| n.name == mention && n.of == Party::Speaker)
}

/// Returns the mentions that the message says to be the same entity as this one.
pub(super) fn partners(s: &Statement, mention: usize) -> impl Iterator<Item = usize> {
    s.extraction.names.iter().filter_map(move |n| match n.of {
        Party::Mention(of) if n.name == mention => Some(of),
        Party::Mention(of) if of == mention => Some(n.name),
        _ => None,
    })
}

impl MessageEntities {
    /// Gives entities the names that the message says they have now. The old name stays as an alias.
    pub(super) fn apply_stated_names(&mut self, s: &Statement) {
        let mentions = &s.extraction.mentions;
        for n in &s.extraction.names {
            let (Some(mention), Some(index)) = (mentions.get(n.name), self.mention_entities.get(n.name).copied()) else { continue };
            let (of, same) = match n.of {
                Party::Speaker => (None, is_own_name(s, n.name)),
                Party::Mention(of) => (mentions.get(of), self.mention_entities.get(of) == Some(&index)),
            };
            let Some(e) = self.entities.get_mut(index).filter(|_| same) else { continue };
            let name = match n.change {
                NameChange::Renamed | NameChange::Corrected => &mention.name,
                // A new entity is known by its full name, whichever the message mentions first.
                NameChange::Alias => match of.filter(|_| self.fresh.contains(&e.id)) {
                    Some(of) => &of.name,
                    None => continue,
                },
            };
            if EntityKey::of(name) == EntityKey::of(&e.name) {
                continue;
            }
            let old = std::mem::replace(&mut e.name, name.clone());
            e.aliases.retain(|a| EntityKey::of(a) != EntityKey::of(name));
            e.aliases.insert(0, old);
            e.aliases.truncate(MAX_ALIASES);
            self.renamed.insert(e.id);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::{KnownEntities, message_entities::MessageCues};
    use recall_domain::{Entity, EntityType, Extraction, Mention, MessageId, MessageKind, NameStatement, SessionId, Span, UserText};

    /// A message about people, each named where the text has the name first.
    fn statement(text: &str, people: &[&str], names: &[(usize, Party, NameChange)]) -> Statement {
        let mention = |name: &&str| {
            let start = text.find(name).map_or(0, |at| text[..at].chars().count() as u32);
            let span = Span { start, end: start + name.chars().count() as u32 };
            Mention { name: (*name).to_owned(), entity_type: EntityType::Person, span, confidence: 0.8, description: None }
        };
        let names = names.iter().map(|(name, of, change)| NameStatement { name: *name, of: *of, change: *change }).collect();
        Statement {
            message: MessageId(Uuid::nil()),
            session: SessionId(Uuid::nil()),
            at: DateTime::UNIX_EPOCH,
            text: UserText::from(text),
            speaker: None,
            is_impersonal: false,
            chunk_event: None,
            extraction: Extraction { mentions: people.iter().map(mention).collect(), names, ..Extraction::empty(MessageKind::Statement) },
        }
    }

    fn resolve(s: &Statement, known: &[Entity]) -> MessageEntities {
        let mut next = 100u128;
        let mut ids = || {
            next += 1;
            Uuid::from_u128(next)
        };
        let by_key = known.iter().filter(|e| !e.is_viewer).map(|e| (EntityKey::of(&e.name).unwrap(), e.clone())).collect();
        let viewer = known.iter().find(|e| e.is_viewer).cloned();
        let known = KnownEntities { viewer, by_key, ..KnownEntities::default() };
        MessageEntities::resolve(s, &MessageCues::of(s), &known, &mut ids, s.at)
    }

    /// Names and aliases of the entities of a message.
    fn called(e: &MessageEntities) -> Vec<(String, Vec<String>)> {
        e.entities.iter().map(|e| (e.name.clone(), e.aliases.clone())).collect()
    }

    #[test]
    fn new_entity_has_its_full_name_and_an_alias() {
        use NameChange::Alias;
        let expected = [("Ottoline Pryce".to_owned(), vec!["Otti".to_owned()])];
        let s = statement("Ottoline Pryce is Otti to us.", &["Ottoline Pryce", "Otti"], &[(1, Party::Mention(0), Alias)]);
        assert_eq!(called(&resolve(&s, &[])), expected);
        let s = statement("Otti is Ottoline Pryce.", &["Otti", "Ottoline Pryce"], &[(0, Party::Mention(1), Alias)]);
        assert_eq!(called(&resolve(&s, &[])), expected);
        // Without the statement they are two.
        let s = statement("Otti met Ottoline Pryce.", &["Otti", "Ottoline Pryce"], &[]);
        assert_eq!(resolve(&s, &[]).entities.len(), 2);
    }

    #[test]
    fn renamed_or_corrected_entity_keeps_the_old_name_as_alias() {
        for change in [NameChange::Renamed, NameChange::Corrected] {
            let first = resolve(&statement("Dr. Okada", &["Okada"], &[]), &[]).entities;
            for (text, people, of) in [("It's Aoki, not Okada.", ["Aoki", "Okada"], 0), ("Not Okada but Aoki.", ["Okada", "Aoki"], 1)] {
                let s = statement(text, &people, &[(of, Party::Mention(1 - of), change)]);
                let found = resolve(&s, &first);
                assert_eq!(called(&found), [("Aoki".to_owned(), vec!["Okada".to_owned()])], "{text}");
                assert_eq!((found.entities[0].id, found.renamed.len(), found.fresh.len()), (first[0].id, 1, 0));
                assert!(found.keys.iter().any(|(_, key)| Some(key) == EntityKey::of("Aoki").as_ref()), "{text}");
            }
        }
    }

    #[test]
    fn name_of_the_speaker_belongs_to_the_user() {
        let s = statement("They know me as Wes.", &["Wes"], &[(0, Party::Speaker, NameChange::Alias)]);
        let found = resolve(&s, &[]);
        assert_eq!((called(&found), found.entities[0].is_viewer), (vec![("Wes".to_owned(), vec![])], true));
        let s = Statement { is_impersonal: true, ..s };
        assert!(!resolve(&s, &[]).entities[0].is_viewer);
    }
}
