//! Tests the pipeline with examples. [`grammar`] reads the examples by grammatical phenomenon in `tests/data/grammar`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use recall_domain::{CandidateValue, EntityType, MessageKind, Polarity, Word};

fn pipeline() -> &'static Pipeline {
    static PIPELINE: std::sync::OnceLock<Pipeline> = std::sync::OnceLock::new();
    PIPELINE.get_or_init(|| Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap())))
}

/// Returns "subject RELATION object polarity" of each fact, with "user" for the speaker.
fn facts(text: &str) -> Vec<String> {
    fact_lines(&pipeline().read(text))
}

fn fact_lines(e: &Extraction) -> Vec<String> {
    let name = |p: Party| match p {
        Party::Speaker => "user".to_owned(),
        Party::Mention(i) => e.mentions[i].name.clone(),
    };
    let entity_facts = e.facts.iter().filter(|f| f.value.is_none());
    let mut out: Vec<String> =
        entity_facts.map(|f| format!("{} {} {} {}", name(f.subject), f.relation, name(f.object), f.polarity.word())).collect();
    out.sort();
    out
}

/// Returns "subject RELATION value polarity" of each fact with a value. A relative date is in brackets.
fn values(text: &str) -> Vec<String> {
    let e = pipeline().read(text);
    let name = |p: Party| match p {
        Party::Speaker => "user".to_owned(),
        Party::Mention(i) => e.mentions[i].name.clone(),
    };
    let value = |v: &CandidateValue| match v {
        CandidateValue::Known(value) => Some(value.shown()),
        CandidateValue::Relative { text, .. } => Some(format!("({})", text.as_str())),
        CandidateValue::Note(_) => None,
    };
    let found = e.facts.iter().filter_map(|f| Some((f, value(f.value.as_ref()?)?)));
    let mut out: Vec<String> = found.map(|(f, v)| format!("{} {} {v} {}", name(f.subject), f.relation, f.polarity.word())).collect();
    out.sort();
    out
}

fn type_of(text: &str, name: &str) -> Option<EntityType> {
    pipeline().read(text).mentions.iter().find(|m| m.name == name).map(|m| m.entity_type)
}

#[test]
fn plain_statement_has_full_confidence() {
    let found = pipeline().read("John likes Mary.");
    assert_eq!(fact_lines(&found), ["John LIKES Mary affirmed"]);
    assert!((found.facts[0].confidence - 1.0).abs() < f64::EPSILON);
    assert_eq!(found.mentions.iter().map(|m| m.entity_type).collect::<Vec<_>>(), [EntityType::Person, EntityType::Person]);
    assert_eq!((found.facts[0].span.start, found.facts[0].span.end), (0, 15));
    assert_eq!(found.kind, MessageKind::Statement);
}

#[test]
fn places_that_employ_people_and_roles_in_parentheses_are_read() {
    assert_eq!(facts("Solveig works at the Queensland Museum."), ["Solveig WORKS_FOR Queensland Museum affirmed"]);
    assert_eq!(facts("I work in Queensland."), Vec::<String>::new());
    assert_eq!(
        facts("Arjun (that's my brother) lives in Adelaide."),
        ["Arjun LIVES_IN Adelaide affirmed", "user FAMILY_OF Arjun affirmed"]
    );
}

