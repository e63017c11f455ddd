//! Chooses the route of a question: through the graph, by searching messages, or both. Pure.

use super::rank::{CueTerms, QuestionTerms};
use recall_domain::{
    Entity,
    context::{ContextQuery, Method, Route, RouteChoice},
};

/// Words with which a question asks for one side of a relation, or for a time.
const ASKING: &[&str] = &["who", "whom", "whose", "which", "what", "where", "when", "whereabouts"];
/// First words of questions that are answered by yes or no.
const POLAR: &[&str] = &[
    "am", "are", "can", "could", "did", "didn", "do", "does", "doesn", "don", "had", "has", "hasn", "have", "haven", "is", "isn", "was",
    "wasn", "were", "will", "would",
];
/// First words of requests for a list.
const LISTING: &[&str] = &["list", "name"];
/// Words that state a relation without a verb of its own: "who is Maren", "what is my dog called". Other verbs without a cue name events.
const STATING: &[&str] =
    &["am", "are", "be", "been", "called", "had", "has", "have", "is", "mine", "name", "named", "names", "was", "were"];
/// Those of them that do so in a question for yes or no. "Is Maren well" asks for no relation.
const OWNING: &[&str] = &["been", "had", "has", "have", "mine", "my", "our"];
/// Stems of words for any relation between two entities.
const CONNECTING: &[&str] = &["relat", "connect", "relationship", "common", "between", "link"];
/// Words of questions about what was said or what happened. Messages answer them, whatever relations they name.
const NARRATIVE: &[&str] = &[
    "describe",
    "described",
    "discuss",
    "discussed",
    "discussing",
    "explain",
    "explained",
    "feel",
    "felt",
    "happen",
    "happened",
    "mention",
    "mentioned",
    "remember",
    "said",
    "say",
    "summarise",
    "summarize",
    "talk",
    "talked",
    "talking",
    "tell",
    "think",
    "thought",
    "told",
    "why",
];

/// A sequence of words, with the alternatives for each.
type Phrase = &'static [&'static [&'static str]];

/// Phrases that ask where a fact comes from. A fact and its message answer them.
const SOURCE: &[Phrase] = &[
    &[&["how"], &["did", "do", "would"], &["you"], &["find", "know", "learn", "remember"]],
    &[&["why"], &["do"], &["you"], &["believe", "say", "think"]],
    &[&["what"], &["makes"], &["you"]],
    &[&["who"], &["said", "told"]],
    &[&["when", "where"], &["did"], &["i", "we"], &["mention", "say", "tell"]],
];
/// Phrases that put a question into what was said: "which show did I say I never liked".
const FRAMES: &[Phrase] = &[
    &[&["did", "do", "had", "have"], &["i", "we"], &["mention", "mentioned", "said", "say"]],
    &[&["did", "do", "had", "have"], &["i", "we"], &["tell", "told"], &["you"]],
    &[&["by"], &["what"], &["i", "we"], &["mentioned", "said"]],
];
/// Words after which what was said is itself asked for: "what did I say about the trip".
const ABOUT: &[&str] = &["about", "at", "how", "in", "of", "on", "to", "when", "why"];

/// Classifies a question by what its answer needs.
///
/// `named` are the known entities that it names. Facts answer who, what, where and when of a relation. Messages answer how, why, what was said and
/// what happened.
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
    let text = query.text.as_str().to_lowercase();
    let all: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if SOURCE.iter().any(|phrase| find(&all, phrase).is_some()) {
        return RouteChoice { chosen: Route::Combined, reason: "asks where a fact comes from" };
    }
    let words = Words(without_frame(&all));
    let names_relation = !cues.asked_for(asked).is_empty();
    if words.has(NARRATIVE) || words.asks_for_manner(names_relation) {
        let chosen = if named.iter().all(|entity| entity.is_viewer) { Route::Vector } else { Route::Combined };
        return RouteChoice { chosen, reason: "asks what was said or what happened" };
    }
    if named.len() > 1 && words.is_connecting() {
        return RouteChoice { chosen: Route::Graph, reason: "asks how known entities are connected" };
    }
    let asks = words.has(ASKING) || words.begins_with(LISTING) || words.asks_for_number();
    let is_polar = words.begins_with(POLAR);
    let states = asks && words.states_relation() || is_polar && (named.len() > 1 || words.has(OWNING));
    if states || names_relation && (asks || is_polar || named.len() > 1) {
        return RouteChoice { chosen: Route::Graph, reason: "asks for a relation of a known entity" };
    }
    RouteChoice { chosen: Route::Combined, reason: "names a known entity, but no relation that it asks for" }
}

