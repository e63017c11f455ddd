//! Quality of entity resolution: composed dialogues go through extractor, learner and store like messages.
//! The entities of their mentions are compared with labels.
//!
//! Pairwise precision: the share of resolved pairs of mentions that are correct. Pairwise recall: the share of
//! correct
//! pairs that were resolved. B-cubed (Bagga and Baldwin 1998) averages the same per mention, so that an entity with
//! many
//! mentions does not outweigh the others.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use recall::system::{RandomIds, SystemClock};
use recall_domain::{Caller, EntityId, EntityKey, EventId, MessageId, Ontology, Role, SessionId, UserId, ViewerRole};
use recall_facts::{Learner, SessionLimits, Statement};
use recall_ports::{Clock, Embedding, ExtractInput, Extractor, FollowUp, Ids, IndexEntry, NewMessage, Store};
use recall_understand::{LocalExtractor, Pipeline, default_ontology};
use serde::Deserialize;

use crate::stored::Stored;

/// Minimum B-cubed precision and recall, just below the current values.
const FLOOR_WORKED: (f64, f64) = (0.985, 0.96);
const FLOOR_ASIDE: (f64, f64) = (0.985, 0.95);
/// Minimum share of labelled mentions that the extractor finds; otherwise the other figures mean nothing.
const FOUND: f64 = 0.9;

#[derive(Deserialize)]
struct File {
    dialogue: Vec<Dialogue>,
}

#[derive(Deserialize)]
struct Dialogue {
    name: String,
    sessions: Vec<Vec<String>>,
}

/// A labelled mention: its position and its entity.
struct Label {
    start: u32,
    end: u32,
    who: String,
}

/// The entity that a labelled mention was resolved to, if it was found.
struct Resolved {
    who: String,
    entity: Option<EntityId>,
    key: Option<String>,
}

/// Parses "[John|boss] called" into text and labels.
fn read(marked: &str) -> (String, Vec<Label>) {
    let (mut text, mut labels, mut rest) = (String::new(), Vec::new(), marked);
    while let Some((before, tail)) = rest.split_once('[') {
        text.push_str(before);
        let (mark, after) = tail.split_once(']').unwrap();
        let (words, who) = mark.split_once('|').unwrap();
        let start = text.chars().count() as u32;
        text.push_str(words);
        labels.push(Label { start, end: text.chars().count() as u32, who: who.to_owned() });
        rest = after;
    }
    text.push_str(rest);
    (text, labels)
}

/// Extracts and learns messages on a store, without a server.
pub(crate) struct LearningFixture {
    pub(crate) store: Arc<dyn Store>,
    stored: Stored,
    extractor: LocalExtractor,
    learner: Learner,
}

impl LearningFixture {
    /// Creates one for each available engine.
    pub(crate) async fn all() -> Vec<Self> {
        Stored::all().await.into_iter().map(Self::build_on).collect()
    }

    fn build_on(stored: Stored) -> Self {
        let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
        let store = stored.store.clone();
        let learner =
            Learner::new(store.clone(), ontology.clone(), Arc::new(SystemClock), Arc::new(RandomIds::default()), SessionLimits::default());
        Self { store, extractor: LocalExtractor::new(Arc::new(Pipeline::new(ontology))), learner, stored }
    }

