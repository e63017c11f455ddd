//! Tests the resolution of mentions: one test per reason, and independence of order.

use proptest::prelude::*;
use strum::VariantNames;
use uuid::Uuid;

use super::{KnownEntities, ResolvedEntities, ResolvedMention, Resolver, cues::Text, lookup_terms};
use recall_domain::{Entity, EntityId, EntityKey, EntityType, Mention, Span, Word};

fn entity(name: &str, entity_type: EntityType, n: u128) -> Entity {
    let at = chrono::DateTime::UNIX_EPOCH;
    Entity {
        id: EntityId(Uuid::from_u128(n)),
        name: name.into(),
        entity_type,
        aliases: vec![],
        description: None,
        mention_count: 1,
        confidence: 1.0,
        is_viewer: false,
        first_message: None,
        created_at: at,
        updated_at: at,
    }
}

fn described(name: &str, description: &str, n: u128) -> Entity {
    Entity { description: Some(description.into()), ..entity(name, EntityType::Person, n) }
}

/// Builds the stored entities as a store would return them.
fn known_entities(entities: &[Entity]) -> KnownEntities {
    let mut known_entities = KnownEntities::default();
    for e in entities {
        for name in std::iter::once(&e.name).chain(&e.aliases) {
            known_entities.by_key.extend(EntityKey::of(name).map(|k| (k, e.clone())));
            known_entities.by_hint.extend(super::names::hints(name, e.entity_type).into_iter().map(|h| (h, e.clone())));
        }
        if let Some(role) = super::cues::NameCues::from_description(e.description.as_deref()).own_role() {
            known_entities.by_key.extend(EntityKey::of(role.name).map(|k| (k, e.clone())));
            known_entities.by_hint.push((super::role_hint(role), e.clone()));
        }
    }
    known_entities
}

fn mention(text: &str, name: &str, entity_type: EntityType, confidence: f64, description: Option<&str>) -> Mention {
    let start = text[..text.find(name).unwrap_or_else(|| panic!("{name}"))].chars().count() as u32;
    let span = Span { start, end: start + name.chars().count() as u32 };
    Mention { name: name.into(), entity_type, span, confidence, description: description.map(Into::into) }
}

fn choose(text: &str, m: Mention, known_entities: &KnownEntities) -> (Option<EntityId>, f64, String) {
    let (text, mentions) = (Text::of(text), [m]);
    let resolver = Resolver::of(&text, &mentions, &[], known_entities, None);
    let cues = text.cues(&mentions[0]);
    let resolved = ResolvedEntities::default();
    let ResolvedMention { entity, decision } = resolver.resolve(0, &cues, &resolved);
    (entity.map(|e| e.id), decision.score, decision.reason)
}

fn person(text: &str, name: &str, description: Option<&str>, known_entities: &KnownEntities) -> Option<u128> {
    choose(text, mention(text, name, EntityType::Person, 1.0, description), known_entities).0.map(|id| id.0.as_u128())
}

#[test]
fn same_name_and_type_is_the_same_entity() {
    let known = known_entities(&[entity("Phoenix", EntityType::Place, 1), entity("Phoenix", EntityType::Project, 2)]);
    let text = "project phoenix grows";
    let found = choose(text, mention(text, "project phoenix", EntityType::Project, 1.0, None), &known);
    assert_eq!(found.0, Some(EntityId(Uuid::from_u128(2))));
}

#[test]
fn confident_mention_of_distant_type_is_a_new_entity() {
    let known = known_entities(&[entity("Jordan", EntityType::Person, 1)]);
    let found = |confidence| choose("Jordan", mention("Jordan", "Jordan", EntityType::Place, confidence, None), &known).0;
    assert_eq!(found(0.9), None);
    assert!(found(0.6).is_some());
}

#[test]
fn close_types_match_unless_several_entities_fit() {
    let found = |known: &[Entity]| choose("chess", mention("chess", "chess", EntityType::Thing, 1.0, None), &known_entities(known)).0;
    assert!(found(&[entity("chess", EntityType::Concept, 1)]).is_some());
    assert_eq!(found(&[entity("chess", EntityType::Concept, 1), entity("chess", EntityType::Project, 2)]), None);
}

