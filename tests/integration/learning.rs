//! Messages learned together leave the same memory as messages learned one by one.

use std::{collections::BTreeMap, sync::Arc};

use chrono::Duration;
use proptest::{prelude::*, test_runner::TestRunner};
use recall::system::RandomIds;
use recall_domain::{Caller, EventId, Message, MessageId, Ontology, Page, Role, SessionId, Timestamp, UserId, ViewerRole};
use recall_facts::{Learner, SessionLimits, Statement};
use recall_ports::{Clock, Embedding, EntityFilter, ExtractInput, Extractor, FactFilter, FollowUp, Ids, IndexEntry, NewMessage, Store};
use recall_understand::{LocalExtractor, Pipeline, default_ontology};

use crate::stored::Stored;

const ALL: Page = Page { first: 1000, after: None };

const SAID: [&str; 18] = [
    "I live in Ghent.",
    "I moved to Porto, I no longer live in Ghent.",
    "My sister Mia works for Acme in Berlin.",
    "Mia doesn't work for Acme anymore.",
    "John Smith is my neighbour. John likes jazz.",
    "John Miller manages the Atlas project.",
    "John hates jazz.",
    "We use PostgreSQL for Atlas.",
    "Atlas depends on Kafka.",
    "Atlas no longer uses PostgreSQL, it uses SQLite now.",
    "Kate, short for Katherine, is married to John Smith.",
    "Katherine likes tea.",
    "Where does Mia work?",
    "Thanks, see you tomorrow!",
    "My name is Robin.",
    "I like tea and I own a dog called Rex.",
    "My sister likes Rex.",
    "I don't like tea.",
];

/// A clock that stands still, so that both ways of learning store the same times.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp_millis(1_800_000_000_000).unwrap()
    }
}

struct Teller {
    store: Arc<dyn Store>,
    learner: Learner,
    extractor: LocalExtractor,
    ids: RandomIds,
}

impl Teller {
    fn new(store: Arc<dyn Store>) -> Self {
        let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
        let ids = Arc::new(RandomIds::default());
        let learner = Learner::new(store.clone(), ontology.clone(), Arc::new(StoppedClock), ids, SessionLimits::default());
        Self { store, learner, extractor: LocalExtractor::new(Arc::new(Pipeline::new(ontology))), ids: RandomIds::default() }
    }

