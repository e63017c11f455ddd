//! Ranks the known entities that a queried name may mean, with the scores and reasons used for mentions. Pure.

use std::collections::HashSet;

use super::resolve::{KnownEntities, ResolvedEntities, Resolver, cues::Text, lookup_terms, roles::Role, round_score};
use recall_domain::{Entity, EntityId, EntityKey, EntityType, Mention, Span};

/// A queried name with its distinguishing words: "John from accounting", "my sister", "Anna's brother John".
pub struct NameQuery {
    text: Text,
    name: String,
    role: Option<String>,
    span: Span,
    wanted: Option<EntityType>,
}

/// A candidate entity with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateEntity {
    /// The entity.
    pub entity: Entity,
    /// 0 to 1.
    pub score: f64,
    /// The reason, for people.
    pub reason: String,
}

/// Score of an identical name. Scores are shown as fractions of it.
const SAME_NAME_SCORE: f64 = 0.9;
/// Factor for a candidate whose type is not the requested one.
const OTHER_TYPE_FACTOR: f64 = 0.5;

impl NameQuery {
    /// Parses a name as written.
    pub fn of(text: &str, wanted: Option<EntityType>) -> Self {
        let named = text.split(" from ").next().unwrap_or(text);
        let words: Vec<&str> = named.split_whitespace().collect();
        let lower = |w: &str| w.to_lowercase();
        let owner = |w: &str| matches!(lower(w).as_str(), "my" | "our" | "the" | "his" | "her" | "their" | "a" | "an");
        let possessed = words.iter().take(words.len().saturating_sub(1)).rposition(|w| w.ends_with("'s") || w.ends_with("’s"));
        let start = possessed.map_or_else(|| words.iter().take_while(|w| owner(w)).count(), |p| p + 1);
        let rest = words.get(start..).filter(|r| !r.is_empty()).unwrap_or(&words);
        let role = (1..rest.len().min(3)).rev().find(|n| Role::of(&rest[..*n].join(" ")).is_some());
        let (role, name) = match role {
            Some(n) => (Some(rest[..n].join(" ")), &rest[n..]),
            None => (None, rest),
        };
        let name = if possessed.is_some() && role.is_none() && Role::of(&name.join(" ")).is_none() {
            named.trim().to_owned()
        } else {
            name.join(" ")
        };
        // Position of the name in code points. White space may differ from the input.
        let start = name.split(' ').next().and_then(|first| text.rfind(first)).map_or(0, |at| text[..at].chars().count() as u32);
        let span = Span { start, end: start + name.chars().count() as u32 };
        Self { text: Text::of(text), name, role, span, wanted }
    }

    /// The name alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn mention(&self, entity_type: EntityType) -> [Mention; 1] {
        [Mention { name: self.name.clone(), entity_type, span: self.span, confidence: 1.0, description: self.role.clone() }]
    }

    /// Returns the keys and hints to look up.
    pub fn lookup_terms(&self) -> (Vec<EntityKey>, Vec<String>) {
        let (mut keys, mut hints) = lookup_terms(&self.mention(EntityType::Person));
        let (more, others) = lookup_terms(&self.mention(EntityType::Thing));
        keys.extend(more);
        hints.extend(others);
        (keys, hints)
    }

    /// Ranks all candidates, best first.
    pub fn rank(&self, known_entities: &KnownEntities) -> Vec<CandidateEntity> {
        let types: HashSet<EntityType> = known_entities
            .by_key
            .iter()
            .map(|(_, e)| e.entity_type)
            .chain(known_entities.by_hint.iter().map(|(_, e)| e.entity_type))
            .collect();
        let mut all = Vec::new();
        for t in types {
            let mentions = self.mention(t);
            // A query has no speaker.
            let resolver = Resolver::of(&self.text, &mentions, &[], known_entities, Some(None));
            let cues = self.text.cues(&mentions[0]);
            let resolved = ResolvedEntities::default();
            for c in resolver.candidates(0, &mentions[0], &cues, &resolved).into_iter().filter(|c| c.entity.entity_type == t) {
                let other = self.wanted.is_some_and(|w| w != t);
                let score = (c.score / SAME_NAME_SCORE).min(1.0) * if other { OTHER_TYPE_FACTOR } else { 1.0 };
                let reason = if other { format!("{}, of another type", c.reason) } else { c.reason.clone() };
                all.push(CandidateEntity { entity: c.entity.clone(), score: if score >= 1.0 { 1.0 } else { round_score(score) }, reason });
            }
        }
        let often = |l: &CandidateEntity| l.entity.mention_count;
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then(often(b).cmp(&often(a))).then_with(|| a.entity.id.cmp(&b.entity.id)));
        all
    }

    /// Returns the candidates for which recent mentions in a session matter.
    pub fn candidate_ids(known_entities: &KnownEntities) -> Vec<EntityId> {
        let mut ids: Vec<EntityId> =
            known_entities.by_key.iter().map(|(_, e)| e.id).chain(known_entities.by_hint.iter().map(|(_, e)| e.id)).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queried_names_are_split_into_role_and_name() {
        for (text, name, role) in [
            ("Mary", "Mary", None),
            ("my sister", "sister", None),
            ("my sister Anna", "Anna", Some("sister")),
            ("John from accounting", "John", None),
            ("Anna's brother", "brother", None),
            ("Anna's brother John", "John", Some("brother")),
            ("Lyon's Best Bread", "Lyon's Best Bread", None),
            ("the backend team", "backend team", None),
            ("the", "the", None),
            ("best friend Tom", "Tom", Some("best friend")),
        ] {
            let asked = NameQuery::of(text, None);
            assert_eq!((asked.name(), asked.role.as_deref()), (name, role), "{text}");
        }
    }
}
