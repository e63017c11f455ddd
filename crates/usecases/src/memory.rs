//! Reads of one memory: objects by id, what belongs to them, and lists.
//!
//! The caller is given once, so two reads of one memory cannot be made for different callers.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use recall_domain::{
    Caller, Chunk, Comparison, ComparisonId, Day, DayUsage, Decision, Document, DocumentId, Entity, EntityId, Evidence, Fact, FactId,
    ForgettingId, Mention, Message, MessageId, Ontology, Page, Resource, Session, SessionId, Slice, Stance, Timestamp, TokenCount, Topic,
    TopicId, Word,
};
use recall_facts::weigh;
use recall_ports::{DocumentFilter, EntityFilter, FactFilter, Merged, SessionFilter, Store, StoreError};

/// Maximum number of facts that [`MemoryReader::rival_candidates`] returns, which bounds memory.
pub const MAX_RIVALS: u32 = 10_000;
/// Evidence rows read at a time while searching for the row of a cursor.
const EVIDENCE_ROWS: u32 = 100;

/// The id of an object that may belong to shared memory.
#[derive(Clone, Copy, Debug)]
pub enum ResourceId {
    /// A session.
    Session(SessionId),
    /// A message.
    Message(MessageId),
    /// An entity.
    Entity(EntityId),
    /// A fact.
    Fact(FactId),
    /// A document.
    Document(DocumentId),
}

/// Reads the memory of one caller. Every method fails with the error of the store.
#[derive(Clone)]
pub struct MemoryReader {
    caller: Caller,
    store: Arc<dyn Store>,
    ontology: Arc<Ontology>,
    /// Whether reads by id return entities that a forgetting hides.
    with_forgotten: bool,
}

impl MemoryReader {
    pub(super) fn new(caller: Caller, store: Arc<dyn Store>, ontology: Arc<Ontology>) -> Self {
        Self { caller, store, ontology, with_forgotten: false }
    }

    /// Returns the same memory with its forgotten entities, which name the sides of forgotten facts while the forgetting can be undone.
    pub fn with_forgotten(&self) -> Self {
        Self { with_forgotten: true, ..self.clone() }
    }

    /// Returns the caller for this memory.
    pub fn caller(&self) -> Caller {
        self.caller
    }
}

/// Objects by id. Unknown ids are left out.
impl MemoryReader {
    /// Returns sessions.
    pub async fn sessions(&self, ids: &[SessionId]) -> Result<Vec<Session>, StoreError> {
        self.store.sessions_by_id(&self.caller, ids).await
    }

    /// Returns messages.
    pub async fn messages(&self, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        self.store.messages_by_id(&self.caller, ids).await
    }

    /// Returns documents.
    pub async fn documents(&self, ids: &[DocumentId]) -> Result<Vec<Document>, StoreError> {
        self.store.documents_by_id(&self.caller, ids).await
    }

    /// Returns comparisons of documents.
    pub async fn comparisons(&self, ids: &[ComparisonId]) -> Result<Vec<Comparison>, StoreError> {
        self.store.comparisons_by_id(&self.caller, ids).await
    }

    /// Lists comparisons, latest first; with a document, only those of this document.
    pub async fn list_comparisons(&self, document: Option<DocumentId>, page: &Page) -> Result<Slice<Comparison>, StoreError> {
        self.store.list_comparisons(&self.caller, document, page).await
    }

    /// Counts the comparisons that [`Self::list_comparisons`] lists.
    pub async fn count_comparisons(&self, document: Option<DocumentId>) -> Result<u64, StoreError> {
        self.store.count_comparisons(&self.caller, document).await
    }

    /// Returns chunks of documents.
    pub async fn chunks(&self, ids: &[MessageId]) -> Result<Vec<Chunk>, StoreError> {
        self.store.chunks_by_id(&self.caller, ids).await
    }

    /// Returns topics.
    pub async fn topics(&self, ids: &[TopicId]) -> Result<Vec<Topic>, StoreError> {
        self.store.topics_by_id(&self.caller, ids).await
    }

    /// Returns facts.
    pub async fn facts(&self, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
        self.store.facts_by_id(&self.caller, ids).await
    }