    /// Tells texts as a new user, `together` at a time. Returns the memory, with names and places in place of ids.
    async fn tell(&self, texts: &[&str], together: usize) -> Vec<String> {
        let caller = Caller::verified(UserId(self.ids.fresh()), ViewerRole::User);
        let session = SessionId(self.ids.fresh());
        self.store.create_session(&caller, session, None, "epoch".into(), StoppedClock.now()).await.unwrap();
        let mut statements = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let message = self.keep(&caller, session, text, i).await;
            let previous = texts[i.saturating_sub(2)..i].iter().map(|t| (*t).into()).collect();
            let input = ExtractInput { text: message.text.clone(), previous, ..ExtractInput::default() };
            let extraction = self.extractor.extract(&caller, &input).await.unwrap();
            let (id, at, text) = (message.id, message.sent_at, message.text);
            statements.push(Statement {
                message: id,
                session,
                at,
                text,
                speaker: None,
                is_impersonal: false,
                chunk_event: None,
                extraction,
            });
        }
        let mut rest = statements.as_slice();
        while !rest.is_empty() {
            let next: Vec<_> = rest.iter().take(together).map(|s| (s.clone(), None)).collect();
            // A slow machine commits fewer at a time.
            let learned = self.learner.learn(&caller, next, None).await.unwrap().len();
            rest = &rest[learned..];
        }
        let messages: Vec<_> = statements.iter().map(|s| s.message).collect();
        self.memory(&caller, session, &messages).await
    }

    async fn keep(&self, caller: &Caller, session: SessionId, text: &str, place: usize) -> Message {
        let sent_at = StoppedClock.now() - Duration::days(100 - i64::try_from(place).unwrap());
        let message = NewMessage {
            id: MessageId(self.ids.fresh()),
            session,
            role: Role::User,
            speaker: None,
            text: text.into(),
            sent_at,
            created_at: sent_at,
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared: IndexEntry { terms: vec![], model: "none".into(), embedding: Embedding(vec![1.0]), further: vec![] },
            mining: FollowUp::Nothing,
            answer_from: Default::default(),
            kind: None,
            event: EventId(self.ids.fresh()),
            title: None,
            answers: None,
        };
        self.store.append(caller, session, vec![message]).await.unwrap().remove(0).message
    }

    async fn memory(&self, caller: &Caller, session: SessionId, messages: &[MessageId]) -> Vec<String> {
        let store = &self.store;
        let place = |id: MessageId| messages.iter().position(|m| *m == id);
        let entities = store.list_entities(caller, &EntityFilter::default(), &ALL).await.unwrap().items;
        // Several entities may have one name, but not the same first message as well.
        let names: BTreeMap<_, _> =
            entities.iter().map(|(_, e)| (e.id, format!("{} of {:?}", e.name, e.first_message.and_then(place)))).collect();
        let mut lines: Vec<String> = entities
            .into_iter()
            .map(|(_, e)| {
                let times = (e.created_at, e.updated_at);
                let counted = (e.mention_count, e.confidence, e.is_viewer);
                format!("{} {:?} {:?} {:?} {counted:?} {times:?}", names[&e.id], e.entity_type, e.aliases, e.description)
            })
            .collect();
        for (_, fact) in store.list_facts(caller, &FactFilter::default(), &ALL).await.unwrap().items {
            let said = format!("{} {} {}", names[&fact.subject], fact.relation, names[&fact.object]);
            for e in store.evidence_of(caller, &[fact.id], 1000).await.unwrap() {
                lines.push(format!("{said}: {:?} {:?} {} {:?} {}", place(e.message), e.stance, e.confidence, e.span, e.excerpt.as_str()));
            }
            let times = (fact.valid_from, fact.valid_to, fact.last_support, fact.weighed_at, fact.created_at, fact.updated_at);
            let weight = (fact.support, fact.opposition, fact.status, fact.flagged);
            lines.push(format!("{said} {weight:?} {times:?}"));
        }
        for (message, entity, mention) in store.mentions_in(caller, messages).await.unwrap() {
            lines.push(format!("{:?} mentions {} as {mention:?}", place(message), names[&entity]));
        }
        for (message, ordinal, decision) in store.decisions_in(caller, messages).await.unwrap() {
            lines.push(format!("{:?} {ordinal} {decision:?}", place(message)));
        }
        for message in store.messages_by_id(caller, messages).await.unwrap() {
            lines.push(format!("{:?} is {:?} {:?}", place(message.id), message.kind, message.status));
        }
        lines.sort();
        let events = store.events_after(caller, session, 0, 10_000).await.unwrap();
        lines.extend(events.iter().map(|e| format!("{} {}", e.seq, e.kind)));
        lines.push(format!("version {}", store.knowledge_version(caller).await.unwrap()));
        lines
    }
}

#[test]
fn messages_learned_together_leave_the_same_memory() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for stored in runtime.block_on(Stored::all()) {
        let teller = Teller::new(stored.store.clone());
        let mut runner = TestRunner::new(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() });
        let said = (prop::collection::vec(0..SAID.len(), 2..16), 2..16usize);
        runner
            .run(&said, |(said, together)| {
                let texts: Vec<_> = said.iter().map(|i| SAID[*i]).collect();
                let (one_by_one, at_once) = runtime.block_on(async { (teller.tell(&texts, 1).await, teller.tell(&texts, together).await) });
                prop_assert_eq!(one_by_one, at_once);
                Ok(())
            })
            .unwrap();
    }
}