    /// Plays a dialogue as a new user; returns each labelled mention with its entity, if it was found.
    async fn tell(&self, dialogue: &Dialogue, show: bool) -> Vec<Resolved> {
        let ids = RandomIds::default();
        let caller = Caller::verified(UserId(ids.fresh()), ViewerRole::User);
        let (mut labels, mut messages): (Vec<(MessageId, Label)>, Vec<MessageId>) = Default::default();
        for (i, session) in dialogue.sessions.iter().enumerate() {
            let id = SessionId(ids.fresh());
            self.store.create_session(&caller, id, None, "epoch".into(), SystemClock.now()).await.unwrap();
            let mut previous = Vec::new();
            for (j, marked) in session.iter().enumerate() {
                let (speaker, marked) = match marked.strip_prefix('@').and_then(|m| m.split_once(": ")) {
                    Some((speaker, rest)) => (Some(speaker.to_owned()), rest),
                    None => (None, marked.as_str()),
                };
                let (text, found) = read(marked);
                // Sessions are a week apart, and messages a minute.
                let at = SystemClock.now() - Duration::from_secs(((10 - i as u64) * 7 * 24 * 60 - j as u64) * 60);
                let message = self.say(&caller, id, speaker, text, &previous, at).await;
                previous.push(message.1);
                if previous.len() > 2 {
                    previous.remove(0);
                }
                messages.push(message.0);
                labels.extend(found.into_iter().map(|l| (message.0, l)));
            }
        }
        let store: &dyn Store = self.store.as_ref();
        let mentions = store.mentions_in(&caller, &messages).await.unwrap();
        let decisions = store.decisions_in(&caller, &messages).await.unwrap();
        if show {
            println!("== {}", dialogue.name);
        }
        let mut out = Vec::new();
        for (message, label) in labels {
            let of_message: Vec<_> = mentions.iter().filter(|(m, ..)| *m == message).collect();
            let overlaps = |m: &recall_domain::Mention| m.span.start < label.end && label.start < m.span.end;
            let place = of_message.iter().position(|(_, _, m)| overlaps(m));
            let entity = place.map(|p| of_message[p].1);
            if show {
                let why = decisions.iter().find(|(m, o, _)| *m == message && Some(*o as usize) == place).map(|(_, _, d)| d);
                let name = place.map_or("(not found)", |p| of_message[p].2.name.as_str());
                let short = entity.map(|e| e.to_string()[30..].to_owned());
                println!("{:>10} {name:<20} {} {why:?}", label.who, short.unwrap_or_default());
            }
            let key = place.and_then(|p| EntityKey::of(&of_message[p].2.name)).map(|k| k.as_str().to_owned());
            out.push(Resolved { who: format!("{}/{}", dialogue.name, label.who), entity, key });
        }
        out
    }

    pub(crate) async fn say(
        &self,
        caller: &Caller,
        session: SessionId,
        speaker: Option<String>,
        text: String,
        previous: &[recall_domain::UserText],
        at: recall_domain::Timestamp,
    ) -> (MessageId, recall_domain::UserText) {
        let ids = RandomIds::default();
        let text = recall_domain::UserText::from(text);
        let message = NewMessage {
            id: MessageId(ids.fresh()),
            session,
            role: Role::User,
            speaker: speaker.clone(),
            text: text.clone(),
            sent_at: at,
            created_at: at,
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared: IndexEntry { terms: vec![], model: "none".into(), embedding: Embedding(vec![1.0]), further: vec![] },
            mining: FollowUp::Nothing,
            answer_from: Default::default(),
            kind: None,
            event: EventId(ids.fresh()),
            title: None,
            answers: None,
        };
        let stored = self.store.append(caller, session, vec![message]).await.unwrap().remove(0).message;
        let input = ExtractInput { text: text.clone(), speaker: speaker.clone(), previous: previous.to_vec(), ..ExtractInput::default() };
        let extraction = self.extractor.extract(caller, &input).await.unwrap();
        let statement =
            Statement { message: stored.id, session, at, text: text.clone(), speaker, is_impersonal: false, chunk_event: None, extraction };
        self.learner.learn(caller, vec![(statement, None)], None).await.unwrap();
        (stored.id, text)
    }
}

#[derive(Debug)]
struct Figures {
    mentions: usize,
    found: f64,
    pairs: (f64, f64),
    b_cubed: (f64, f64),
}

fn f1((p, r): (f64, f64)) -> f64 {
    if p + r == 0.0 { 0.0 } else { 2.0 * p * r / (p + r) }
}

fn measure<E: PartialEq>(all: &[(String, Option<E>)]) -> Figures {
    let found: Vec<(&String, &E)> = all.iter().filter_map(|(who, e)| Some((who, e.as_ref()?))).collect();
    let (mut same, mut taken, mut meant) = (0u32, 0u32, 0u32);
    let (mut precision, mut recall) = (0.0, 0.0);
    for (i, (who, entity)) in found.iter().enumerate() {
        let (mut both, mut as_taken, mut as_meant) = (0.0, 0.0, 0.0);
        for (j, (other, other_entity)) in found.iter().enumerate() {
            let (t, m) = (entity == other_entity, who == other);
            as_taken += f64::from(t);
            as_meant += f64::from(m);
            both += f64::from(t && m);
            if i < j {
                taken += u32::from(t);
                meant += u32::from(m);
                same += u32::from(t && m);
            }
        }
        precision += both / as_taken;
        recall += both / as_meant;
    }
    let n = found.len() as f64;
    Figures {
        mentions: all.len(),
        found: n / all.len() as f64,
        pairs: (f64::from(same) / f64::from(taken), f64::from(same) / f64::from(meant)),
        b_cubed: (precision / n, recall / n),
    }
}