#[test]
fn ends_without_a_stated_relation_reach_what_they_name() {
    for (text, expected) in [
        ("I sold the car and bought a canoe.", &["user OWNS canoe affirmed", "user OWNS car ended"][..]),
        ("I gave up my allotment.", &["user OWNS allotment ended"]),
        ("I had to sell the car.", &["user OWNS car ended"]),
        ("We had to put Monty to sleep.", &["user OWNS Monty ended"]),
        ("I sold the car and travelled for a year.", &["user OWNS car ended"]),
        ("I have to sell the car.", &[]),
        ("People think I sold my bike.", &["user OWNS bike affirmed"]),
        ("I lost Rex in the park but found him again.", &[]),
        ("They stole my bike, but I got it back.", &["user OWNS bike affirmed"]),
        ("I quit sugar.", &[]),
        ("I quit Deloitte.", &["user WORKS_FOR Deloitte ended"]),
        ("I no longer work at Bosch on Fridays.", &[]),
        ("I don't work at Bosch at weekends.", &[]),
        ("I just finished my shift at Deloitte.", &[]),
        ("I finished at Deloitte in May.", &["user WORKS_FOR Deloitte ended"]),
        ("I was engaged to Rob.", &["user FAMILY_OF Rob ended"]),
        ("I am engaged to Rob.", &["user FAMILY_OF Rob affirmed"]),
        ("Raj sold me his car.", &["Raj OWNS car ended", "user OWNS car affirmed"]),
        ("I gave Tom my bike.", &["Tom OWNS bike affirmed", "user OWNS bike ended"]),
        ("I gave up my seat.", &[]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
    for text in [
        "They said I had to sell my car.",
        "In my dream I had to sell my car.",
        "I gave up my bike for a week.",
        "I had to put my laptop to sleep.",
        "I cancelled my phone.",
        "I had to leave Acme early today.",
        "I left Bosch at six tonight.",
        "I left Tom a note.",
        "My boss left me a note.",
    ] {
        assert!(!facts(text).iter().any(|f| f.ends_with("ended")), "{text}");
    }
}

#[test]
fn homes_are_read_from_their_place() {
    for (text, expected) in [
        ("My new flat is in Braga.", Some("user LIVES_IN Braga affirmed")),
        ("My home is in Braga.", Some("user LIVES_IN Braga affirmed")),
        ("Ann's flat is in Braga.", Some("Ann LIVES_IN Braga affirmed")),
        ("My old flat was in Braga.", None),
        ("My holiday home is in Braga.", None),
        ("We have a house in Spain.", None),
        ("My flat isn't in Braga.", None),
    ] {
        let homes: Vec<String> = facts(text).into_iter().filter(|f| f.contains("LIVES_IN")).collect();
        assert_eq!(homes, expected.into_iter().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn value_of_kin_without_apostrophe_is_theirs() {
    assert_eq!(values("My dads number is 0161 496 0000."), ["dad PHONE 0161 496 0000 affirmed"]);
}

#[test]
fn ended_and_negated_facts_are_distinguished() {
    assert_eq!(facts("I no longer use React, I switched to Vue."), ["user USES React ended", "user USES Vue affirmed"]);
    assert_eq!(facts("I don't use React."), ["user USES React negated"]);
}

#[test]
fn states_of_a_past_time_have_ended() {
    for (text, expected) in [
        ("As a child I had a pony and lived in Wales.", true),
        ("From 1979 to 1994 I worked for British Coal.", true),
        ("I lived in Wales when I was a kid.", true),
        ("Back in the 90s I owned a Fiesta.", true),
        ("I worked for Siemens for 12 years.", true),
        ("I have worked for Siemens for 12 years.", false),
        ("I live in Wales.", false),
        ("We have had our dog since I was 23.", false),
        ("I loved the Louvre when I was in Paris.", false),
        ("I bought a Fiesta years ago.", false),
    ] {
        let found = facts(text);
        assert!(!found.is_empty() && found.iter().all(|f| f.ends_with("ended") == expected), "{text}: {found:?}");
    }
}

#[test]
fn documented_sentences_give_their_facts() {
    let phoenix = facts("I'm using FastAPI for project Phoenix with my colleague Sarah");
    for fact in ["user USES FastAPI affirmed", "user WORKS_WITH Sarah affirmed"] {
        assert!(phoenix.contains(&fact.to_owned()), "{phoenix:?}");
    }
    assert_eq!(type_of("I'm using FastAPI for project Phoenix with my colleague Sarah", "Phoenix"), Some(EntityType::Project));
    let dave = pipeline().read("My manager Dave approved the budget");
    assert_eq!(fact_lines(&dave), ["Dave MANAGES user affirmed"]);
    assert_eq!(dave.mentions[0].description.as_deref(), Some("manager"));
    assert_eq!(facts("I prefer Python over JavaScript"), ["user PREFERS Python affirmed"]);
    assert_eq!(facts("Project Apollo uses PostgreSQL"), ["Apollo USES PostgreSQL affirmed"]);
    assert_eq!(facts("Sarah works on the backend team"), ["Sarah WORKS_ON backend team affirmed"]);
    assert_eq!(
        facts("We moved from Lyon to Ghent in March, and Sarah joined the backend team."),
        ["Sarah PART_OF backend team affirmed", "user LIVES_IN Ghent affirmed", "user LIVES_IN Lyon ended"]
    );
}

#[test]
fn verb_added_to_the_ontology_is_found_in_text() {
    let extended = format!(
        "{}\n[[relation]]\nname = \"MENTORS\"\nphrase = \"mentors\"\ndescription = \"Guides.\"\nsubject_types = [\"person\"]\nobject_types = [\"person\"]\nhalf_life_days = 100.0\ncues.verbs = [\"befuddle\", \"zorgle up\"]\n",
        default_ontology()
    );
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(&extended).unwrap()));
    assert_eq!(fact_lines(&pipeline.read("Anna befuddles Ben.")), ["Anna MENTORS Ben affirmed"]);
    assert_eq!(fact_lines(&pipeline.read("Ben is befuddled by Anna.")), ["Anna MENTORS Ben affirmed"]);
    assert_eq!(fact_lines(&pipeline.read("I zorgled up Tom.")), ["user MENTORS Tom affirmed"]);
    assert!(facts("Anna befuddles Ben.").is_empty());
}

#[test]
fn default_ontology_has_the_documented_relations() {
    let ontology = Ontology::parse(default_ontology()).unwrap();
    assert_eq!(ontology.iter().filter(|r| !r.has_values()).count(), 18);
    assert_eq!(ontology.iter().filter(|r| r.has_values() && !r.notes).count(), 15);
    assert_eq!(ontology.iter().filter(|r| r.notes).count(), 1);
    assert!(ontology.get("LIVES_IN").unwrap().functional);
    assert_eq!(ontology.get("LIKES").unwrap().opposite.as_deref(), Some("DISLIKES"));
}

#[test]
fn unasserted_clauses_make_no_fact() {
    for text in [
        "I want to visit Rome.",
        "You should try Rust.",
        "Do you like sushi?",
        "If I lived in Paris I would love it.",
        "She said \"I love Vim\" and laughed.",
        "I might switch to Vue.",
        "I'd love to see Kyoto.",
        "Maybe John likes Mary.",
        "```\nI love COBOL\n```",
        "> I use Emacs\nlol",
        "I almost bought a boat.",
        "We're thinking about moving to Oslo.",
    ] {
        assert_eq!(facts(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn fact_spans_point_into_the_original() {
    let text = "😀 Hi! **John** likes “Dune”… I can’t stand Jenkins, ok";
    let original: Vec<char> = text.chars().collect();
    let found = pipeline().read(text);
    let cut: Vec<String> = found.facts.iter().map(|f| original[f.span.start as usize..f.span.end as usize].iter().collect()).collect();
    assert!(cut.iter().any(|c| c.starts_with("John") && c.contains("likes")), "{cut:?}");
    assert!(cut.iter().any(|c| c == "I can’t stand Jenkins"), "{cut:?}");
}

#[test]
fn hedge_lowers_confidence() {
    let sure = pipeline().read("John likes Mary.").facts[0].confidence;
    let hedged = pipeline().read("I think John likes Mary.");
    assert_eq!(fact_lines(&hedged), ["John LIKES Mary affirmed"]);
    assert!(hedged.facts[0].confidence < sure && hedged.facts[0].confidence >= 0.5);
}

#[test]
fn message_kind_is_recognised() {
    for (text, kind) in [
        ("Thanks so much!", MessageKind::Other),
        ("What's your favorite color?", MessageKind::Question),
        ("I like tea. Do you?", MessageKind::Mixed),
        ("I moved to Oslo last year.", MessageKind::Statement),
        ("Where do you live", MessageKind::Question),
        ("You should give it a try.", MessageKind::Other),
        ("I wish I had more time.", MessageKind::Statement),
    ] {
        assert_eq!(pipeline().read(text).kind, kind, "{text}");
    }
}

mod chat;
mod discourse;
mod ontology;
mod pronouns;
mod robust;
mod values;

/// One example of the grammar file.
#[derive(serde::Deserialize)]
struct Example {
    text: String,
    #[serde(default)]
    facts: Vec<String>,
    #[serde(default)]
    types: std::collections::BTreeMap<String, EntityType>,
    kind: Option<MessageKind>,
}

#[test]
fn grammar() {
    let sections: std::collections::BTreeMap<String, Vec<Example>> =
        toml::from_str(include_str!("../../../tests/data/grammar/grammar.toml")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (section, examples) in sections {
        for example in examples {
            count += 1;
            let found = pipeline().read(&example.text);
            let mut expected = example.facts.clone();
            expected.sort();
            if fact_lines(&found) != expected {
                wrong.push(format!("{section}: {}\n   expected {expected:?}\n   found    {:?}", example.text, fact_lines(&found)));
            }
            for (name, ty) in &example.types {
                let got = found.mentions.iter().find(|m| m.name == *name).map(|m| m.entity_type);
                if got != Some(*ty) {
                    wrong.push(format!("{section}: {}: type of {name} is {got:?}", example.text));
                }
            }
            if example.kind.is_some_and(|k| k != found.kind) {
                wrong.push(format!("{section}: {}: kind is {:?}", example.text, found.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{} failures in {count} examples\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks that facts point into the mentions, spans into the text, and that confidence is between one half and one.
fn check_sound(text: &str, e: &Extraction) {
    let length = u32::try_from(text.chars().count()).unwrap();
    for f in &e.facts {
        assert!(f.span.start < f.span.end && f.span.end <= length, "{text:?}");
        assert!((0.5..=1.0).contains(&f.confidence));
        for p in [f.subject, f.object] {
            assert!(matches!(p, Party::Speaker) || matches!(p, Party::Mention(i) if i < e.mentions.len()));
        }
    }
    for m in &e.mentions {
        assert!(!m.name.is_empty() && m.span.end <= length && (0.0..=1.0).contains(&m.confidence), "{text:?}");
    }
}

#[test]
fn arbitrary_bytes_do_not_panic() {
    bolero::check!().with_type::<Vec<u8>>().for_each(|bytes: &Vec<u8>| {
        let text = String::from_utf8_lossy(bytes);
        check_sound(&text, &pipeline().read(&text));
    });
}

proptest::proptest! {
    #[test]
    fn arbitrary_words_are_read_deterministically(words in proptest::collection::vec(proptest::sample::select(vec![
        "I", "my", "not", "to", "'s", "’s", "use", "used", "like", "don't", "no", "longer", "from", "switched", "Dave", "sister", "\"", ",", ".", "?", "and",
        "who", "that", "is", "of", "Vim", "the", "new", "named", "😀", "`x", "```", "[", "](", "https://a.b", "(", ")", "—", "be", "have", "going", "hiking", "in",
        "Paris", "one", "\n", "> ", "a", "lot", "if", "you", "ex-wife", "can't", "stand", "favorite", "project", "Inc", "n't", "'", "1", "…", "*", "_"]), 0..40)) {
        let text = words.join(" ");
        let once = pipeline().read(&text);
        check_sound(&text, &once);
        proptest::prop_assert_eq!(once, pipeline().read(&text));
    }
}

#[test]
fn long_texts_are_read() {
    for unit in [
        "word ",
        "I like tea. ",
        "\"",
        "```",
        "[a](",
        "and Tom ",
        "my sister's ",
        "😀",
        "’s ",
        "not ",
        "to ",
        ", ",
        "https://",
        "`",
        "a.b.",
    ] {
        let text: String = unit.repeat(65_536 / unit.len());
        check_sound(&text, &pipeline().read(&text));
    }
    assert_eq!(facts(&"I like tea. ".repeat(1000)), ["user LIKES tea affirmed"]);
    assert_eq!(pipeline().read("I sold the car.").facts[0].polarity, Polarity::Ended);
}
