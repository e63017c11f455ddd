//! Chooses the route of a question: through the graph, by searching messages, or both. Pure.

use super::rank::{CueTerms, QuestionTerms};
use recall_domain::{
    Entity,
    context::{ContextQuery, Method, Route, RouteChoice},
};

/// Words with which a question asks for one side of a relation.
const ASKING: [&str; 8] = ["who", "whom", "whose", "which", "what", "where", "when", "whereabouts"];
/// Stems of words for any relation between two entities.
const CONNECTING: [&str; 6] = ["relat", "connect", "relationship", "common", "between", "link"];
/// Words of questions about what was said. Messages answer them, whatever relations they name.
const NARRATIVE: [&str; 24] = [
    "discuss",
    "discussed",
    "discussing",
    "talk",
    "talked",
    "talking",
    "say",
    "said",
    "tell",
    "told",
    "mention",
    "mentioned",
    "describe",
    "described",
    "explain",
    "explained",
    "summarise",
    "summarize",
    "happen",
    "happened",
    "remember",
    "feel",
    "why",
    "how",
];

/// Classifies a question.
///
/// `named` are the known entities that it names.
pub(super) fn choose(query: &ContextQuery, asked: &QuestionTerms, named: &[Entity], cues: &CueTerms) -> RouteChoice {
    if let Some(chosen) = query.route {
        return RouteChoice { chosen, reason: "requested" };
    }
    if !query.methods.is_empty() {
        return RouteChoice { chosen: route_of(&query.methods), reason: "the retrieval methods were requested" };
    }
    if named.is_empty() {
        return RouteChoice { chosen: Route::Vector, reason: "names no known entity" };
    }
    let words: Vec<String> = query.text.as_str().split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if has(&NARRATIVE) {
        let chosen = if named.iter().all(|entity| entity.is_viewer) { Route::Vector } else { Route::Combined };
        return RouteChoice { chosen, reason: "asks what was said or what happened" };
    }
    let is_connecting = words.iter().any(|word| CONNECTING.iter().any(|stem| word.starts_with(stem)));
    if named.len() > 1 && is_connecting {
        return RouteChoice { chosen: Route::Graph, reason: "asks how known entities are connected" };
    }
    let names_relation = !cues.asked_for(asked).is_empty();
    if names_relation && (named.len() > 1 || has(&ASKING)) {
        return RouteChoice { chosen: Route::Graph, reason: "asks for a relation of a known entity" };
    }
    RouteChoice { chosen: Route::Combined, reason: "names a known entity, but no relation that it asks for" }
}

/// Returns the methods that a query uses. Requested methods win over a requested route.
///
/// Without a request all methods are used: routing by itself would lose messages (docs/evaluation.md).
pub(super) fn methods(query: &ContextQuery) -> Vec<Method> {
    match query.route {
        _ if !query.methods.is_empty() => query.methods.clone(),
        Some(Route::Graph) => vec![Method::Graph],
        Some(Route::Vector) => vec![Method::Vector, Method::Keyword],
        Some(Route::Combined) | None => Vec::new(),
    }
}

fn route_of(methods: &[Method]) -> Route {
    match (methods.contains(&Method::Graph), methods.iter().all(|method| *method == Method::Graph)) {
        (true, true) => Route::Graph,
        (true, false) => Route::Combined,
        (false, _) => Route::Vector,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::{EntityId, EntityType, Ontology, Timestamp, context::Scope};

    const ONTOLOGY: &str = r#"
        [[relation]]
        name = "USES"
        phrase = "uses"
        description = "Works with it."
        half_life_days = 365
        cues = { verbs = ["use"], nouns = ["tool"] }
        [[relation]]
        name = "LIVES_IN"
        phrase = "lives in"
        description = "Has a home there."
        half_life_days = 365
        cues = { verbs = ["live in"] }
    "#;

    fn entity(name: &str) -> Entity {
        Entity {
            id: EntityId(uuid::Uuid::nil()),
            name: name.to_owned(),
            entity_type: EntityType::Person,
            aliases: Vec::new(),
            description: None,
            mention_count: 1,
            confidence: 1.0,
            is_viewer: name == "You",
            first_message: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn query(text: &str) -> ContextQuery {
        ContextQuery {
            text: text.into(),
            scope: Scope::User,
            first: 10,
            sources: recall_domain::context::SearchSources::default(),
            methods: Vec::new(),
            route: None,
            as_of: None,
            exclude: None,
            shared: true,
        }
    }

    fn route(text: &str, named: &[&str]) -> Route {
        let cues = CueTerms::of(&Ontology::parse(ONTOLOGY).unwrap());
        let named: Vec<Entity> = named.iter().map(|name| entity(name)).collect();
        choose(&query(text), &QuestionTerms::of(text), &named, &cues).chosen
    }

    #[test]
    fn relationship_questions_take_the_graph() {
        assert_eq!(route("What tools do I use?", &["You"]), Route::Graph);
        assert_eq!(route("Where does Maren live?", &["Maren"]), Route::Graph);
        assert_eq!(route("Does Maren use Blender?", &["Maren", "Blender"]), Route::Graph);
        assert_eq!(route("How are things between Maren and Otto?", &["Maren", "Otto"]), Route::Combined);
        assert_eq!(route("Is there something in common between Maren and Otto?", &["Maren", "Otto"]), Route::Graph);
    }

    #[test]
    fn narrative_questions_take_the_messages() {
        assert_eq!(route("What did we discuss about the trip?", &[]), Route::Vector);
        assert_eq!(route("What did I say about tools?", &["You"]), Route::Vector);
        assert_eq!(route("What did Maren say about tools?", &["Maren"]), Route::Combined);
        assert_eq!(route("Who uses Blender?", &[]), Route::Vector);
    }

    #[test]
    fn other_questions_take_both() {
        assert_eq!(route("Is Maren well?", &["Maren"]), Route::Combined);
        assert_eq!(route("Tools of Maren", &["Maren"]), Route::Combined);
    }

    #[test]
    fn requests_win() {
        let cues = CueTerms::of(&Ontology::parse(ONTOLOGY).unwrap());
        let choose = |query: &ContextQuery| choose(query, &QuestionTerms::of("a"), &[], &cues).chosen;
        let forced = ContextQuery { route: Some(Route::Graph), ..query("a") };
        assert_eq!((choose(&forced), methods(&forced)), (Route::Graph, vec![Method::Graph]));
        let by_words = ContextQuery { methods: vec![Method::Keyword], route: None, ..query("a") };
        assert_eq!((choose(&by_words), methods(&by_words)), (Route::Vector, vec![Method::Keyword]));
        assert_eq!(methods(&query("a")), []);
        assert_eq!(route_of(&[Method::Graph, Method::Vector]), Route::Combined);
    }
}
