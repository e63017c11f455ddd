//! What a user changes or asks about their own knowledge: asserting and retracting facts, renaming, merging and
//! resolving entities.

use std::collections::HashSet;

use super::{Conversation, SendMessage, UseCaseError, check};
use crate::domain::{
    Caller, CandidateFact, Entity, EntityId, EntityKey, EntityType, EventDraft, EventId, Extraction, Fact, FactId, FactStatus, Mention,
    MessageKind, Page, Party, Polarity, Relation, Role, SessionId, Span, UserText,
};
use crate::facts::{Statement, edit, rival_keys};
use crate::ports::{CommitError, EntityFilter, KnowledgeCommit, Mining, StoreError};

/// How often a plan by hand is made anew when the knowledge changed meanwhile.
const MAX_STALE: u32 = 20;
/// Most sessions whose logs hear of one change.
const MAX_SESSIONS: u32 = 100;
/// Most facts moved by one merge.
const MAX_MERGED_FACTS: u32 = 10_000;

/// A fact stated by hand.
#[derive(Clone, Debug)]
pub struct AssertFact {
    /// In which conversation it is said.
    pub session: SessionId,
    /// Name of the subject; "I" means the user.
    pub subject: String,
    /// Relation of the ontology.
    pub relation: String,
    /// Name of the object; "me" means the user.
    pub object: String,
    /// Type of the subject; one that the relation allows when absent.
    pub subject_type: Option<EntityType>,
    /// Type of the object; one that the relation allows when absent.
    pub object_type: Option<EntityType>,
}

/// Which entity a mention means.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The one meant, if any fits well enough.
    pub entity: Option<Entity>,
    /// Its canonical name.
    pub canonical_form: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// All that may be meant with their scores, best first.
    pub candidates: Vec<(Entity, f64)>,
}

impl Conversation {
    /// States a fact by hand. It is kept as a message of the session, which is its evidence.
    ///
    /// # Errors
    /// `Invalid` for an unknown relation or sides of a wrong type, `NotFound` for the session.
    pub async fn assert_fact(&self, caller: &Caller, a: AssertFact) -> Result<Fact, UseCaseError> {
        let (subject, object) = (check::name(&a.subject, "subject")?, check::name(&a.object, "object")?);
        let relation = self.parts.ontology.get(&a.relation).ok_or_else(|| {
            UseCaseError::invalid("UNKNOWN_RELATION", "relation", "this relation is not in the ontology; see the query `relations`")
        })?;
        let own = |name: &str| matches!(name.to_lowercase().as_str(), "i" | "me" | "myself" | "user" | "you");
        let mut keys: Vec<EntityKey> = [&subject, &object].into_iter().filter_map(|n| EntityKey::of(n)).collect();
        keys.dedup();
        let known = self.parts.store.entities_by_key(caller, &keys).await?;
        let type_of = |name: &str, given: Option<EntityType>, allowed: &[EntityType], path| {
            let existing = known.iter().find(|(k, _)| Some(k) == EntityKey::of(name).as_ref()).map(|(_, e)| e.entity_type);
            let fallback = if allowed.is_empty() || allowed.contains(&EntityType::Thing) { EntityType::Thing } else { allowed[0] };
            // What is known stays what it is: with another type the candidate would be dropped after its message was stored.
            let t = if own(name) { EntityType::Person } else { existing.or(given).unwrap_or(fallback) };
            match allowed.is_empty() || allowed.contains(&t) {
                true => Ok(t),
                false => Err(UseCaseError::invalid("TYPE_NOT_ALLOWED", path, format!("{} cannot have a {t} as {path}", relation.name))),
            }
        };
        let subject_type = type_of(&subject, a.subject_type, &relation.subject_types, "subject")?;
        let object_type = type_of(&object, a.object_type, &relation.object_types, "object")?;
        if EntityKey::of(&subject) == EntityKey::of(&object) || (own(&subject) && own(&object)) {
            return Err(UseCaseError::invalid("SAME_SIDES", "object", "subject and object are the same"));
        }
        let (text, mentions, sides) = sentence(relation, [(&subject, subject_type), (&object, object_type)], own);
        let whole = Span { start: 0, end: text.chars().count() as u32 };
        let message = SendMessage {
            session: a.session,
            text: text.clone(),
            role: Role::User,
            speaker: None,
            sent_at: None,
            source_metadata: Some(serde_json::json!({ "asserted": true })),
            client_message_id: None,
        };
        let stored = self.keep(caller, a.session, vec![(message, Mining::Nothing)]).await?;
        let stored = stored.into_iter().next().ok_or_else(|| UseCaseError::Internal { cause: "the store kept nothing".into() })?.message;
        let fact = CandidateFact {
            subject: sides[0],
            relation: relation.name.clone(),
            object: sides[1],
            polarity: Polarity::Affirmed,
            confidence: 1.0,
            span: whole,
        };
        let statement = Statement {
            message: stored.id,
            session: a.session,
            at: stored.sent_at,
            text: UserText::from(text),
            speaker: None,
            extraction: Extraction { kind: MessageKind::Statement, mentions, facts: vec![fact] },
        };
        // On a task of its own, so that a client that hangs up now does not leave a message without its fact.
        let (learner, caller) = (self.learner.clone(), *caller);
        let learned = tokio::spawn(async move { learner.learn(&caller, &statement, None, None).await }).await;
        let changed = learned.map_err(|e| UseCaseError::Internal { cause: e.into() })??;
        self.parts.announcer.committed(&caller, a.session);
        // The asserted fact is opened or reinforced first; its rivals come after it.
        changed.into_iter().find(|f| f.relation == relation.name).ok_or_else(|| {
            UseCaseError::invalid("TYPE_NOT_ALLOWED", "subject", format!("{} does not take sides of these types", relation.name))
        })
    }