#[test]
fn incompatible_roles_are_two_people() {
    let known = known_entities(&[described("John", "brother", 1)]);
    assert_eq!(person("My boss John called.", "John", Some("boss"), &known), None);
    assert_eq!(person("My brother John called.", "John", Some("brother"), &known), Some(1));
    assert_eq!(person("Anna's brother John called.", "John", Some("brother"), &known), None);
    assert_eq!(person("John from accounting called.", "John", None, &known), None);
    assert_eq!(person("John called.", "John", None, &known), Some(1));
}

#[test]
fn further_role_is_of_the_known_person() {
    let known = known_entities(&[described("Tom", "brother", 1)]);
    for (text, expected) in [
        ("My colleague Tom is allergic to nuts.", None),
        ("Tom is my colleague too.", Some(1)),
        ("Tom is also my colleague.", Some(1)),
        ("Tom is my colleague as well.", Some(1)),
    ] {
        assert_eq!(person(text, "Tom", None, &known), expected, "{text}");
    }
}

#[test]
fn cue_or_recent_mention_decides_between_two() {
    let mut known = known_entities(&[described("John", "brother", 1), described("John", "from accounting", 2)]);
    assert_eq!(person("John from accounting called.", "John", None, &known), Some(2));
    assert_eq!(person("John called.", "John", None, &known), None);
    known.recent = vec![EntityId(Uuid::from_u128(2)), EntityId(Uuid::from_u128(1))];
    assert_eq!(person("John called.", "John", None, &known), Some(2));
    assert_eq!(person("The other John called.", "John", None, &known), Some(1));
    assert_eq!(person("A different John called.", "John", None, &known), None);
}

#[test]
fn full_name_with_another_family_name_is_another_person() {
    let mut known = entity("Martin Iliev", EntityType::Person, 1);
    known.aliases = vec!["Martin".into()];
    let mut known = known_entities(&[known]);
    known.recent = vec![EntityId(Uuid::from_u128(1))];
    for (text, name, expected) in [
        ("Martin called.", "Martin", Some(1)),
        ("Martin Iliev called.", "Martin Iliev", Some(1)),
        ("Martin I called.", "Martin I", Some(1)),
        ("Martin Dushkov called.", "Martin Dushkov", None),
        ("Martin D called.", "Martin D", None),
        ("The trainer is also a Martin.", "Martin", None),
    ] {
        assert_eq!(person(text, name, None, &known), expected, "{text}");
    }
}

#[test]
fn word_before_a_name_says_which_one() {
    let known = known_entities(&[described("Max", "coach", 1), described("Max", "Theo's friend", 2)]);
    assert_eq!(person("I met coach Max there.", "Max", None, &known), Some(1));
    assert_eq!(person("I met trainer Max there.", "Max", None, &known), Some(1));
    assert_eq!(person("I met Max there.", "Max", None, &known), None);
    let known = known_entities(&[described("Marco", "butcher", 1), entity("Marco", EntityType::Person, 2)]);
    assert_eq!(person("I live next to butcher Marco.", "Marco", None, &known), Some(1));
    assert_eq!(person("Marco the butcher, again.", "Marco", None, &known), Some(1));
}

#[test]
fn similar_name_needs_context() {
    let mut known = known_entities(&[entity("Katherine", EntityType::Person, 1), entity("Anna Schmidt", EntityType::Person, 2)]);
    assert_eq!(person("Kate called.", "Kate", None, &known), None);
    assert_eq!(person("Anna called.", "Anna", None, &known), Some(2));
    assert_eq!(person("Anna Weber called.", "Anna Weber", None, &known), None);
    known.recent = vec![EntityId(Uuid::from_u128(1))];
    assert_eq!(person("Kate called.", "Kate", None, &known), Some(1));
}