    /// Returns entities by the requested id. The id of a merged entity returns the entity that it was merged into.
    pub async fn entities(&self, ids: &[EntityId]) -> Result<HashMap<EntityId, Entity>, StoreError> {
        let found = self.read_entities(ids).await?;
        let mut found: HashMap<_, _> = found.into_iter().map(|entity| (entity.id, entity)).collect();
        // Only a separate read tells which id a successor belongs to.
        for id in ids {
            if !found.contains_key(id)
                && let Some(successor) = self.read_entities(&[*id]).await?.into_iter().next()
            {
                found.insert(*id, successor);
            }
        }
        Ok(found)
    }

    async fn read_entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        if self.with_forgotten {
            return self.store.entities_to_restore(&self.caller, ids).await;
        }
        self.store.entities_by_id(&self.caller, ids).await
    }

    /// Whether the memory holds one of the objects.
    pub async fn holds_any(&self, ids: &[ResourceId]) -> Result<bool, StoreError> {
        for id in ids {
            let found = match id {
                ResourceId::Session(id) => !self.sessions(&[*id]).await?.is_empty(),
                ResourceId::Message(id) => !self.messages(&[*id]).await?.is_empty(),
                ResourceId::Entity(id) => !self.store.entities_by_id(&self.caller, &[*id]).await?.is_empty(),
                ResourceId::Fact(id) => !self.facts(&[*id]).await?.is_empty(),
                ResourceId::Document(id) => !self.documents(&[*id]).await?.is_empty(),
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What belongs to several objects, in one statement. Objects without any are left out.
impl MemoryReader {
    /// Returns the answers to questions.
    pub async fn answers(&self, questions: &[MessageId]) -> Result<HashMap<MessageId, Message>, StoreError> {
        Ok(self.store.answers_to(&self.caller, questions).await?.into_iter().collect())
    }

    /// Returns until when forgettings can be undone. Those that were undone or completed are left out.
    pub async fn undo_times(&self, forgettings: &[ForgettingId]) -> Result<HashMap<ForgettingId, Timestamp>, StoreError> {
        let mut found = HashMap::new();
        // Few are asked for: only those of the last minutes.
        for id in forgettings {
            found.extend(self.store.forgetting(&self.caller, *id).await?.map(|forgetting| (*id, forgetting.until)));
        }
        Ok(found)
    }

    /// Returns the tokens that model servers used for messages.
    pub async fn usage_of_messages(&self, messages: &[MessageId]) -> Result<HashMap<MessageId, TokenCount>, StoreError> {
        Ok(self.store.usage_of_messages(&self.caller, messages).await?.into_iter().collect())
    }

    /// Returns the mentions in messages, in order of appearance.
    pub async fn mentions(&self, messages: &[MessageId]) -> Result<HashMap<MessageId, Vec<(EntityId, Mention)>>, StoreError> {
        let mentions = self.store.mentions_in(&self.caller, messages).await?;
        Ok(grouped(mentions.into_iter().map(|(message, entity, mention)| (message, (entity, mention)))))
    }

    /// Returns why the mentions in messages refer to their entities, by the index of the mention in its message.
    pub async fn decisions(&self, messages: &[MessageId]) -> Result<HashMap<MessageId, HashMap<u32, Decision>>, StoreError> {
        let mut found: HashMap<_, HashMap<_, _>> = HashMap::new();
        for (message, mention, decision) in self.store.decisions_in(&self.caller, messages).await? {
            found.entry(message).or_default().insert(mention, decision);
        }
        Ok(found)
    }

    /// Returns the resources of messages, in order.
    pub async fn resources(&self, messages: &[MessageId]) -> Result<HashMap<MessageId, Vec<Resource>>, StoreError> {
        Ok(grouped(self.store.resources_of(&self.caller, messages).await?))
    }

    /// Returns the topics of sessions, which may store documents. Those with most texts first.
    pub async fn topics_of(&self, sessions: &[SessionId]) -> Result<HashMap<SessionId, Vec<TopicId>>, StoreError> {
        Ok(grouped(self.store.topics_of_sessions(&self.caller, sessions).await?))
    }

    /// Returns when the caller last viewed documents of shared memory.
    pub async fn shared_views(&self, documents: &[DocumentId]) -> Result<HashMap<DocumentId, Timestamp>, StoreError> {
        Ok(self.store.shared_views(&self.caller, documents).await?.into_iter().collect())
    }

    /// Returns the facts that messages are evidence for or against, each once.
    pub async fn facts_in(&self, messages: &[MessageId]) -> Result<HashMap<MessageId, Vec<(FactId, Stance)>>, StoreError> {
        let facts = self.store.facts_in(&self.caller, messages).await?;
        let mut found = grouped(facts.into_iter().map(|(message, fact, stance)| (message, (fact, stance))));
        for facts in found.values_mut() {
            facts.dedup_by_key(|(fact, _)| *fact);
        }
        Ok(found)
    }

    /// Returns the entities that were merged into entities, latest first.
    pub async fn merged_into(&self, entities: &[EntityId]) -> Result<HashMap<EntityId, Vec<Merged>>, StoreError> {
        Ok(grouped(self.store.merged_into(&self.caller, entities).await?))
    }

    /// Returns the latest evidence of facts, at most `most` rows each.
    pub async fn evidence(&self, facts: &[FactId], most: u32) -> Result<HashMap<FactId, Vec<Evidence>>, StoreError> {
        let evidence = self.store.evidence_of(&self.caller, facts, most).await?;
        Ok(grouped(evidence.into_iter().map(|evidence| (evidence.fact, evidence))))
    }

    /// Returns the facts that may contradict some of the given ones. If they are [`MAX_RIVALS`], there may be more.
    pub async fn rival_candidates(&self, facts: impl Iterator<Item = &Fact>) -> Result<Vec<Fact>, StoreError> {
        let keys: HashSet<_> = facts.flat_map(|fact| weigh::rival_keys(fact, &self.ontology)).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<_> = keys.into_iter().collect();
        self.store.facts_by_key(&self.caller, &keys, MAX_RIVALS).await
    }
}

/// Lists, a page at a time, and their lengths.
impl MemoryReader {
    /// Returns a page of the sessions, latest change first.
    pub async fn list_sessions(&self, filter: &SessionFilter, page: &Page) -> Result<Slice<Session>, StoreError> {
        self.store.list_sessions(&self.caller, filter, page).await
    }

    /// Returns the number of sessions.
    pub async fn count_sessions(&self, filter: &SessionFilter) -> Result<u64, StoreError> {
        self.store.count_sessions(&self.caller, filter).await
    }

    /// Returns a page of the messages of a session, oldest first, or latest first if `backwards`.
    pub async fn list_messages(&self, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError> {
        self.store.list_messages(&self.caller, session, page, backwards).await
    }

    /// Returns the number of messages of a session, without forgotten ones.
    pub async fn count_messages(&self, session: SessionId) -> Result<u64, StoreError> {
        self.store.count_messages(&self.caller, session).await
    }

    /// Returns a page of the documents, latest first.
    pub async fn list_documents(&self, filter: &DocumentFilter, page: &Page) -> Result<Slice<Document>, StoreError> {
        self.store.list_documents(&self.caller, filter, page).await
    }

    /// Returns the number of documents.
    pub async fn count_documents(&self, filter: &DocumentFilter) -> Result<u64, StoreError> {
        self.store.count_documents(&self.caller, filter).await
    }

    /// Returns a page of the chunks of a document, in order.
    pub async fn list_chunks(&self, document: DocumentId, page: &Page) -> Result<Slice<Chunk>, StoreError> {
        self.store.list_chunks(&self.caller, document, page).await
    }

    /// Returns a page of the messages whose citations name a document, latest first.
    pub async fn list_citing(&self, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        self.store.messages_citing(&self.caller, document, page).await
    }

    /// Returns a page of the questions whose answers cite a document, latest answer first.
    pub async fn list_questions(&self, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        self.store.questions_answered_by(&self.caller, document, page).await
    }

    /// Returns a page of the messages that contain or link to a resource, latest first. The URI is in standard form.
    pub async fn list_linking(&self, uri: &str, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        self.store.messages_linking_to(&self.caller, uri, page).await
    }

    /// Returns a page of the entities that a document mentions, most mentions in it first.
    pub async fn list_entities_in(&self, document: DocumentId, page: &Page) -> Result<Slice<EntityId>, StoreError> {
        self.store.entities_in_document(&self.caller, document, page).await
    }

    /// Returns a page of the topics, largest first.
    pub async fn list_topics(&self, page: &Page) -> Result<Slice<Topic>, StoreError> {
        self.store.list_topics(&self.caller, page).await
    }

    /// Returns a page of the messages of a topic, latest first.
    pub async fn list_topic_messages(&self, topic: TopicId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        self.store.messages_of_topic(&self.caller, topic, page).await
    }

    /// Returns up to `limit` documents of a topic, those with most chunks of it first.
    pub async fn documents_of_topic(&self, topic: TopicId, limit: u32) -> Result<Vec<DocumentId>, StoreError> {
        self.store.documents_of_topic(&self.caller, topic, limit).await
    }

    /// Returns up to `limit` entities that the texts of a topic mention, most mentions first.
    pub async fn entities_of_topic(&self, topic: TopicId, limit: u32) -> Result<Vec<EntityId>, StoreError> {
        self.store.entities_of_topic(&self.caller, topic, limit).await
    }

    /// Returns up to `limit` topics with the most similar meaning.
    pub async fn related_topics(&self, topic: TopicId, limit: u32) -> Result<Vec<TopicId>, StoreError> {
        self.store.related_topics(&self.caller, topic, limit).await
    }

    /// Returns a page of the entities, most mentioned first.
    pub async fn list_entities(&self, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError> {
        self.store.list_entities(&self.caller, filter, page).await
    }

    /// Returns the number of entities.
    pub async fn count_entities(&self, filter: &EntityFilter) -> Result<u64, StoreError> {
        self.store.count_entities(&self.caller, filter).await
    }

    /// Returns a page of the facts, latest change first.
    pub async fn list_facts(&self, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError> {
        self.store.list_facts(&self.caller, filter, page).await
    }

    /// Returns the number of facts.
    pub async fn count_facts(&self, filter: &FactFilter) -> Result<u64, StoreError> {
        self.store.count_facts(&self.caller, filter).await
    }

    /// Returns a page of the messages that mention an entity, latest first.
    pub async fn list_mentions(&self, entity: EntityId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let Slice { items, has_next } = self.store.list_mentions(&self.caller, entity, page).await?;
        Ok(Slice { items: items.into_iter().map(|(key, (message, _))| (key, message)).collect(), has_next })
    }

    /// Returns the `first` pieces of evidence of a fact after the one with the key `after`, latest first.
    ///
    /// The key is [`evidence_key`], which first pages have too, although they are read with those of other facts. So this searches for the
    /// piece from the latest one on.
    ///
    /// # Errors
    /// `BadCursor` if the fact has no such evidence.
    pub async fn evidence_after(&self, fact: FactId, after: &str, first: u32) -> Result<Slice<Evidence>, StoreError> {
        let first = first as usize;
        let mut page = Page::first(EVIDENCE_ROWS);
        let (mut found, mut items) = (false, Vec::new());
        loop {
            let slice = self.store.list_evidence(&self.caller, fact, &page).await?;
            let last = slice.items.last().map(|(key, _)| key.clone());
            for (_, evidence) in slice.items {
                let key = evidence_key(&evidence);
                if found {
                    items.push((key, evidence));
                } else {
                    found = key == after;
                }
            }
            match last {
                Some(key) if slice.has_next && items.len() <= first => page.after = Some(key),
                _ => break,
            }
        }
        if !found {
            return Err(StoreError::BadCursor);
        }
        let has_next = items.len() > first;
        items.truncate(first);
        Ok(Slice { items, has_next })
    }

    /// Returns the tokens that model servers used for the caller since a day, by day and purpose, latest first.
    pub async fn usage_since(&self, since: Day) -> Result<Vec<DayUsage>, StoreError> {
        self.store.usage_since(&self.caller, since).await
    }
}

/// Returns the key of a piece of evidence within its fact.
pub fn evidence_key(evidence: &Evidence) -> String {
    format!("{}/{}", evidence.message, evidence.stance.word())
}

/// Collects values by their key, in the order of the rows.
fn grouped<K: std::hash::Hash + Eq, V>(rows: impl IntoIterator<Item = (K, V)>) -> HashMap<K, Vec<V>> {
    let mut found: HashMap<K, Vec<V>> = HashMap::new();
    for (key, value) in rows {
        found.entry(key).or_default().push(value);
    }
    found
}