    /// Takes a fact back. It stays readable; a later statement restores it.
    ///
    /// # Errors
    /// `NotFound` when it is not the caller's.
    pub async fn retract_fact(&self, caller: &Caller, id: FactId) -> Result<Fact, UseCaseError> {
        let store = &self.parts.store;
        let _turn = self.learner.turn(caller).await;
        for _ in 0..MAX_STALE {
            let version = store.knowledge_version(caller).await?;
            let fact = store.facts_by_id(caller, &[id]).await?.into_iter().next().ok_or(UseCaseError::NotFound { noun: "fact" })?;
            if fact.status == FactStatus::Retracted {
                return Ok(fact);
            }
            let rivals = store.facts_by_key(caller, &rival_keys(&fact, &self.parts.ontology)).await?;
            let mut named: Vec<EntityId> = rivals.iter().chain([&fact]).flat_map(|f| [f.subject, f.object]).collect();
            named.sort();
            named.dedup();
            let sides = store.entities_by_id(caller, &named).await?;
            let sessions = store.sessions_of_fact(caller, id, MAX_SESSIONS).await?;
            let mut fresh = || self.parts.ids.fresh();
            let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "fact" })?;
            let at = edit::Occasion { version, session, ontology: &self.parts.ontology, now: self.now() };
            let plan = edit::retract(&at, &fact, &rivals, &sides, &mut fresh);
            if self.commit_by_hand(caller, &plan, &sessions).await? {
                return plan.facts.into_iter().next().ok_or(UseCaseError::NotFound { noun: "fact" });
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Gives an entity another name; the old one stays as an alias.
    ///
    /// # Errors
    /// `Invalid` for a bad name, `NotFound` when the entity is not the caller's.
    pub async fn rename_entity(&self, caller: &Caller, id: EntityId, name: String) -> Result<Entity, UseCaseError> {
        let name = check::name(&name, "name")?;
        let _turn = self.learner.turn(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            let entity = self.entity(caller, id).await?;
            let sessions = self.sessions_of(caller, entity.id).await?;
            let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "entity" })?;
            let mut fresh = || self.parts.ids.fresh();
            let at = edit::Occasion { version, session, ontology: &self.parts.ontology, now: self.now() };
            let plan = edit::rename(&at, &entity, &name, &mut fresh);
            if self.commit_by_hand(caller, &plan, &sessions).await? {
                return plan.entities.into_iter().next().ok_or(UseCaseError::NotFound { noun: "entity" });
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Makes two entities one: `from` goes, its names, mentions, facts and evidence go to `into`.
    ///
    /// # Errors
    /// `Invalid` when both are the same, `NotFound` when one is not the caller's.
    pub async fn merge_entities(&self, caller: &Caller, into: EntityId, from: EntityId) -> Result<Entity, UseCaseError> {
        let store = &self.parts.store;
        let _turn = self.learner.turn(caller).await;
        for _ in 0..MAX_STALE {
            let version = store.knowledge_version(caller).await?;
            let (into, from) = (self.entity(caller, into).await?, self.entity(caller, from).await?);
            if into.id == from.id {
                return Err(UseCaseError::invalid("SAME_ENTITY", "from", "an entity cannot be merged with itself"));
            }
            let facts = store.facts_of_entities(caller, &[into.id, from.id], MAX_MERGED_FACTS).await?;
            let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
            let evidence = store.evidence_of(caller, &ids, MAX_MERGED_FACTS).await?;
            let mut sessions = self.sessions_of(caller, into.id).await?;
            sessions.extend(self.sessions_of(caller, from.id).await?);
            let mut seen = HashSet::new();
            sessions.retain(|s| seen.insert(*s));
            let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "entity" })?;
            let merge = edit::Merge { into: &into, from: &from, facts: &facts, evidence: &evidence };
            let mut fresh = || self.parts.ids.fresh();
            let at = edit::Occasion { version, session, ontology: &self.parts.ontology, now: self.now() };
            let plan = edit::merge(&at, &merge, &mut fresh);
            if self.commit_by_hand(caller, &plan, &sessions).await? {
                return plan.entities.into_iter().next().ok_or(UseCaseError::NotFound { noun: "entity" });
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Which known entity a mention means.
    ///
    /// # Errors
    /// `Invalid` for a bad mention, `NotFound` for a session that is not the caller's.
    pub async fn resolve(
        &self,
        caller: &Caller,
        mention: &str,
        wanted: Option<EntityType>,
        session: Option<SessionId>,
    ) -> Result<Resolution, UseCaseError> {
        let mention = check::name(mention, "mention")?;
        if let Some(id) = session {
            self.session(caller, id).await?;
        }
        let store = &self.parts.store;
        let mut candidates: Vec<(Entity, f64)> = Vec::new();
        if matches!(mention.to_lowercase().as_str(), "i" | "me" | "my" | "myself" | "user") {
            candidates.extend(store.viewer_entity(caller).await?.map(|e| (e, 1.0)));
        }
        if let Some(key) = EntityKey::of(&mention) {
            let exact = store.entities_by_key(caller, std::slice::from_ref(&key)).await?;
            candidates.extend(exact.into_iter().map(|(_, e)| {
                let by_name = EntityKey::of(&e.name).as_ref() == Some(&key);
                (e, if by_name { 1.0 } else { 0.9 })
            }));
            let filter = EntityFilter { entity_type: wanted, text: Some(key.as_str().to_owned()), session };
            for (_, e) in store.list_entities(caller, &filter, &Page::first(20)).await?.items {
                let share = key.as_str().chars().count() as f64 / e.name.chars().count().max(1) as f64;
                candidates.push((e, 0.3 + 0.4 * share.min(1.0)));
            }
        }
        let mut seen = HashSet::new();
        candidates.retain(|(e, _)| seen.insert(e.id));
        for (e, score) in &mut candidates {
            if wanted.is_some_and(|t| t != e.entity_type) {
                *score *= 0.5;
            }
        }
        candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.mention_count.cmp(&a.0.mention_count)));
        // Two that fit equally well make either one half as sure.
        let best = candidates.first().map_or(0.0, |c| c.1);
        let equals = candidates.iter().filter(|c| c.1 >= best - 0.05).count().max(1);
        let confidence = best / equals as f64;
        let entity = candidates.first().filter(|_| confidence >= 0.5).map(|c| c.0.clone());
        Ok(Resolution { canonical_form: entity.as_ref().map(|e| e.name.clone()), entity, confidence, candidates })
    }

    async fn entity(&self, caller: &Caller, id: EntityId) -> Result<Entity, UseCaseError> {
        let found = self.parts.store.entities_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "entity" })
    }

    /// Sessions that speak of an entity, latest first.
    async fn sessions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<SessionId>, UseCaseError> {
        let store = &self.parts.store;
        let mentions = store.list_mentions(caller, entity, &Page::first(MAX_SESSIONS)).await?;
        let ids: Vec<_> = mentions.items.iter().map(|(_, (m, _))| *m).collect();
        let mut sessions: Vec<SessionId> = store.messages_by_id(caller, &ids).await?.into_iter().map(|m| m.session).collect();
        // The user's own node is spoken of as "I", which is no mention of a name.
        for fact in store.facts_of_entities(caller, &[entity], MAX_SESSIONS).await? {
            sessions.extend(store.sessions_of_fact(caller, fact.id, 1).await?);
        }
        let mut seen = HashSet::new();
        sessions.retain(|s| seen.insert(*s));
        Ok(sessions)
    }

    /// Commits a change by hand and tells every session concerned. False when the plan was stale.
    async fn commit_by_hand(&self, caller: &Caller, plan: &KnowledgeCommit, sessions: &[SessionId]) -> Result<bool, UseCaseError> {
        match self.parts.store.commit(caller, plan, None).await {
            Ok(_) => {}
            Err(CommitError::Stale) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        self.parts.announcer.committed(caller, plan.session);
        for session in sessions.iter().filter(|s| **s != plan.session) {
            let events: Vec<EventDraft> =
                plan.events.iter().map(|e| EventDraft { id: EventId(self.parts.ids.fresh()), body: e.body.in_session(*session) }).collect();
            // The change is made by now; a session that was deleted meanwhile has nobody left to tell, and one that cannot be
            // told is told by the next read.
            match self.parts.store.append_events(caller, *session, &events, plan.now).await {
                Ok(_) => self.parts.announcer.committed(caller, *session),
                Err(StoreError::NotFound) => {}
                Err(e) => tracing::warn!(error = %e, "a session was not told of a change by hand"),
            }
        }
        Ok(true)
    }
}

/// The sentence that stands for an asserted fact, with where its sides are named.
fn sentence(relation: &Relation, sides: [(&str, EntityType); 2], own: impl Fn(&str) -> bool) -> (String, Vec<Mention>, [Party; 2]) {
    let (mut text, mut mentions, mut parties) = (String::new(), Vec::new(), [Party::Speaker; 2]);
    for (i, (name, entity_type)) in sides.into_iter().enumerate() {
        if own(name) {
            text.push_str(if i == 0 { "I" } else { "me" });
        } else {
            let start = text.chars().count() as u32;
            text.push_str(name);
            let span = Span { start, end: text.chars().count() as u32 };
            parties[i] = Party::Mention(mentions.len());
            mentions.push(Mention { name: name.to_owned(), entity_type, span, confidence: 1.0, description: None });
        }
        if i == 0 {
            let verb = if parties[0] == Party::Speaker { relation.phrase_of_first_person() } else { relation.phrase.clone() };
            text.push_str(&format!(" {verb} "));
        }
    }
    text.push('.');
    (text, mentions, parties)
}
