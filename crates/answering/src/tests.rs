//! Tests of answers over a small memory, and of questions that it cannot answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::LazyLock;

use uuid::Uuid;

use super::*;
use recall_domain::{
    EntityId, EntityType, Evidence, Fact, FactId, FactStatus, Message, MessageId, MessageKind, MessageStatus, Role, SaidPeriod, SessionId,
    Span, Stance, Timestamp,
    context::{RankedFact, RankedMessage},
};

pub(super) const ONTOLOGY: &str = r#"
[[relation]]
name = "LIKES"
phrase = "likes"
description = "Is fond of."
opposite = "DISLIKES"
half_life_days = 365.0
cues.verbs = ["like", "love", "enjoy", "care for", "have passion for"]
cues.nouns = ["favorite", "favourite", "hobby"]
cues.adjectives = ["fond of", "interested in"]
[[relation]]
name = "DISLIKES"
phrase = "dislikes"
description = "Cannot stand."
opposite = "LIKES"
half_life_days = 365.0
cues.verbs = ["hate", "dislike", "can't stand"]
cues.adjectives = ["afraid of"]
[[relation]]
name = "FAMILY_OF"
phrase = "is family of"
description = "Kin."
symmetric = true
half_life_days = 3650.0
cues.verbs = ["marry", "be married to"]
cues.ending_verbs = ["split up with", "break up with"]
cues.nouns = ["mother", "mom", "father", "dad", "parent", "sister", "brother", "sibling", "son", "daughter", "kid", "child", "baby", "wife", "husband", "spouse", "partner", "aunt", "uncle", "cousin", "niece", "nephew", "grandmother", "grandfather", "grandson", "granddaughter"]
[[relation]]
name = "WORKS_WITH"
phrase = "works with"
description = "Colleague."
symmetric = true
half_life_days = 365.0
cues.verbs = ["work with", "collaborate with"]
cues.nouns = ["colleague", "coworker"]
[[relation]]
name = "WORKS_FOR"
phrase = "works for"
description = "Employed by."
object_types = ["organization"]
half_life_days = 730.0
cues.verbs = ["work for", "work at", "be employed by"]
cues.inverse_verbs = ["employ", "hire"]
cues.nouns = ["employer"]
[[relation]]
name = "WORKS_ON"
phrase = "works on"
description = "Works on."
half_life_days = 90.0
cues.verbs = ["work on", "contribute to"]
[[relation]]
name = "MANAGES"
phrase = "manages"
description = "Leads."
half_life_days = 365.0
cues.verbs = ["manage", "lead", "be in charge of"]
cues.inverse_verbs = ["report to", "be managed by"]
cues.inverse_nouns = ["manager", "boss", "line manager", "team lead"]
cues.ending_verbs = ["step down from"]
[[relation]]
name = "LIVES_IN"
phrase = "lives in"
description = "Has a home in."
object_types = ["place"]
functional = true
origins = ["from"]
origin_phrase = "is from"
half_life_days = 730.0
cues.verbs = ["live in", "reside in", "move to", "be from"]
cues.nouns = ["hometown", "home"]
cues.ending_verbs = ["move out of"]
[[relation]]
name = "LOCATED_IN"
phrase = "is located in"
description = "Is in."
object_types = ["place"]
functional = true
half_life_days = 1825.0
cues.verbs = ["be located in", "be in"]
[[relation]]
name = "VISITED"
phrase = "visited"
description = "Has been to."
half_life_days = 3650.0
cues.verbs = ["visit", "travel to", "attend", "go to"]
[[relation]]
name = "USES"
phrase = "uses"
description = "Uses."
half_life_days = 365.0
cues.verbs = ["use", "be built with", "code in", "be written in"]
cues.ending_verbs = ["drop"]
[[relation]]
name = "OWNS"
phrase = "owns"
description = "Has."
half_life_days = 1095.0
cues.verbs = ["own", "buy"]
cues.weak_verbs = ["have", "drive"]
cues.ending_verbs = ["sell"]
"#;

static ANSWERER: LazyLock<ExtractiveAnswerer> =
    LazyLock::new(|| ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), Networks::default()));

fn at(day: &str) -> Timestamp {
    format!("{day}T12:00:00Z").parse().unwrap()
}

pub(super) fn asked(question: &str) -> Asked {
    Asked { message: None, text: question.into(), original: None, at: at("2026-06-01") }
}

fn id(text: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
}

fn entity(name: &str, entity_type: EntityType) -> Entity {
    Entity {
        id: EntityId(id(name)),
        name: name.to_owned(),
        entity_type,
        aliases: Vec::new(),
        description: None,
        mention_count: 1,
        confidence: 1.0,
        is_viewer: name == "You",
        first_message: None,
        created_at: at("2026-01-01"),
        updated_at: at("2026-01-01"),
    }
}

/// The entity of the user.
pub(super) fn viewer() -> Entity {
    entity("You", EntityType::Person)
}

/// A person with this name.
pub(super) fn person(name: &str) -> Entity {
    entity(name, EntityType::Person)
}

#[derive(Clone)]
pub(super) struct TestMemory {
    pub(super) entities: Vec<Entity>,
    pub(super) facts: Vec<RankedFact>,
    pub(super) messages: Vec<RankedMessage>,
}

