//! Which known entity a mention means. Pure and conservative: a wrong merge costs more than a duplicate.

use crate::domain::{Entity, EntityKey, EntityType, Mention};

/// A mention of at least this confidence may found a second entity of the same name and another type.
const SURE: f64 = 0.8;

/// The known entity that a mention means, or `None` for a new one.
///
/// `known` are the entities that the mention's key finds. One of the same type is meant; failing that, the only one
/// whose type is close, or any single one when the mention's own type is a guess.
pub(super) fn resolve<'a>(mention: &Mention, known: &'a [(EntityKey, Entity)]) -> Option<&'a Entity> {
    let key = EntityKey::of(&mention.name)?;
    let found: Vec<&Entity> = known.iter().filter(|(k, _)| *k == key).map(|(_, e)| e).collect();
    if let Some(same) = found.iter().filter(|e| e.entity_type == mention.entity_type).max_by_key(|e| e.mention_count) {
        return Some(same);
    }
    match found.as_slice() {
        [one] if close(one.entity_type, mention.entity_type) || mention.confidence < SURE => Some(one),
        _ => None,
    }
}

/// Whether two types are easily taken for each other: "Phoenix" as project or tool, "chess" as concept or thing.
fn close(a: EntityType, b: EntityType) -> bool {
    use EntityType as T;
    let made = |t| matches!(t, T::Project | T::Tool | T::Concept | T::Thing);
    let gathered = |t| matches!(t, T::Organization | T::Place | T::Event | T::Project);
    a == b || (made(a) && made(b)) || (gathered(a) && gathered(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EntityId, Span};

    fn entity(name: &str, entity_type: EntityType, n: u128) -> (EntityKey, Entity) {
        let at = chrono::DateTime::UNIX_EPOCH;
        let e = Entity {
            id: EntityId(uuid::Uuid::from_u128(n)),
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
        };
        (EntityKey::of(name).unwrap(), e)
    }

    fn mention(name: &str, entity_type: EntityType, confidence: f64) -> Mention {
        Mention { name: name.into(), entity_type, span: Span { start: 0, end: 1 }, confidence, description: None }
    }

    #[test]
    fn the_same_name_and_type_is_the_same_thing() {
        let known = [entity("Phoenix", EntityType::Place, 1), entity("Phoenix", EntityType::Project, 2)];
        let found = resolve(&mention("project phoenix", EntityType::Project, 1.0), &known);
        assert_eq!(found.map(|e| e.id), Some(known[1].1.id));
    }

    #[test]
    fn a_sure_mention_of_a_distant_type_is_another_thing() {
        let known = [entity("Jordan", EntityType::Person, 1)];
        assert_eq!(resolve(&mention("Jordan", EntityType::Place, 0.9), &known), None);
        assert!(resolve(&mention("Jordan", EntityType::Place, 0.6), &known).is_some());
    }

    #[test]
    fn close_types_are_one_thing_unless_there_is_a_choice() {
        let one = [entity("chess", EntityType::Concept, 1)];
        assert!(resolve(&mention("chess", EntityType::Thing, 1.0), &one).is_some());
        let two = [entity("chess", EntityType::Concept, 1), entity("chess", EntityType::Project, 2)];
        assert_eq!(resolve(&mention("chess", EntityType::Thing, 1.0), &two), None);
    }
}