/// Returns where a phrase begins.
fn find(words: &[&str], phrase: Phrase) -> Option<usize> {
    let is_at = |part: &[&str]| part.iter().zip(phrase).all(|(word, alternatives)| alternatives.contains(word));
    words.windows(phrase.len()).position(is_at)
}

/// Returns the words of a question without a frame that says that something was said.
fn without_frame<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let framed = FRAMES.iter().find_map(|phrase| Some((find(words, phrase)?, phrase.len())));
    let asks_for_it = |end: usize| words.get(end).is_none_or(|next| ABOUT.contains(next));
    match framed.filter(|(at, length)| !asks_for_it(at + length)) {
        Some((at, length)) => words.iter().enumerate().filter(|(n, _)| !(at..at + length).contains(n)).map(|(_, word)| *word).collect(),
        None => words.to_vec(),
    }
}

/// The words of a question in lower case.
struct Words<'w>(Vec<&'w str>);

impl Words<'_> {
    fn has(&self, list: &[&str]) -> bool {
        self.0.iter().any(|word| list.contains(word))
    }

    /// Whether one of the words is among the first three, because a question may begin with an interjection.
    fn begins_with(&self, list: &[&str]) -> bool {
        self.0.iter().take(3).any(|word| list.contains(word))
    }

    fn is_connecting(&self) -> bool {
        self.0.iter().any(|word| CONNECTING.iter().any(|stem| word.starts_with(stem)))
    }

    /// Whether it asks "how many" or "how long".
    fn asks_for_number(&self) -> bool {
        self.0.windows(2).any(|pair| pair[0] == "how" && ["long", "many"].contains(&pair[1]))
    }

    /// Whether it asks how something was. "How many" and "how long" ask for facts if a relation is named.
    fn asks_for_manner(&self, names_relation: bool) -> bool {
        let counts = |next: Option<&&str>| names_relation && next.is_some_and(|next| ["long", "many"].contains(next));
        let is_how = |(at, word): (usize, &&str)| *word == "how" && !counts(self.0.get(at + 1));
        let connects = self.0.iter().any(|word| ["relat", "connect", "link"].iter().any(|stem| word.starts_with(stem)));
        !connects && self.0.iter().enumerate().any(is_how)
    }

    /// Whether a word states a relation, also as in "who's".
    fn states_relation(&self) -> bool {
        let is_short = |pair: &[&str]| matches!(pair, [asking, "s"] if ASKING.contains(asking));
        self.has(STATING) || self.0.windows(2).any(is_short)
    }
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
            waits: false,
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
        assert_eq!(route("How is Maren related to Otto?", &["Maren", "Otto"]), Route::Graph);
        assert_eq!(route("Who's Maren?", &["Maren"]), Route::Graph);
        assert_eq!(route("And what is my dog called?", &["You"]), Route::Graph);
        assert_eq!(route("Do I have a dog?", &["You"]), Route::Graph);
        assert_eq!(route("Am I still in the Ramblers?", &["You", "Ramblers"]), Route::Graph);
        assert_eq!(route("How many tools does Maren use?", &["Maren"]), Route::Graph);
        assert_eq!(route("Which tool did I say Maren uses?", &["You", "Maren"]), Route::Graph);
    }

    #[test]
    fn narrative_questions_take_the_messages() {
        assert_eq!(route("What did we discuss about the trip?", &[]), Route::Vector);
        assert_eq!(route("What did I say about tools?", &["You"]), Route::Vector);
        assert_eq!(route("What did Maren say about tools?", &["Maren"]), Route::Combined);
        assert_eq!(route("Who uses Blender?", &[]), Route::Vector);
        assert_eq!(route("Why does Maren live in Ghent?", &["Maren", "Ghent"]), Route::Combined);
        assert_eq!(route("How many dumplings did I eat?", &["You"]), Route::Vector);
    }

    #[test]
    fn other_questions_take_both() {
        assert_eq!(route("Is Maren well?", &["Maren"]), Route::Combined);
        assert_eq!(route("Tools of Maren", &["Maren"]), Route::Combined);
        assert_eq!(route("Where did Maren eat after the concert?", &["Maren"]), Route::Combined);
        for source in
            ["How do you know that Maren uses Blender?", "Who told you where Maren lives?", "When did I say that Maren uses Blender?"]
        {
            assert_eq!(route(source, &["Maren"]), Route::Combined, "{source}");
        }
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