impl TestMemory {
    fn entity(&self, name: &str) -> Entity {
        self.entities.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    fn add_fact(&mut self, subject: &str, relation: &str, object: &str, said: &str) -> &mut RankedFact {
        let (subject, object) = (self.entity(subject), self.entity(object));
        let fact = Fact {
            id: FactId(id(&format!("{}{relation}{}", subject.name, object.name))),
            subject: subject.id,
            relation: relation.to_owned(),
            object: object.id,
            value: None,
            support: 1.0,
            opposition: 0.0,
            weighed_at: at("2026-04-01"),
            status: FactStatus::Active,
            flagged: false,
            valid_from: None,
            valid_to: None,
            said_period: SaidPeriod::default(),
            last_support: None,
            created_at: at("2026-04-01"),
            updated_at: at("2026-04-01"),
        };
        let evidence = vec![Evidence {
            fact: fact.id,
            message: MessageId(id(said)),
            session: SessionId(id("s")),
            stance: Stance::Supports,
            confidence: 1.0,
            span: Some(Span { start: 0, end: said.len() as u32 }),
            excerpt: said.into(),
            said_period: SaidPeriod::default(),
            created_at: at("2026-04-01"),
        }];
        self.facts.push(RankedFact { fact, subject, object, score: 0.5, evidence, shared: false });
        self.facts.last_mut().unwrap()
    }

    pub(super) fn add_message(&mut self, speaker: Option<&str>, text: &str) {
        let message = Message {
            id: MessageId(id(text)),
            session: SessionId(id("s")),
            position: self.messages.len() as u64 + 1,
            role: Role::User,
            speaker: speaker.map(str::to_owned),
            text: text.into(),
            kind: Some(MessageKind::Statement),
            status: MessageStatus::Processed,
            sent_at: at("2026-05-08"),
            created_at: at("2026-05-08"),
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        };
        self.messages.push(RankedMessage { message, score: 0.9, methods: Vec::new(), shared: false });
    }

    /// Answers from a context with all facts and messages.
    fn answer(&self, question: &str) -> AnswerDraft {
        let context =
            Context { messages: self.messages.clone(), facts: self.facts.clone(), entities: self.entities.clone(), ..Context::default() };
        answer_now(&ANSWERER, &asked(question), &context)
    }
}

/// Answers without networks, so that nothing is waited for.
pub(super) fn answer_now(answerer: &ExtractiveAnswerer, asked: &Asked, context: &Context) -> AnswerDraft {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(answerer.find_answer(asked, context))
}

pub(super) fn test_memory() -> TestMemory {
    use EntityType::*;
    let entities = [
        ("You", Person),
        ("John", Person),
        ("Mary", Person),
        ("Dave", Person),
        ("Sarah", Person),
        ("sister", Person),
        ("Jack Smith", Person),
        ("Ghent", Place),
        ("Lyon", Place),
        ("Paris", Place),
        ("Rome", Place),
        ("sushi", Thing),
        ("hiking", Concept),
        ("spiders", Thing),
        ("Acme", Organization),
        ("backend team", Organization),
        ("Apollo", Project),
        ("PostgreSQL", Tool),
        ("Rust", Tool),
        ("React", Tool),
        ("cat", Thing),
        ("office", Place),
    ];
    let mut w = TestMemory { entities: entities.map(|(n, t)| entity(n, t)).into(), facts: Vec::new(), messages: Vec::new() };
    w.add_fact("John", "LIKES", "Mary", "John likes Mary.");
    w.add_fact("John", "LIKES", "sushi", "John loves sushi.");
    w.add_fact("John", "DISLIKES", "spiders", "John hates spiders.");
    w.add_fact("Mary", "WORKS_FOR", "Acme", "Mary works at Acme.");
    w.add_fact("Dave", "MANAGES", "You", "My manager Dave approved the budget");
    w.add_fact("You", "WORKS_WITH", "Sarah", "with my colleague Sarah");
    w.add_fact("You", "LIVES_IN", "Ghent", "We moved from Lyon to Ghent");
    let lyon = w.add_fact("You", "LIVES_IN", "Lyon", "We moved from Lyon to Ghent");
    (lyon.fact.status, lyon.fact.valid_to, lyon.evidence[0].stance) = (FactStatus::Ended, Some(at("2026-03-14")), Stance::Ends);
    w.add_fact("You", "FAMILY_OF", "sister", "my sister came by");
    w.add_fact("You", "FAMILY_OF", "Jack Smith", "My son Jack Smith");
    w.add_fact("Apollo", "USES", "PostgreSQL", "Project Apollo uses PostgreSQL");
    w.add_fact("You", "USES", "Rust", "I write Rust every day, I use it for the parser");
    let react = w.add_fact("You", "USES", "React", "I no longer use React");
    (react.fact.status, react.evidence[0].stance) = (FactStatus::Ended, Stance::Ends);
    w.add_fact("You", "VISITED", "Rome", "I visited Rome");
    w.add_fact("Sarah", "WORKS_ON", "backend team", "Sarah works on the backend team");
    w.add_fact("office", "LOCATED_IN", "Paris", "the office is in Paris");
    w.add_fact("You", "OWNS", "cat", "I have a cat");
    let mary = w.add_fact("Mary", "LIKES", "hiking", "Mary does not like hiking");
    (mary.fact.support, mary.fact.opposition, mary.evidence[0].stance) = (0.0, 1.0, Stance::Opposes);
    w
}

#[test]
fn entity_of_a_wrong_type_answers_by_the_range_of_its_relation() {
    let mut w = test_memory();
    w.entities.push(entity("Tinderbox", EntityType::Thing));
    w.add_fact("Jack Smith", "WORKS_FOR", "Tinderbox", "Jack works at Tinderbox");
    for question in ["Where does Jack work?", "Which company does Jack work for?", "Who employs Jack?"] {
        assert_eq!(w.answer(question).text.as_str(), "Jack Smith works for Tinderbox [1].", "{question}");
    }
}

#[test]
fn role_asked_for_is_not_answered_with_another_one() {
    let mut w = test_memory();
    w.facts.clear();
    w.add_fact("Sarah", "MANAGES", "You", "my team lead is Sarah");
    w.add_fact("Dave", "MANAGES", "You", "my line manager is Dave");
    assert_eq!(w.answer("Who is my line manager?").text.as_str(), "Your line manager is Dave [1].");
    assert_eq!(w.answer("Who is my team lead?").text.as_str(), "Your team lead is Sarah [1].");
    // Nobody was called a boss, so both may be meant.
    let both = w.answer("Who is my boss?").text;
    assert!(both.as_str().contains("Sarah") && both.as_str().contains("Dave"), "{both:?}");
}

#[test]
fn dead_relative_is_no_plain_yes() {
    let mut w = test_memory();
    w.add_message(None, "My sister died in 2019");
    assert_eq!(w.answer("Do I have a sister?").text.as_str(), "On 8 May 2026 you said: “My sister died in 2019” [1].");
    assert!(w.answer("Do I have a cat?").text.as_str().starts_with("Yes"));
}

#[test]
fn activity_of_the_past_is_a_no() {
    let mut w = test_memory();
    w.add_message(None, "I used to play tennis until 2019.");
    assert_eq!(w.answer("Do I play tennis?").text.as_str(), "No: on 8 May 2026 you said: “I used to play tennis until 2019.” [1].");
    w.add_message(None, "I've started playing tennis again.");
    assert!(!w.answer("Do I play tennis?").text.as_str().starts_with("No"));
}

#[test]
fn origin_is_no_home() {
    let mut w = test_memory();
    w.entities.push(entity("Ilse", EntityType::Person));
    w.entities.push(entity("Turin", EntityType::Place));
    w.add_fact("Ilse", "LIVES_IN", "Turin", "Ilse is from Turin");
    for question in ["Where is Ilse from?", "Where does Ilse live?"] {
        assert_eq!(w.answer(question).text.as_str(), "Ilse is from Turin [1].", "{question}");
    }
}

#[test]
fn facts_answer_matching_questions() {
    let w = test_memory();
    let mut wrong = Vec::new();
    for (question, expected) in [
        ("Who does John like?", "John likes Mary [1]."),
        ("who does john like", "John likes Mary [1]."),
        ("Whom does John really like?", "John likes Mary [1]."),
        ("What does John like?", "John likes Mary [1] and sushi [2]."),
        ("What animal do I have?", "You own a cat [1]."),
        ("What things does John like?", "John likes sushi [1]."),
        ("Who likes Mary?", "John likes Mary [1]."),
        ("Does John like Mary?", "Yes, John likes Mary [1]."),
        ("Is John fond of Mary?", "Yes, John likes Mary [1]."),
        ("Does John like spiders?", "No, John dislikes spiders [1]."),
        ("Does Mary like hiking?", "No, Mary does not like hiking [1]."),
        ("What doesn't Mary like?", "Mary does not like hiking [1]."),
        ("What doesn't John like?", "John dislikes spiders [1]."),
        ("Where do I live?", "You live in Ghent [1]; until March 2026 it was Lyon [2]."),
        ("Where do I live now?", "You live in Ghent [1]; until March 2026 it was Lyon [2]."),
        ("Which city do I live in?", "You live in Ghent [1]; until March 2026 it was Lyon [2]."),
        ("Where did I live before?", "You lived in Lyon [1] (until March 2026)."),
        ("Do I live in Ghent?", "Yes, you live in Ghent [1]."),
        ("Do I still live in Lyon?", "No, you no longer live in Lyon [1] (until March 2026). You live in Ghent [2]."),
        ("Do I live in Paris?", "No, you live in Ghent [1]."),
        ("Where does Mary work?", "Mary works for Acme [1]."),
        ("Who employs Mary?", "Mary works for Acme [1]."),
        ("Which company does Mary work for?", "Mary works for Acme [1]."),
        ("Who works at Acme?", "Mary works for Acme [1]."),
        ("Who is my manager?", "Your manager is Dave [1]."),
        ("Who's my boss?", "Your boss is Dave [1]."),
        ("Who do I report to?", "Dave manages you [1]."),
        ("Who manages me?", "Dave manages you [1]."),
        ("Whom does Dave manage?", "Dave manages you [1]."),
        ("Who do I work with?", "You work with Sarah [1]."),
        ("Who is my colleague?", "Your colleague is Sarah [1]."),
        ("Who works with Sarah?", "You work with Sarah [1]."),
        ("What does Sarah work on?", "Sarah works on the backend team [1]."),
        ("Who is my son?", "Your son is Jack Smith [1]."),
        ("Is Jack my son?", "Yes, Jack Smith is your son [1]."),
        ("What database does Project Apollo use?", "Apollo uses PostgreSQL [1]."),
        ("What is Apollo built with?", "Apollo uses PostgreSQL [1]."),
        ("Which project uses PostgreSQL?", "Apollo uses PostgreSQL [1]."),
        ("What tools do I use?", "You use Rust [1]."),
        ("Which programming language do I use for the parser?", "You use Rust [1]."),
        ("Do I still use React?", "No, you no longer use React [1]."),
        ("When did I visit Rome?", "You visited Rome [1] (told on 1 April 2026)."),
        ("Have I visited Rome?", "Yes, you visited Rome [1]."),
        ("Where is the office?", "The office is located in Paris [1]."),
        ("What do you know about Sarah?", "Sarah is your colleague [1]. Sarah works on the backend team [2]."),
        ("Tell me about Dave.", "Dave manages you [1]."),
        ("Thanks for that. Who does John like?", "John likes Mary [1]."),
        ("Tell me what John likes.", "John likes Mary [1] and sushi [2]."),
        ("What do I have?", "You own a cat [1]."),
        ("Do I have a cat?", "Yes, you own a cat [1]."),
        ("What pets do I have?", "You own a cat [1]."),
        ("Where did I live before Ghent?", "You lived in Lyon [1] (until March 2026)."),
        ("Did I live in Lyon?", "Yes, you lived in Lyon [1] (until March 2026)."),
        ("Do I live in Lyon or in Ghent?", "You live in Ghent [1]; until March 2026 it was Lyon [2]."),
        ("What is the name of my son?", "Your son is Jack Smith [1]."),
        ("Do I have a sister?", "Yes, you have a sister [1]."),
    ] {
        let draft = w.answer(question);
        if draft.text.as_str() != expected || !draft.grounded {
            wrong.push(format!("{question}\n  {}\n  not {expected}", draft.text.as_str()));
        }
        for (i, citation) in draft.citations.iter().enumerate() {
            assert_eq!(citation.index as usize, i + 1);
            assert!(draft.text.as_str().contains(&format!("[{}]", citation.index)) && !citation.excerpt.as_str().is_empty());
            assert!(citation.message_id.is_some() && citation.fact_id.is_some());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn questions_about_the_past_are_answered_by_what_held_then() {
    use EntityType::*;
    let mut w = test_memory();
    w.entities.extend(
        [("HubSpot", Tool), ("Pipedrive", Tool), ("Excel", Tool), ("Velden", Organization), ("Oslo", Place)].map(|(n, t)| entity(n, t)),
    );
    let dave = w.facts.iter_mut().find(|f| f.subject.name == "Dave").unwrap();
    dave.fact.valid_from = Some(at("2026-01-01"));
    let switch = "Since April it is HubSpot, we dropped Pipedrive";
    w.add_fact("You", "USES", "HubSpot", switch).fact.valid_from = Some(at("2026-04-01"));
    for (tool, ended_with, until) in [("Pipedrive", switch, "2026-04-01"), ("Excel", "Excel is history", "2025-02-01")] {
        let old = w.add_fact("You", "USES", tool, ended_with);
        (old.fact.status, old.fact.valid_to, old.evidence[0].stance) = (FactStatus::Ended, Some(at(until)), Stance::Ends);
    }
    w.add_fact("Velden", "LOCATED_IN", "Oslo", "Velden Shipyard is in Oslo");
    w.add_message(None, "Quinpool gave us Dr. Haidar because Dr. Sandhu retired.");
    for (question, expected) in [
        ("Which CRM did we have before HubSpot?", "You used Pipedrive [1] (until April 2026)."),
        ("What did I use in January 2025?", "You used Pipedrive [1] (until April 2026) and Excel [2] (until February 2025)."),
        ("What did I use in the winter of 2025?", "You used Pipedrive [1] (until April 2026)."),
        ("Who have I reported to this year?", "Dave manages you [1]."),
        (
            "What have I used?",
            "You use Rust [1] and HubSpot [2]. You no longer use React [3], Pipedrive [4] (until April 2026) and Excel [5] (until February 2025).",
        ),
        ("Where is Velden Shipyard?", "Velden is located in Oslo [1]."),
        ("Who was our doctor before Dr. Haidar?", "On 8 May 2026 you said: “Quinpool gave us Dr. Haidar because Dr. Sandhu retired.” [1]."),
    ] {
        assert_eq!(w.answer(question).text.as_str(), expected, "{question}");
    }
    for question in ["Which CRM did we have before Excel?", "Who was our doctor before Dr. Yuen?"] {
        assert!(!w.answer(question).grounded, "{question}");
    }
}

#[test]
fn things_are_named_and_partings_are_dated() {
    let mut w = test_memory();
    w.entities.push(entity("Pixel", EntityType::Thing));
    w.add_fact("You", "OWNS", "Pixel", "I got a cat, her name is Pixel");
    w.add_message(None, "Joris and I broke up in March.");
    assert_eq!(w.answer("What is my cat called?").text.as_str(), "Your cat is called Pixel [1].");
    assert!(!w.answer("What is my dog called?").grounded);
    let parting = w.answer("When did Joris and I split up?");
    assert!(parting.text.as_str().contains("“Joris and I broke up in March.”"), "{}", parting.text.as_str());
}

#[test]
fn both_questions_of_a_sentence_are_answered() {
    let w = test_memory();
    for (question, expected) in [
        ("Where does Mary work and who does she like?", None),
        ("Who does John like, and what does he dislike?", Some("John likes Mary [1]. John dislikes spiders [2].")),
        ("What does Sarah work on and who works with her?", Some("Sarah works on the backend team [1]. You work with Sarah [2].")),
    ] {
        let draft = w.answer(question);
        assert_eq!(draft.grounded.then(|| draft.text.as_str().to_owned()).as_deref(), expected, "{question}");
    }
}

#[test]
fn sources_fit_the_claim() {
    let mut w = test_memory();
    let rome = w.facts.iter_mut().find(|f| f.object.name == "Rome").unwrap();
    let mut denial = rome.evidence[0].clone();
    (denial.stance, denial.excerpt, denial.message) = (Stance::Opposes, "I have never been to Rome".into(), MessageId(id("denial")));
    rome.evidence.insert(0, denial);
    for (question, said) in [
        ("How do you know that I have been to Rome?", "I visited Rome"),
        ("How do you know that I no longer live in Lyon?", "We moved from Lyon to Ghent"),
    ] {
        let text = w.answer(question).text;
        assert!(text.as_str().ends_with(&format!("“{said}” [1].")), "{}", text.as_str());
    }
}

#[test]
fn unsupported_questions_are_not_answered() {
    let w = test_memory();
    let mut wrong = Vec::new();
    for question in [
        "Who does Mary hate?",
        "Who does Peter like?",
        "Does John like Alice?",
        "Does Mary like John?",
        "Where does John live?",
        "Who is my sister's husband?",
        "Who is my brother?",
        "Who is John's manager?",
        "What car does John like?",
        "What animal does John like?",
        "What does John like to eat for breakfast on Sundays?",
        "Why does John like Mary?",
        "When was Acme founded?",
        "When did I move to Ghent?",
        "Do I own a boat?",
        "Have I visited Paris?",
        "What do I drive?",
        "Did Mary go to Rome?",
        "Do I have a dog?",
        "What database do I use?",
        "Who did I visit Rome with?",
        "What language is Apollo written in by Mary?",
        "What is the capital of France?",
        "How old is John?",
        "",
        "?",
        "Who?",
    ] {
        let draft = w.answer(question);
        if draft.text.as_str() != UNKNOWN || draft.grounded || !draft.citations.is_empty() {
            wrong.push(format!("{question}\n  {}", draft.text.as_str()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rival_facts_are_stated_with_shares() {
    let mut w = test_memory();
    w.facts.retain(|f| f.fact.relation != "LIVES_IN");
    w.add_fact("You", "LIVES_IN", "Ghent", "I live in Ghent").fact.support = 3.0;
    w.add_fact("You", "LIVES_IN", "Lyon", "I live in Lyon");
    w.add_fact("John", "DISLIKES", "Mary", "John hates Mary");
    for (question, expected) in [
        ("Where do I live?", "Most likely you live in Ghent (75%) [1]; less likely you live in Lyon (25%) [2]."),
        ("Does John like Mary?", "I was told both that John likes Mary (50%) [1] and that John dislikes Mary (50%) [2]."),
    ] {
        assert_eq!(w.answer(question).text.as_str(), expected);
    }
}

#[test]
fn messages_are_quoted_without_a_matching_fact() {
    let mut w = test_memory();
    w.add_message(Some("Caroline"), "I went to a LGBTQ support group yesterday and it was so powerful.");
    w.add_message(None, "The deployment failed because the certificate had expired.");
    w.add_message(Some("Melanie"), "My puppy chewed up the couch.");
    for (question, quoted) in [
        (
            "When did Caroline go to the LGBTQ support group?",
            "On 8 May 2026 Caroline said: “I went to a LGBTQ support group yesterday and it was so powerful.” [1] (yesterday: 7 May 2026).",
        ),
        ("Why did the deployment fail?", "On 8 May 2026 you said: “The deployment failed because the certificate had expired.” [1]."),
        ("What did Melanie's dog chew?", "On 8 May 2026 Melanie said: “My puppy chewed up the couch.” [1]."),
    ] {
        let draft = w.answer(question);
        assert_eq!(draft.text.as_str(), quoted, "{question}");
        assert!(draft.grounded && draft.citations[0].message_id.is_some());
    }
    for question in [
        "When did Melanie go to the LGBTQ support group?",
        "What did Caroline's puppy chew up?",
        "When did the festival start?",
        "What is Caroline's phone number?",
        "What breed is Melanie's puppy?",
    ] {
        assert!(!w.answer(question).grounded, "{question}");
    }
}

#[test]
fn same_question_without_a_question_mark_is_no_answer() {
    let mut w = test_memory();
    w.add_message(None, "I was away. why did the deployment fail on monday");
    assert!(!w.answer("Why did the deployment fail on Monday?").grounded);
    w.add_message(None, "The deployment failed on Monday because the certificate had expired.");
    assert!(w.answer("Why did the deployment fail on Monday?").text.as_str().contains("certificate"));
    w.add_message(None, "The bridge in Ghent is closed.");
    for question in ["The bridge in Ghent is closed?", "How do you know that the bridge in Ghent is closed?"] {
        assert!(
            w.answer(question).text.as_str().contains("“The bridge in Ghent is closed.”"),
            "a statement with the same words: {question}"
        );
    }
}

#[test]
fn assistant_messages_and_questions_are_never_quoted() {
    let mut w = test_memory();
    w.add_message(None, "The deployment failed because the certificate had expired.");
    w.messages[0].message.role = Role::Assistant;
    assert!(!w.answer("Why did the deployment fail?").grounded);
    w.messages[0].message.role = Role::User;
    w.messages[0].message.kind = Some(MessageKind::Question);
    assert!(!w.answer("Why did the deployment fail?").grounded);
}

#[tokio::test]
async fn answer_is_streamed() {
    struct RecordingSink(std::sync::Mutex<String>);
    impl AnswerSink for RecordingSink {
        fn delta(&self, text: &str) {
            self.0.lock().unwrap().push_str(text);
        }
    }
    let w = test_memory();
    let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
    let sink = RecordingSink(std::sync::Mutex::default());
    let caller = recall_domain::Caller::verified(recall_domain::UserId(uuid::Uuid::nil()), recall_domain::ViewerRole::User);
    let draft = ANSWERER.answer(&caller, &asked("Who does John like?"), &context, &sink).await.unwrap();
    assert_eq!(*sink.0.lock().unwrap(), draft.text.as_str());
}

#[test]
fn odd_text_is_tolerated() {
    let w = test_memory();
    for odd in ["'s's's ?", "\u{0}\u{202e}?", "İİİ my's of of of", &"who likes John ".repeat(2000), "日本語は？", "I I I live live in in"]
    {
        let _ = w.answer(odd);
    }
}

proptest::proptest! {
    #[test]
    fn any_question_is_handled_and_every_mark_has_a_citation(question in "(who|where|what|does|is|my|John|Mary|like|work|with|by|of|in|live|[a-z']{1,6}|[\\PC]{0,5}| |\\?){0,14}") {
        let draft = test_memory().answer(&question);
        proptest::prop_assert_eq!(draft.grounded, !draft.citations.is_empty());
        for citation in &draft.citations {
            let mark = format!("[{}]", citation.index);
            proptest::prop_assert!(draft.text.as_str().contains(&mark));
        }
    }
}

#[test]
fn questions_about_the_memory_itself_get_a_reply() {
    let draft = test_memory().answer("How are you?");
    assert!(!draft.grounded && draft.citations.is_empty() && draft.text.as_str().starts_with("I am a memory"));
}

#[test]
fn facts_opposed_only_by_rivals_are_not_denied() {
    let mut w = test_memory();
    w.facts.retain(|f| f.fact.relation != "LIVES_IN");
    w.add_fact("You", "LIVES_IN", "Ghent", "I live in Ghent").fact.support = 1.0;
    let lyon = w.add_fact("You", "LIVES_IN", "Lyon", "I live in Lyon");
    (lyon.fact.support, lyon.fact.opposition) = (0.97, 1.0);
    let text = w.answer("Where do I live?").text;
    assert_eq!(text.as_str(), "I was told both that you live in Ghent (51%) [1] and that you live in Lyon (49%) [2].");
}

#[test]
fn flagged_facts_are_stated_as_uncertain() {
    let mut w = test_memory();
    w.add_fact("John", "LIKES", "hiking", "John seems to like hiking").fact.flagged = true;
    assert_eq!(w.answer("What does John like?").text.as_str(), "John likes Mary [1], sushi [2] and hiking [3] (not certain).");
}

#[test]
fn wishes_and_statements_about_others_are_not_quoted() {
    let mut w = test_memory();
    w.add_message(None, "Rafael owes me 50 pounds.");
    w.add_message(None, "I would love to visit Japan one day.");
    w.add_message(None, "We have a cat called Pixel and two rabbits.");
    w.add_message(None, "I'm vegetarian, but Rafael loves salami.");
    w.add_message(None, "My dentist appointment is on 3 July at 9:30.");
    w.add_message(None, "Yuki runs the weekly sync.");
    for (question, quoted) in [
        ("How much does Rafael owe me?", "50 pounds"),
        ("How many rabbits do I have?", "two rabbits"),
        ("When is my dentist appointment?", "3 July"),
        ("Does Rafael love salami?", "Rafael loves salami"),
        ("Who runs the weekly sync?", "Yuki"),
    ] {
        let text = w.answer(question).text;
        assert!(text.as_str().contains(quoted), "{question} {}", text.as_str());
    }
    for question in [
        "How much do I owe Rafael?",
        "Have I visited Japan?",
        "How many dogs do I have?",
        "Do I love salami?",
        "When is my optician appointment?",
        "Why is my dentist appointment on 3 July?",
        "Who manages Yuki?",
    ] {
        let draft = w.answer(question);
        assert!(!draft.grounded, "{question} {}", draft.text.as_str());
    }
}

#[test]
fn only_plain_statements_are_a_yes() {
    for (said, question, is_yes) in [
        ("I play the violin.", "Do I play the violin?", true),
        ("I used to play the violin.", "Do I play the violin?", false),
        ("I quit smoking two years ago.", "Do I smoke?", false),
        ("Tim refused to sign the contract.", "Did Tim sign the contract?", false),
        ("I forgot to water the plants.", "Did I water the plants?", false),
        ("Leo almost missed the train.", "Did Leo miss the train?", false),
        ("Bob said that Anna is pregnant.", "Is Anna pregnant?", false),
        ("Anna is pregnant.", "Is Anna pregnant?", true),
        ("Anna is pregnant.", "Is Anna still pregnant?", false),
    ] {
        let mut w = test_memory();
        w.entities.push(entity("Anna", EntityType::Person));
        w.add_message(None, said);
        let text = w.answer(question).text;
        assert_eq!(text.as_str().starts_with("Yes"), is_yes, "{question} {}", text.as_str());
    }
    let mut w = test_memory();
    w.entities.push(entity("Anna", EntityType::Person));
    w.add_message(None, "Anna is pregnant.");
    w.add_message(None, "Anna didn't come to lunch.");
    assert!(w.answer("Is Anna pregnant?").text.as_str().starts_with("Yes"), "it says something else about her");
    let mut w = test_memory();
    w.add_message(None, "On Friday I fly to Lisbon.");
    assert!(w.answer("Do I fly to Lisbon?").text.as_str().starts_with("Yes"));
    w.add_message(None, "The trip to Lisbon is cancelled.");
    assert!(!w.answer("Do I fly to Lisbon?").text.as_str().starts_with("Yes"), "a later message retracts it");
}

#[test]
fn descriptions_are_replaced_by_names() {
    use EntityType::*;
    let mut w = test_memory();
    w.entities.extend([entity("Ida", Person), entity("Tinder", Organization), entity("Nils", Person), entity("parrot", Thing)]);
    w.add_fact("Ida", "FAMILY_OF", "Mary", "Mary is Ida's mother");
    w.add_fact("You", "WORKS_FOR", "Tinder", "I work at Tinder, a bakery");
    w.add_fact("Nils", "OWNS", "parrot", "Nils has a parrot");
    let rephrase = |question: &str| {
        let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
        ANSWERER.rephrase(&asked(question), &context).map(|t| t.as_str().to_owned())
    };
    for (question, expected) in [
        ("Where does the mother of Ida work?", Some("Where does Ida's mother work?")),
        ("Where does Ida's mother work?", Some("Where does Mary work?")),
        ("Who owns the bakery I work for?", Some("Who owns Tinder?")),
        ("Where is the company located that Mary works for?", Some("Where is Acme located?")),
        ("Does the man with the parrot like sushi?", Some("Does Nils like sushi?")),
        ("Who does Mary work for and where is that company?", Some("Who does Mary work for, and where is Acme?")),
        ("Who is the man with the parrot?", None),
        ("What does the woman who manages Mary like?", None),
    ] {
        assert_eq!(rephrase(question).as_deref(), expected, "{question}");
    }
    assert_eq!(w.answer("What is the name of the man with the parrot?").text.as_str(), "Nils owns a parrot [1].");
    assert!(!w.answer("What is the name of the man with the canary?").grounded);
}

#[test]
fn lists_name_members_of_each_class_and_what_has_ended() {
    use EntityType::*;
    let mut w = test_memory();
    w.entities.extend([entity("Vocalia", Organization), entity("Muflonii", Organization), entity("Eva", Person)]);
    for (name, said) in [("Vocalia", "I was in Vocalia, a choir"), ("Muflonii", "I joined a club, the Muflonii")] {
        w.add_fact("You", "WORKS_FOR", name, said);
    }
    let eva = w.add_fact("Eva", "MANAGES", "You", "my boss Eva left");
    (eva.fact.status, eva.fact.valid_to, eva.evidence[0].stance) = (FactStatus::Ended, Some(at("2026-02-01")), Stance::Ends);
    for (question, names) in [
        ("List the clubs and choirs I work for.", ["Vocalia", "Muflonii"]),
        ("Which places have I worked for?", ["Vocalia", "Muflonii"]),
        ("Name all the bosses I've had.", ["Dave", "Eva"]),
    ] {
        let text = w.answer(question).text;
        assert!(names.iter().all(|name| text.as_str().contains(name)), "{question} {}", text.as_str());
    }
    // Someone who was told without a name is not meant by "bosses".
    w.entities.push(entity("boss", Person));
    assert!(w.answer("Name all the bosses I've had.").text.as_str().contains("Eva"));
    assert_eq!(w.answer("Which database is Apollo on?").text.as_str(), "Apollo uses PostgreSQL [1].");
    assert_eq!(w.answer("What do I no longer use?").text.as_str(), "You no longer use React [1].");
    assert_eq!(w.answer("What did I stop using?").text.as_str(), "You no longer use React [1].");
}

#[test]
fn later_statements_and_corrections_are_quoted_as_well() {
    let mut w = test_memory();
    w.add_message(None, "Waffles had his ears cleaned at the vet, Dr. Okada.");
    w.add_message(None, "Sorry, it's Dr. Aoki, not Okada.");
    w.add_message(None, "Mary works at Borealis now.");
    let vet = w.answer("Who cleaned the ears of Waffles?").text;
    assert!(vet.as_str().starts_with("On 8 May 2026 you said: “Sorry, it's Dr. Aoki, not Okada.” [1]."), "{}", vet.as_str());
    let work = w.answer("Where does Mary work?").text;
    assert_eq!(work.as_str(), "Mary works for Acme [1]. On 8 May 2026 you said: “Mary works at Borealis now.” [2].");
}

#[test]
fn change_without_a_noun_is_about_the_last_thing_that_has_a_time() {
    let mut w = test_memory();
    w.add_message(None, "The boiler gets serviced on 3 March at 8.");
    w.add_message(None, "I owe Karl 50 euros.");
    w.add_message(None, "My dentist appointment is on 12 March.");
    w.add_message(None, "It got moved to the 14th.");
    w.add_message(None, "It got moved again, to the 16th.");
    let answer = |question: &str| w.answer(question).text.as_str().to_owned();
    let dentist = answer("When is my dentist appointment?");
    assert!(dentist.contains("“It got moved again, to the 16th.” [1]."), "{dentist}");
    assert!(!answer("When does the boiler get serviced?").contains("moved"));
    assert!(!answer("Who do I owe money?").contains("moved"));
}

#[test]
fn question_in_between_is_not_what_a_change_is_about() {
    let mut w = test_memory();
    w.add_message(None, "My vet appointment is on 12 May.");
    w.add_message(None, "Is my vet appointment in May?");
    w.messages.last_mut().unwrap().message.kind = Some(MessageKind::Question);
    w.add_message(None, "It got moved to the 14th.");
    let vet = w.answer("When is my vet appointment?").text.into_string();
    assert!(vet.contains("“It got moved to the 14th.”"), "{vet}");
}

#[test]
fn names_and_roles_are_told_as_in_the_evidence() {
    use EntityType::*;
    let mut w = test_memory();
    let names = ["Biscuit", "Waffles", "Fluff", "Puff", "Stuff", "Kit", "Tom"].map(|n| entity(n, Thing));
    w.entities.extend(names.into_iter().chain(["Pete", "Dean", "Emma", "Jo"].map(person)));
    w.add_fact("You", "OWNS", "Biscuit", "my dog is called Biscuit");
    w.add_fact("Emma", "OWNS", "Waffles", "Emma's dog is called Waffles");
    w.add_fact("John", "OWNS", "Kit", "John has a dog called Kit");
    w.add_fact("John", "OWNS", "Tom", "John has a dog called Kit and a cat called Tom");
    w.add_fact("You", "FAMILY_OF", "Pete", "My uncle Pete");
    w.add_fact("You", "FAMILY_OF", "Jo", "My wife is called Jo");
    let dean = w.add_fact("You", "FAMILY_OF", "Dean", "my ex Dean");
    (dean.fact.status, dean.evidence[0].stance) = (FactStatus::Ended, Stance::Ends);
    w.add_message(None, "My rabbits are called Fluff, Puff and Stuff.");
    for (name, said) in [("Fluff", "My rabbits are called Fluff"), ("Puff", "Puff"), ("Stuff", "Stuff")] {
        w.add_fact("You", "OWNS", name, said).evidence[0].message = MessageId(id("My rabbits are called Fluff, Puff and Stuff."));
    }
    let family = Ontology::parse(&ONTOLOGY.replace("\"cousin\"", "\"cousin\", \"ex\", \"gran\", \"nan\"")).unwrap();
    let answerer = ExtractiveAnswerer::new(&family, LocalEmbedder::load().unwrap(), Networks::default());
    let context = Context { messages: w.messages.clone(), facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
    for (question, expected) in [
        ("What is my dog called?", "Your dog is called Biscuit [1]."),
        ("What is my dog's name?", "Your dog is called Biscuit [1]."),
        ("What's Emma's dog called?", "Emma's dog is called Waffles [1]."),
        ("What is John's dog called?", "John's dog is called Kit [1]."),
        ("What is John's cat called?", "John's cat is called Tom [1]."),
        ("What are my rabbits called?", "Your rabbits are called Fluff [1], Puff [2] and Stuff [3]."),
        ("Is my dog called Max?", "Your dog is called Biscuit [1]."),
        ("Is my dog called Biscuit?", "Yes, your dog is called Biscuit [1]."),
        ("Is my wife called Mary?", "Your wife is Jo [1]."),
        ("Is my wife called Jo?", "Yes, your wife is Jo [1]."),
        ("Is my cat called Max?", UNKNOWN),
        ("Who is Pete?", "Pete is your uncle [1]."),
        ("Who is Dean?", "Dean is your ex [1]."),
        // Oslo may be a part of Ghent, as far as anybody knows.
        ("Do I live in Oslo?", UNKNOWN),
    ] {
        assert_eq!(answer_now(&answerer, &asked(question), &context).text.as_str(), expected, "{question}");
    }
}

#[test]
fn values_are_written_as_they_were_told() {
    const VALUES: &str = r#"
[[relation]]
name = "AGE"
phrase = "is aged"
description = "How old."
value_types = ["number"]
unit = "year"
functional = true
half_life_days = 365.0
cues.questions = ["how old"]
[[relation]]
name = "BIRTHDAY"
phrase = "has the birthday"
description = "The day of birth."
value_types = ["date"]
functional = true
half_life_days = 3650.0
cues.nouns = ["birthday"]
[[relation]]
name = "AMOUNT"
phrase = "has the amount"
description = "A sum."
value_types = ["money"]
functional = true
labels = true
half_life_days = 365.0
cues.nouns = ["rent"]
[[relation]]
name = "DUE"
phrase = "is due on"
description = "The day by which something is done."
value_types = ["date"]
functional = true
half_life_days = 180.0
cues.verbs = ["be due"]
[[relation]]
name = "SIZE"
phrase = "measures"
description = "How large."
value_types = ["number"]
functional = true
half_life_days = 1825.0
cues.verbs = ["weigh", "measure"]
"#;
    use recall_domain::{FactValue, ValueType};
    let ontology = Ontology::parse(&format!("{ONTOLOGY}{VALUES}")).unwrap();
    let answerer = ExtractiveAnswerer::new(&ontology, LocalEmbedder::load().unwrap(), Networks::default());
    let mut w = test_memory();
    for (subject, relation, value, label, said) in [
        ("You", "AGE", "34", None, "I'm 34"),
        ("You", "BIRTHDAY", "3 March", None, "My birthday is on 3 March"),
        ("You", "AMOUNT", "£900", Some("rent"), "My rent is £900 a month"),
        ("Mary", "DUE", "April 2027", None, "Mary is due in April 2027"),
        ("You", "SIZE", "80 kilos", None, "I weigh 80 kilos"),
        ("John", "SIZE", "2 m", None, "John measures 2 m"),
    ] {
        let types = [ValueType::Number, ValueType::Date, ValueType::Money];
        let mut parsed = FactValue::parse(value, &types).unwrap();
        parsed.label = label.map(Into::into);
        w.add_fact(subject, relation, "office", said).fact.value = Some(parsed);
    }
    let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
    for (question, expected) in [
        ("How much is my rent?", "Your rent is £900 a month [1]."),
        ("How much do I weigh?", "You weigh 80 kilos [1]."),
        ("How much does John measure?", "John measures 2 m [1]."),
        ("When is Mary due?", "Mary is due in April 2027 [1]."),
        ("Is my birthday in May?", "No, your birthday is 3 March [1]."),
        ("Is my birthday on 3rd March?", "Your birthday is 3 March [1]."),
        ("Am I 35?", "You are aged 34 [1]."),
    ] {
        assert_eq!(answer_now(&answerer, &asked(question), &context).text.as_str(), expected, "{question}");
    }
}

#[test]
fn article_makes_no_subject() {
    let mut w = test_memory();
    w.entities.push(entity("scarf", EntityType::Thing));
    w.add_message(None, "Lou gave me a scarf.");
    for question in ["Who gave me a scarf?", "Who gave me the scarf?"] {
        assert!(w.answer(question).text.as_str().contains("Lou"), "{question}");
    }
    assert!(!w.answer("Who gave me the mug?").grounded);
}

#[test]
fn what_excludes_the_question_is_not_quoted() {
    let mut w = test_memory();
    w.add_message(None, "I got my second covid jab on 4 June.");
    w.add_message(None, "Jess gave me a mug for Christmas.");
    for question in ["When was my first covid jab?", "What did I give Jess for Christmas?"] {
        let draft = w.answer(question);
        assert!(!draft.grounded, "{question} {}", draft.text.as_str());
    }
    for question in ["When was my second covid jab?", "What did Jess give me for Christmas?"] {
        assert!(w.answer(question).grounded, "{question}");
    }
}

#[test]
fn words_that_say_more_than_their_relation_must_be_told() {
    let mut w = test_memory();
    w.facts.clear();
    w.add_fact("You", "DISLIKES", "sushi", "i hate sushi");
    w.add_message(None, "i hate sushi");
    assert!(!w.answer("What am I afraid of?").grounded);
    w.add_fact("You", "DISLIKES", "spiders", "i'm afraid of spiders");
    assert_eq!(w.answer("What am I afraid of?").text.as_str(), "You are afraid of spiders [1].");
}

#[test]
fn near_words_alone_are_no_answer() {
    for (said, question) in [
        ("i got engaged to Sophie at christmas!", "When is our wedding?"),
        ("i got engaged to Sophie at christmas!", "Where is the wedding?"),
        ("i run 5k every saturday with Sarah", "What is Sarah's pb?"),
        ("john hates maths but loves art", "What school does john go to?"),
        ("Dave and Sarah postponed the wedding to next april", "What is my role at Dave's wedding?"),
        ("my boots are size 9", "How tall am I?"),
        ("i dont drink coffee anymore", "Do I drink alcohol?"),
    ] {
        let mut w = test_memory();
        w.facts.clear();
        w.add_message(None, said);
        let answer = w.answer(question);
        assert!(!answer.grounded, "{question} {}", answer.text.as_str());
    }
}

#[test]
fn people_without_capitals_are_found() {
    for (said, question) in [
        ("sarah has piano lessons on tuesdays at 5 with Mrs Kowalski", "who does sarah have piano lessons with?"),
        ("dave is getting married to steph on 5 september", "who is dave getting married to?"),
        ("sarah gave me a book about bees", "who gave me a book?"),
        ("john does the backend, sarah does the design", "what does sarah do?"),
        ("i got a B in my mock maths", "what did i get in my mock maths?"),
        ("hairdresser is on the 20th at 4", "when is my hairdresser appointment?"),
        ("i owe dave 200 for the car repair", "who do i owe money to?"),
        ("my locker code at the gym is 7713", "whats the code for my locker?"),
    ] {
        let mut w = test_memory();
        w.facts.clear();
        w.add_message(None, said);
        let answer = w.answer(question);
        assert!(answer.text.as_str().contains(said), "{question} {}", answer.text.as_str());
    }
}

#[test]
fn ends_are_dated_by_the_words_that_tell_them() {
    let mut w = test_memory();
    for (said, expected) in [
        ("I used to live in Lyon", "No, you no longer live in Lyon [1]. You live in Ghent [2]."),
        ("We left Lyon in 2020", "No, you no longer live in Lyon [1] (until 2020). You live in Ghent [2]."),
        ("We left Lyon", "No, you no longer live in Lyon [1] (until April 2026). You live in Ghent [2]."),
    ] {
        let lyon = w.facts.iter_mut().find(|f| f.object.name == "Lyon").unwrap();
        (lyon.fact.valid_to, lyon.evidence[0].excerpt) = (Some(at("2026-04-01")), said.into());
        assert_eq!(w.answer("Do I still live in Lyon?").text.as_str(), expected);
    }
}

#[test]
fn wrong_presumptions_are_corrected_where_the_truth_is_known() {
    let w = test_memory();
    assert_eq!(w.answer("Where do I live in Lyon?").text.as_str(), "No, you live in Ghent [1].");
    assert_eq!(w.answer("Where do I live in Oslo?").text.as_str(), "No, you live in Ghent [1].");
    for question in ["Where do I live in Ghent?", "Where does John live in Oslo?"] {
        assert!(!w.answer(question).grounded, "{question}");
    }
}

#[test]
fn home_before_the_next_one_is_known_without_a_fact_of_the_move() {
    let mut w = test_memory();
    w.entities.push(entity("Linz", EntityType::Place));
    w.add_fact("Mary", "LIVES_IN", "Linz", "Mary lives in Linz").fact.last_support = Some(at("2026-04-01"));
    assert!(!w.answer("Where did Mary live before Graz?").grounded);
    w.add_message(None, "Mary is off to a flat in Graz.");
    assert_eq!(w.answer("Where did Mary live before Graz?").text.as_str(), "Mary lived in Linz [1].");
}

#[test]
fn statements_about_what_was_passed_over_or_namesakes_are_not_quoted() {
    let mut w = test_memory();
    w.entities.extend([entity("Callum Baird", EntityType::Person), entity("Callum Reid", EntityType::Person)]);
    w.add_message(None, "For the trip we picked Lofoten over Patagonia.");
    w.add_message(None, "Callum moved out last week.");
    w.add_message(None, "Marco was late because of the dog.");
    for question in ["What did we do on our trip to Patagonia?", "When did Callum Baird move out?", "What breed is Marco's dog?"] {
        let draft = w.answer(question);
        assert!(!draft.grounded, "{question} {}", draft.text.as_str());
    }
}

#[test]
fn roles_are_replaced_by_names() {
    let mut w = test_memory();
    w.entities.push(entity("Ida", EntityType::Person));
    w.add_fact("You", "FAMILY_OF", "Ida", "my daughter Ida");
    w.add_fact("Mary", "MANAGES", "Dave", "Mary is Dave's boss");
    let rephrase = |question: &str| {
        let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
        ANSWERER.rephrase(&asked(question), &context).map(|t| t.as_str().to_owned())
    };
    assert_eq!(rephrase("Where does my daughter live?").as_deref(), Some("Where does Ida live?"));
    assert_eq!(rephrase("Hm. Who likes my boss's boss?").as_deref(), Some("Hm. Who likes Dave's boss?"));
    assert_eq!(rephrase("Who likes Dave's boss?").as_deref(), Some("Who likes Mary?"));
    assert_eq!(rephrase("What does Ida do?").as_deref(), Some("What does Ida work as, what is Ida's job?"));
    for question in [
        "Who is my daughter?",
        "What is my daughter's name?",
        "Is my daughter called Eva?",
        "Is my daughter's name Eva?",
        "Where does my sister live?",
        "Where does Ida live?",
    ] {
        assert_eq!(rephrase(question), None, "{question}");
    }
}

proptest::proptest! {
    #[test]
    fn any_message_is_handled_and_at_most_three_are_quoted(
        question in "(who|where|when|what|why|how many|how old|does|did|before|yesterday|in May|or|John|cat|lives?|have|[\\PC]{0,5}| |\\?){0,10}",
        said in proptest::collection::vec("(John|she|I|the cat|has|lives? in|two|yesterday|May|not|because|\\. |[\\PC]{0,6}| ){0,12}", 1..6),
    ) {
        let mut w = test_memory();
        w.facts.clear();
        for text in &said {
            w.add_message(None, text);
        }
        let draft = w.answer(&question);
        proptest::prop_assert_eq!(draft.grounded, !draft.citations.is_empty());
        proptest::prop_assert!(draft.citations.len() <= 3);
        for citation in &draft.citations {
            proptest::prop_assert!(said.iter().any(|s| s.contains(citation.excerpt.as_str().trim_end_matches('…'))));
        }
    }
}

#[test]
fn value_that_a_later_message_changes_is_neither_yes_nor_no() {
    const DIET: &str = r#"
[[relation]]
name = "DIET"
phrase = "has the diet"
description = "What somebody does not eat."
value_types = ["text"]
half_life_days = 1095.0
cues.nouns = ["diet"]
cues.adjectives = ["vegetarian"]
"#;
    use recall_domain::{FactValue, ValueType};
    let ontology = Ontology::parse(&format!("{ONTOLOGY}{DIET}")).unwrap();
    let answerer = ExtractiveAnswerer::new(&ontology, LocalEmbedder::load().unwrap(), Networks::default());
    let mut w = test_memory();
    w.add_fact("Mary", "DIET", "office", "Mary is vegetarian").fact.value = FactValue::parse("vegetarian", &[ValueType::Text]);
    w.add_message(None, "Mary is vegetarian");
    let answer = |w: &TestMemory| {
        let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), messages: w.messages.clone(), ..Context::default() };
        answer_now(&answerer, &asked("Is Mary vegetarian?"), &context).text.into_string()
    };
    assert_eq!(answer(&w), "Yes, Mary's diet is vegetarian [1].");
    w.add_message(None, "Mary eats meat again");
    assert_eq!(answer(&w), "Mary's diet is vegetarian [1]. On 8 May 2026 you said: “Mary eats meat again” [2].");
}

#[test]
fn statement_that_is_replaced_is_left_out() {
    let mut w = test_memory();
    w.facts.clear();
    w.entities.push(entity("green", EntityType::Concept));
    for (object, said) in [("sushi", "My favourite dish is sushi"), ("green", "My favourite dish is green now")] {
        w.add_fact("You", "LIKES", object, said);
        w.add_message(None, said);
    }
    assert_eq!(w.answer("What do I like?").text.as_str(), "You like green [1].");
    w.messages.pop();
    w.add_message(None, "My favourite dish is green");
    assert_eq!(w.answer("What do I like?").text.as_str(), "You like sushi [1] and green [2].");
}

#[test]
fn message_of_ended_facts_comes_with_the_message_that_ended_them() {
    const NOW: &str = "I'm now a driver at Globex";
    let mut w = test_memory();
    w.facts.clear();
    let fact = w.add_fact("You", "WORKS_FOR", "Acme", "I work at Acme as a cook");
    fact.fact.status = FactStatus::Ended;
    let end = Evidence { message: MessageId(id(NOW)), stance: Stance::Ends, excerpt: NOW.into(), ..fact.evidence[0].clone() };
    fact.evidence.push(end);
    w.add_message(None, "I work at Acme as a cook");
    w.add_message(None, NOW);
    let text = w.answer("What's my job?").text.into_string();
    assert!(text.find("driver").unwrap() < text.find("cook").unwrap(), "{text}");
}

#[test]
fn role_before_a_name_tells_namesakes_apart() {
    let mut w = test_memory();
    w.facts.clear();
    w.entities.push(person("Tom"));
    w.add_fact("Tom", "WORKS_FOR", "Acme", "my brother Tom works at Acme");
    let other = Entity { id: EntityId(id("another Tom")), ..person("Tom") };
    let fact = w.add_fact("Tom", "LIKES", "sushi", "my colleague Tom likes sushi");
    (fact.fact.subject, fact.subject) = (other.id, other.clone());
    w.entities.push(other);
    assert!(w.answer("Does my colleague Tom like sushi?").grounded && w.answer("Does my brother Tom work at Acme?").grounded);
    assert!(!w.answer("Does my brother Tom like sushi?").grounded && !w.answer("Does my colleague Tom work at Acme?").grounded);
    w.add_fact("You", "FAMILY_OF", "Tom", "my brother Tom works at Acme");
    let context = Context { facts: w.facts.clone(), entities: w.entities.clone(), ..Context::default() };
    let rephrased = |question: &str| ANSWERER.rephrase(&asked(question), &context).map(UserText::into_string);
    assert_eq!(rephrased("Where does my brother work?").as_deref(), Some("Where does my brother Tom work?"));
    assert_eq!(rephrased("Where does my brother Tom work?"), None);
}
