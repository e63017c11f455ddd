//! Merges two mentions of one person, a role and a name: "my manager Dave" is Dave, a manager.

use super::candidates::{sort_by_position, states_same};
use crate::text_search::{DETERMINERS, SearchableText};
use recall_domain::{CandidateFact, EntityType, Extraction, Mention, Party};

const ARTICLES: [&str; 3] = ["the", "a", "an"];

/// Merges each role with its appositive name.
///
/// It does not merge if several names are in apposition, or if a fact connects the two ("my manager Dave fired" may be
/// about two persons).
pub(super) fn merge_appositions(text: &SearchableText, extraction: Extraction) -> Extraction {
    let Extraction { kind, mut mentions, mut facts, names: mut statements, .. } = extraction;
    let mut removed = Vec::new();
    for role in 0..mentions.len() {
        let names: Vec<usize> = (0..mentions.len()).filter(|&name| is_apposition(text, &mentions, role, name)).collect();
        let &[name] = names.as_slice() else { continue };
        let (role_party, name_party) = (Party::Mention(role), Party::Mention(name));
        if facts.iter().any(|f| [f.subject, f.object].contains(&role_party) && [f.subject, f.object].contains(&name_party)) {
            continue;
        }
        let said = mentions.get(role).map(|m| m.name.to_lowercase());
        if let Some(named) = mentions.get_mut(name)
            && named.description.is_none()
        {
            named.description = said;
        }
        let moved = |p: Party| if p == role_party { name_party } else { p };
        for f in &mut facts {
            (f.subject, f.object) = (moved(f.subject), moved(f.object));
        }
        statements = statements.into_iter().filter_map(|n| n.moved(|p| Some(moved(p)))).collect();
        removed.push(role);
    }
    if removed.is_empty() {
        return Extraction { mentions, facts, names: statements, ..Extraction::empty(kind) };
    }
    // From the last to the first, so that the indexes before stay valid.
    for &role in removed.iter().rev() {
        mentions.remove(role);
        let moved = |p: Party| match p {
            Party::Mention(i) if i > role => Party::Mention(i - 1),
            p => p,
        };
        for f in &mut facts {
            (f.subject, f.object) = (moved(f.subject), moved(f.object));
        }
        statements = statements.into_iter().filter_map(|n| n.moved(|p| Some(moved(p)))).collect();
    }
    let mut once: Vec<CandidateFact> = Vec::new();
    for f in facts {
        if !once.iter().any(|g| states_same(g, &f)) {
            once.push(f);
        }
    }
    sort_by_position(Extraction { mentions, facts: once, names: statements, ..Extraction::empty(kind) })
}

/// Whether one mention is a role in apposition to the name of the other.
///
/// Examples: "her brother Tom", "Anna's brother Tom", "Tom, my brother", "Tom, the plumber". A role is a person in lower
/// case. Before a name it needs a possessor: "the plumber Tom recommended" is not Tom.
fn is_apposition(text: &SearchableText, mentions: &[Mention], role: usize, name: usize) -> bool {
    let (Some(role), Some(name)) = (mentions.get(role), mentions.get(name)) else { return false };
    let person = |m: &Mention| m.entity_type == EntityType::Person;
    if !person(role) || !person(name) || role.name.chars().any(char::is_uppercase) || !name.name.starts_with(char::is_uppercase) {
        return false;
    }
    let of_somebody = |w: &str| (DETERMINERS.contains(&w) && !ARTICLES.contains(&w)) || w.ends_with("'s") || w.ends_with("s'");
    let before = |start: u32| text.word_before(start).is_some_and(|w| of_somebody(&w));
    let role_first = [" ", ", "].iter().any(|gap| text.find(&format!("{}{gap}{}", role.name, name.name)).is_some_and(|s| before(s.start)));
    role_first || DETERMINERS.iter().any(|whose| text.find(&format!("{}, {whose} {}", name.name, role.name)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_domain::{MessageKind, Polarity};

    /// Returns the mentions with descriptions, and the facts, after merging.
    fn united(text: &str, people: &[&str], facts: &[(&str, &str, &str)]) -> (Vec<String>, Vec<String>) {
        let located = SearchableText::new(text);
        let mention = |name: &&str| Mention {
            name: (*name).to_owned(),
            entity_type: EntityType::Person,
            span: located.find(name).unwrap(),
            confidence: 0.8,
            description: None,
        };
        let party = |n: &str| people.iter().position(|p| *p == n).map_or(Party::Speaker, Party::Mention);
        let fact = |(s, r, o): &(&str, &str, &str)| CandidateFact {
            subject: party(s),
            relation: (*r).to_owned(),
            object: party(o),
            value: None,
            polarity: Polarity::Affirmed,
            confidence: 0.8,
            span: located.find(people[0]).unwrap(),
        };
        let (mentions, facts) = (people.iter().map(mention).collect(), facts.iter().map(fact).collect());
        let before = sort_by_position(Extraction { mentions, facts, ..Extraction::empty(MessageKind::Statement) });
        let e = merge_appositions(&located, before);
        let name = |p: Party| if let Party::Mention(i) = p { e.mentions[i].name.clone() } else { "I".to_owned() };
        let fact_lines = e.facts.iter().map(|f| format!("{} {} {}", name(f.subject), f.relation, name(f.object))).collect();
        (e.mentions.iter().map(|m| format!("{} {}", m.name, m.description.as_deref().unwrap_or("-"))).collect(), fact_lines)
    }

    #[test]
    fn role_in_apposition_describes_the_named_person() {
        for (text, people, expected) in [
            ("My manager Dave likes chess.", &["manager", "Dave"][..], &["Dave manager"][..]),
            ("My  little sister,\nMaren Voss, called.", &["little sister", "Maren Voss"], &["Maren Voss little sister"]),
            (
                "Dave, our manager, called Anna’s brother Tom.",
                &["manager", "Dave", "Anna", "brother", "Tom"],
                &["Dave manager", "Anna -", "Tom brother"],
            ),
            ("Dave, the manager, left.", &["Dave", "manager"], &["Dave manager"]),
            // Without a possessor: two persons, or no apposition.
            ("The manager Dave hired is my friend.", &["manager", "Dave", "friend"], &["manager -", "Dave -", "friend -"]),
            ("I saw manager Dave.", &["manager", "Dave"], &["manager -", "Dave -"]),
            ("My manager and Dave left.", &["manager", "Dave"], &["manager -", "Dave -"]),
            ("I asked my manager. Dave left.", &["manager", "Dave"], &["manager -", "Dave -"]),
            // Ambiguous: two names.
            ("My friend Ann and my friend Bob.", &["friend", "Ann", "Bob"], &["friend -", "Ann -", "Bob -"]),
        ] {
            assert_eq!(united(text, people, &[]).0, expected, "{text}");
        }
    }

    #[test]
    fn facts_about_the_role_move_to_the_person() {
        let facts = [("manager", "LIKES", "Ann"), ("Dave", "LIKES", "Ann"), ("I", "WORKS_WITH", "manager")];
        let (people, fact_lines) = united("My manager Dave likes Ann.", &["manager", "Dave", "Ann"], &facts);
        assert_eq!(
            (people, fact_lines),
            (vec!["Dave manager".to_owned(), "Ann -".to_owned()], vec!["Dave LIKES Ann".to_owned(), "I WORKS_WITH Dave".to_owned()])
        );
        // A fact between the two means two persons.
        let (people, _) = united("I know my manager Dave replaced.", &["manager", "Dave"], &[("Dave", "KNOWS", "manager")]);
        assert_eq!(people.len(), 2);
    }
}