#[test]
fn unique_role_identifies_a_person() {
    let known = known_entities(&[described("Anna", "sister", 1), described("Tom", "friend", 2)]);
    assert_eq!(person("my sister called", "sister", None, &known), Some(1));
    assert_eq!(person("her sister called", "sister", None, &known), None);
    assert_eq!(person("my friend called", "friend", None, &known), None);
    let nameless = known_entities(&[described("sister", "sister", 1)]);
    assert_eq!(person("My sister Anna called.", "Anna", Some("sister"), &nameless), Some(1));
}

#[test]
fn speaker_name_does_not_mean_the_speaker() {
    let known = known_entities(&[Entity { is_viewer: true, ..entity("John", EntityType::Person, 1) }]);
    assert_eq!(person("John called me.", "John", None, &known), None);
    // The name was set on the user's entity by hand, and the text has no first person.
    assert_eq!(person("John likes tea.", "John", None, &known), Some(1));
}

const NAMES: [&str; 12] = [
    "John",
    "John Smith",
    "John Miller",
    "Johnny",
    "J. Smith",
    "Mr. Smith",
    "Kate",
    "Katherine",
    "Katherine Miller",
    "Anna",
    "Acme Inc",
    "NYC",
];
const WORDS: [Option<&str>; 6] = [None, None, Some("brother"), Some("boss"), Some("friend"), Some("from accounting")];

fn any_entities() -> impl Strategy<Value = Vec<Entity>> {
    let one = (0..NAMES.len(), 0..WORDS.len(), 0..EntityType::VARIANTS.len() + 8, 1u64..20);
    prop::collection::vec(one, 1..10).prop_map(|all| {
        let make = |(n, (name, words, t, count)): (usize, (usize, usize, usize, u64))| Entity {
            description: WORDS[words].map(Into::into),
            mention_count: count,
            ..entity(
                NAMES[name],
                EntityType::VARIANTS.get(t).and_then(|word| EntityType::parse_word(word)).unwrap_or(EntityType::Person),
                n as u128 + 1,
            )
        };
        all.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #[test]
    fn order_of_known_entities_does_not_change_the_result(
        entities in any_entities(), name in 0..NAMES.len(), role in 0..4usize, recent in 0..4usize, seed in any::<u64>(),
    ) {
        let role = [None, Some("brother"), Some("boss"), Some("friend")][role];
        let text = role.map_or(format!("{} called", NAMES[name]), |r| format!("My {r} {} called", NAMES[name]));
        let m = mention(&text, NAMES[name], EntityType::Person, 1.0, role);
        let mut a = known_entities(&entities);
        a.recent = entities.iter().take(recent).map(|e| e.id).collect();
        let mut b = a.clone();
        let by = |n: u128| n.wrapping_mul(u128::from(seed | 1)) % 1009;
        b.by_key.sort_by_key(|(_, e)| by(e.id.0.as_u128()));
        b.by_hint.sort_by_key(|(_, e)| by(e.id.0.as_u128() + 7));
        let first = choose(&text, m.clone(), &a);
        prop_assert_eq!(&first, &choose(&text, m.clone(), &a));
        prop_assert_eq!(&first, &choose(&text, m, &b));
        prop_assert!((0.0..=1.0).contains(&first.1));
    }

    #[test]
    fn arbitrary_text_and_name_do_not_panic(text in ".{0,200}", start in 0u32..220, length in 0u32..40, name in ".{0,40}") {
        let span = Span { start, end: start + length };
        let m = Mention { name, entity_type: EntityType::Person, span, confidence: 1.0, description: Some("boss".into()) };
        let _ = lookup_terms(std::slice::from_ref(&m));
        let known = known_entities(&[described("John", "boss", 1)]);
        let (text, mentions) = (Text::of(&text), [m]);
        let cues = text.cues(&mentions[0]);
        let resolver = Resolver::of(&text, &mentions, &[], &known, None);
        let resolved = ResolvedEntities::default();
        let choice = resolver.resolve(0, &cues, &resolved);
        prop_assert!(choice.decision.score <= 1.0);
    }
}