/// Returns the figures, and those of a baseline that compares only names.
async fn figures(fixture: &LearningFixture, file: &str) -> (Figures, Figures) {
    let dialogues: File = toml::from_str(file).unwrap();
    let show = std::env::var_os("SHOW").is_some();
    let (mut all, mut wrong): (Vec<_>, BTreeMap<String, (f64, f64)>) = Default::default();
    let mut by_name: Vec<(String, Option<String>)> = Vec::new();
    for dialogue in &dialogues.dialogue {
        let told = fixture.tell(dialogue, show).await;
        let f = measure(&told.iter().map(|t| (t.who.clone(), t.entity)).collect::<Vec<_>>());
        if f.b_cubed.0 < 1.0 || f.b_cubed.1 < 1.0 {
            wrong.insert(dialogue.name.clone(), f.b_cubed);
        }
        by_name.extend(told.iter().map(|t| (t.who.clone(), t.key.as_ref().map(|k| format!("{}/{k}", dialogue.name)))));
        all.extend(told.into_iter().map(|t| (t.who, t.entity)));
    }
    for (name, (p, r)) in wrong {
        println!("  {name}: B-cubed precision {p:.2}, recall {r:.2}");
    }
    (measure(&all), measure(&by_name))
}

async fn check(name: &str, file: &str, floor: (f64, f64)) {
    for fixture in LearningFixture::all().await {
        check_on(&fixture, name, file, floor).await;
    }
}

async fn check_on(fixture: &LearningFixture, name: &str, file: &str, floor: (f64, f64)) {
    let name = format!("{name}, {}", fixture.store.engine());
    let (f, by_name) = figures(fixture, file).await;
    println!(
        "{name}, the same name and nothing else: B-cubed P {:.3} R {:.3} F1 {:.3}",
        by_name.b_cubed.0,
        by_name.b_cubed.1,
        f1(by_name.b_cubed)
    );
    println!(
        "{name}: {} mentions, {:.1}% found; pairs P {:.3} R {:.3} F1 {:.3}; B-cubed P {:.3} R {:.3} F1 {:.3}",
        f.mentions,
        f.found * 100.0,
        f.pairs.0,
        f.pairs.1,
        f1(f.pairs),
        f.b_cubed.0,
        f.b_cubed.1,
        f1(f.b_cubed)
    );
    assert!(f.found >= FOUND, "{f:?}");
    assert!(f.b_cubed.0 >= floor.0 && f.b_cubed.1 >= floor.1, "{f:?}");
}

/// `cargo test --test integration entities -- --nocapture` prints the figures; with `SHOW=1` also every decision.
#[tokio::test]
async fn entity_resolution_meets_floors_on_worked_dialogues() {
    check("worked", include_str!("../data/entities/worked.toml"), FLOOR_WORKED).await;
}

#[tokio::test]
async fn entity_resolution_meets_floors_on_held_out_dialogues() {
    check("aside", include_str!("../data/entities/aside.toml"), FLOOR_ASIDE).await;
}

/// The number of statements per message must not grow with the stored knowledge.
#[tokio::test]
async fn statements_per_message_do_not_grow_with_knowledge() {
    for fixture in LearningFixture::all().await {
        assert_constant_statements(&fixture).await;
    }
}

async fn assert_constant_statements(fixture: &LearningFixture) {
    let ids = RandomIds::default();
    let caller = Caller::verified(UserId(ids.fresh()), ViewerRole::User);
    let session = SessionId(ids.fresh());
    fixture.store.create_session(&caller, session, None, "epoch".into(), SystemClock.now()).await.unwrap();
    let tell = async |text: &str| drop(fixture.say(&caller, session, None, text.into(), &[], SystemClock.now()).await);
    tell("My friend John likes tea.").await;
    let mut taken = Vec::new();
    // Once all names are known, further rounds only add facts about them.
    for round in ["tea coffee Ghent chess Mary", "jazz opera Lyon golf Anna", "rum cider Porto judo Vera", "soup bread Graz yoga Nora"] {
        for name in ["Johnny", "John Smith", "John Miller", "John from work", "Jonathan", "Mary Smith", "Mary", "Jon"] {
            for thing in round.split(' ') {
                tell(&format!("{name} likes {thing}.")).await;
            }
        }
        let before = fixture.stored.statements().await;
        tell("John from sales likes Mary.").await;
        taken.push(fixture.stored.statements().await - before);
    }
    println!("{}: statements of a message by round: {taken:?}", fixture.store.engine());
    // Names alone may not decide: two more statements, on PostgreSQL each with BEGIN and COMMIT. One more when the
    // two
    // commits notify other processes separately.
    assert!(taken.iter().all(|n| *n <= taken[0] + 7), "statements by round: {taken:?}");
}
