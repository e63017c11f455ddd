//! Finds the context of a question: named entities, facts about them, and messages by words and by meaning.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use tracing::warn;

use super::{
    check,
    documents::passages::{ORDERED, Relevance},
    error::UseCaseError,
    rank, route,
    use_cases::UseCases,
};
use recall_domain::{
    Caller, Entity, EntityId, EntityKey, Evidence, Fact, FactId, FactStatus, Message, MessageId, Stance, UserText,
    context::{Context, ContextQuery, Method, RankedFact, RankedMessage, Scope, SearchSources, Timings},
};
use recall_ports::{EmbedError, IndexHit, IndexQuery, IndexSources, IndexedDocuments, StoreError, index::IndexResult};

/// Most messages in one context.
pub(super) const MAX_FIRST: u32 = 100;
/// Most facts in one context, unless many messages are wanted.
const MAX_FACTS: usize = 20;
/// Most facts for each message that is wanted.
const FACTS_PER_MESSAGE: usize = 2;
/// Most facts of shared memory in one context, in addition to the user's own.
const MAX_SHARED_FACTS: usize = 10;
/// Most facts loaded per named entity, strongest first.
const FACTS_PER_ENTITY: u32 = 100;
/// Most entities that one name in a question means, most mentioned first.
const MAX_NAMESAKES: usize = 8;
/// Most entities matched by a part of their name, most mentioned first.
const MAX_BY_PART: u32 = 3;
/// Most evidence rows loaded per fact.
const EVIDENCE_PER_FACT: u32 = 5;
/// How often a search is repeated because other vectors came into use.
const MODELS_TRIED: usize = 3;

/// Most evidence rows loaded per fact to decide whether a session mentions it.
const EVIDENCE_FOR_SESSION: u32 = 200;

impl UseCases {
    /// Finds the context of a question, best first.
    ///
    /// # Errors
    /// `Invalid` for bad input, `NotFound` for a session that is not the caller's.
    pub async fn context(&self, caller: &Caller, mut query: ContextQuery) -> Result<Context, UseCaseError> {
        check::query(query.text.as_str())?;
        if query.first == 0 || query.first > MAX_FIRST {
            let message = format!("The number of messages is out of range. Ask for 1 to {MAX_FIRST}.");
            return Err(UseCaseError::invalid("FIRST_OUT_OF_RANGE", "first", message));
        }
        if let Scope::Session(id) = query.scope {
            self.session(caller, id).await?;
        }
        let started = Instant::now();
        let mut timings = Timings::default();
        let requested = query.clone();
        query.methods = route::methods(&query);
        let wants = |m: Method| query.methods.is_empty() || query.methods.contains(&m);

        let clock = Instant::now();
        let shared = match query.scope {
            Scope::User if query.shared => self.shared_reader(caller).await?,
            _ => None,
        };
        let asked = rank::QuestionTerms::of(query.text.as_str());
        let most_facts = MAX_FACTS.max(FACTS_PER_MESSAGE * query.first as usize);
        let (mut entities, mut facts, mut shared_entities) = (Vec::new(), Vec::new(), HashSet::new());
        if wants(Method::Graph) {
            let of_shared = async {
                match &shared {
                    Some(reader) => self.graph(reader, &query, &asked, MAX_SHARED_FACTS).await.map(Some),
                    None => Ok(None),
                }
            };
            let found;
            ((entities, facts), found) = tokio::try_join!(self.graph(caller, &query, &asked, most_facts), of_shared)?;
            if caller.is_shared() {
                shared_entities.extend(entities.iter().map(|e| e.id));
            }
            if let Some((named, more)) = found {
                shared_entities.extend(named.iter().map(|e| e.id));
                entities.extend(named);
                facts.extend(more);
                // Facts of both memories have comparable scores. The sort is stable: of equal facts, the user's own come first.
                facts.sort_by(|a, b| b.score.total_cmp(&a.score));
            }
        }
        let route = route::choose(&requested, &asked, &entities, &self.cues);
        timings.graph_ms = millis(clock);

        if !query.sources.is_all() {
            facts = self.facts_of_sources(caller, shared.as_ref(), facts, &query.sources).await?;
        }
        let boosts = boosts(&facts);
        let sources = self.index_sources(caller, shared.as_ref(), &query.sources).await?;
        let (found, relevance) = self.search(caller, shared, &query, sources, boosts, &mut timings).await?;
        timings.vector_ms = found.vector_ms;
        timings.keyword_ms = found.keyword_ms;
        let (chunk_hits, hits): (Vec<_>, Vec<_>) = found.hits.into_iter().partition(|hit| hit.is_chunk);
        let messages = self.ranked(caller, shared.as_ref(), hits).await?;
        let chunks = match chunk_hits.is_empty() {
            true => Vec::new(),
            false => self.ranked_chunks(caller, shared.as_ref(), chunk_hits, &relevance).await?,
        };
        let methods = messages.iter().map(|m| &m.methods).chain(chunks.iter().map(|c| &c.methods));
        let mut methods_used: Vec<Method> = methods.flatten().copied().collect();
        if !facts.is_empty() {
            methods_used.push(Method::Graph);
        }
        methods_used.sort();
        methods_used.dedup();
        timings.total_ms = millis(started);
        metrics::histogram!("recall_context_seconds").record(started.elapsed().as_secs_f64());
        for (part, ms) in
            [("embed", timings.embed_ms), ("vector", timings.vector_ms), ("keyword", timings.keyword_ms), ("graph", timings.graph_ms)]
        {
            metrics::histogram!("recall_context_part_seconds", "part" => part).record(ms / 1000.0);
        }
        Ok(Context { messages, chunks, facts, entities, shared_entities, methods_used, route, timings })
    }

    /// Loads the messages of the hits, in order. Messages deleted in the meantime are left out.
    async fn ranked(&self, caller: &Caller, shared: Option<&Caller>, hits: Vec<IndexHit>) -> Result<Vec<RankedMessage>, UseCaseError> {
        let mut loaded: HashMap<MessageId, Message> = HashMap::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let ids: Vec<MessageId> = hits.iter().filter(|h| h.is_second == is_second).map(|h| h.message).collect();
            if let Some(whose) = whose.filter(|_| !is_second || !ids.is_empty()) {
                loaded.extend(self.parts.store.messages_by_id(whose, &ids).await?.into_iter().map(|m| (m.id, m)));
            }
        }
        let ranked = |h: IndexHit| {
            let shared = h.is_second || caller.is_shared();
            Some(RankedMessage { message: loaded.remove(&h.message)?, score: f64::from(h.score), methods: h.methods, shared })
        };
        Ok(hits.into_iter().filter_map(ranked).collect())
    }

    /// Searches messages and chunks, without chunks of documents that have a newer version.
    ///
    /// Few documents have one. So they are excluded only if the search finds one of them, and then it is repeated.
    async fn search(
        &self,
        caller: &Caller,
        shared: Option<Caller>,
        query: &ContextQuery,
        sources: IndexSources,
        boosts: Vec<(MessageId, f32)>,
        timings: &mut Timings,
    ) -> Result<(IndexResult, Relevance), UseCaseError> {
        let may_be_old = matches!(sources.documents, IndexedDocuments::AllBut(_));
        let (found, relevance) = self.ordered(caller, shared, query, sources.clone(), boosts.clone(), timings).await?;
        if !may_be_old || !found.hits.iter().any(|hit| hit.is_chunk) {
            return Ok((found, relevance));
        }
        let superseded = self.superseded(caller, shared.as_ref(), &found.hits).await?;
        if superseded.is_empty() {
            return Ok((found, relevance));
        }
        let sources = IndexSources { documents: IndexedDocuments::AllBut(superseded), ..sources };
        self.ordered(caller, shared, query, sources, boosts, timings).await
    }

    /// Searches messages and chunks, and orders the chunks.
    async fn ordered(
        &self,
        caller: &Caller,
        shared: Option<Caller>,
        query: &ContextQuery,
        sources: IndexSources,
        boosts: Vec<(MessageId, f32)>,
        timings: &mut Timings,
    ) -> Result<(IndexResult, Relevance), UseCaseError> {
        let by_meaning = query.methods.is_empty() || query.methods.contains(&Method::Vector);
        if self.parts.passages.is_none() || sources.documents == IndexedDocuments::None || !by_meaning {
            return Ok((self.messages(caller, shared, query, sources, boosts, timings).await?, Relevance::default()));
        }
        let wide = ContextQuery { first: query.first.max(ORDERED), ..query.clone() };
        let mut found = self.messages(caller, shared, &wide, sources, boosts, timings).await?;
        let clock = Instant::now();
        let (hits, relevance) = self.order_chunks(caller, shared.as_ref(), &query.text, found.hits).await?;
        found.hits = hits;
        found.hits.truncate(query.first as usize);
        found.vector_ms += millis(clock);
        Ok((found, relevance))
    }

    /// Searches messages and chunks.
    ///
    /// The question's vector must be of the model in use for the user, which is known exactly only after the search. If another model came
    /// into use, the search is repeated.
    async fn messages(
        &self,
        caller: &Caller,
        shared: Option<Caller>,
        query: &ContextQuery,
        sources: IndexSources,
        boosts: Vec<(MessageId, f32)>,
        timings: &mut Timings,
    ) -> Result<IndexResult, UseCaseError> {
        let wants = |m: Method| query.methods.is_empty() || query.methods.contains(&m);
        let mut asked = IndexQuery {
            text: query.text.as_str().into(),
            embedding: None,
            model: self.parts.index.model(caller),
            scope: query.scope,
            first: query.first as usize,
            methods: [Method::Vector, Method::Keyword].into_iter().filter(|m| wants(*m)).collect(),
            sources,
            until: query.as_of,
            exclude: query.exclude,
            second: shared,
            boosts,
        };
        for _ in 0..MODELS_TRIED {
            if wants(Method::Vector) {
                let clock = Instant::now();
                asked.embedding = match self.question_vector(&asked.model, &query.text).await {
                    Ok(vector) => vector,
                    // Words and facts find much without vectors, and `methods_used` reports that.
                    Err(EmbedError::Transient(cause)) if wants(Method::Keyword) || wants(Method::Graph) => {
                        warn!(cause, "a question is searched without its meaning");
                        None
                    }
                    Err(e) => return Err(e.into()),
                };
                timings.embed_ms += millis(clock);
            }
            let found = self.parts.index.search(caller, &asked).await?;
            if !wants(Method::Vector) || found.model == asked.model {
                return Ok(found);
            }
            asked.model = found.model;
        }
        asked.embedding = None;
        Ok(self.parts.index.search(caller, &asked).await?)
    }

    /// Returns the entities named in the question and the facts about them, best first, at most `most` facts.
    async fn graph(
        &self,
        caller: &Caller,
        query: &ContextQuery,
        asked: &rank::QuestionTerms,
        most: usize,
    ) -> Result<(Vec<Entity>, Vec<RankedFact>), UseCaseError> {
        let store = &self.parts.store;
        let mut named: Vec<Entity> = Vec::new();
        let by_key = rank::most_mentioned(store.entities_by_key(caller, &asked.keys).await?, MAX_NAMESAKES);
        // A word that is no complete name may be a part of one. Entities named in full are not searched by parts.
        let whole = |part: &EntityKey| by_key.iter().any(|(key, _)| key.as_str().split(' ').any(|word| word == part.as_str()));
        let parts: Vec<String> = asked.capitals.iter().filter(|part| !whole(part)).map(|part| part.as_str().to_owned()).collect();
        let by_part = if parts.is_empty() { Vec::new() } else { store.entities_by_hint(caller, &parts, MAX_BY_PART).await? };
        for e in by_key.into_iter().map(|(_, e)| e).chain(by_part.into_iter().map(|(_, e)| e)) {
            if !named.iter().any(|n| n.id == e.id) {
                named.push(e);
            }
        }
        // In shared memory "I" means nobody.
        if asked.first_person && !caller.is_shared() {
            named.extend(store.viewer_entity(caller).await?.filter(|v| !named.iter().any(|n| n.id == v.id)));
        }
        // An entity imported there may have been a user's own entity; here it is not.
        named.iter_mut().for_each(|e| e.is_viewer &= !caller.is_shared());
        let ids: Vec<EntityId> = named.iter().map(|e| e.id).collect();
        if ids.is_empty() {
            return Ok((named, Vec::new()));
        }
        let mut facts = store.facts_of_entities(caller, &ids, FACTS_PER_ENTITY).await?;
        facts.retain(|f| f.status != FactStatus::Retracted && query.as_of.is_none_or(|at| known_at(f, at)));
        let now = query.as_of.unwrap_or_else(|| self.now());
        let asked_for = self.cues.asked_for(asked);
        let mut scored: Vec<(f64, Fact)> =
            facts.into_iter().map(|f| (rank::score(&f, &ids, &asked_for, &self.parts.ontology, now), f)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.updated_at.cmp(&a.1.updated_at)).then_with(|| a.1.id.cmp(&b.1.id)));
        let mut rest = if query.scope == Scope::User { scored.split_off(most.min(scored.len())) } else { Vec::new() };
        let mut evidence: HashMap<FactId, Vec<Evidence>> = HashMap::new();
        // Whether a fact belongs to a session must not depend on later repetitions elsewhere.
        let per_fact = if query.scope == Scope::User { EVIDENCE_PER_FACT } else { EVIDENCE_FOR_SESSION };
        loop {
            let of: Vec<FactId> = scored.iter().map(|(_, f)| f.id).filter(|id| !evidence.contains_key(id)).collect();
            for e in store.evidence_of(caller, &of, per_fact).await? {
                evidence.entry(e.fact).or_default().push(e);
            }
            // A fact whose only session is being deleted has no evidence; the next fact takes its place.
            let before = scored.len();
            scored.retain(|(_, f)| evidence.contains_key(&f.id));
            if scored.len() == before || rest.is_empty() {
                break;
            }
            scored.extend(rest.drain(..(before - scored.len()).min(rest.len())));
        }
        if let Scope::Session(session) = query.scope {
            for list in evidence.values_mut() {
                list.retain(|e| e.session == session);
                list.truncate(EVIDENCE_PER_FACT as usize);
            }
        }
        scored.retain(|(_, f)| evidence.get(&f.id).is_some_and(|l| !l.is_empty()));
        scored.truncate(most);
        let sides: HashSet<EntityId> = scored.iter().flat_map(|(_, f)| [f.subject, f.object]).collect();
        let sides: Vec<EntityId> = sides.into_iter().collect();
        let mut names: HashMap<EntityId, Entity> = store.entities_by_id(caller, &sides).await?.into_iter().map(|e| (e.id, e)).collect();
        names.values_mut().for_each(|e| e.is_viewer &= !caller.is_shared());
        let ranked = scored
            .into_iter()
            .filter_map(|(score, fact)| {
                let (subject, object) = (names.get(&fact.subject)?.clone(), names.get(&fact.object)?.clone());
                let evidence = evidence.remove(&fact.id).unwrap_or_default();
                Some(RankedFact { fact, subject, object, evidence, score, shared: caller.is_shared() })
            })
            .collect();
        Ok((named, ranked))
    }

    /// Returns the caller's reader of shared memory.
    ///
    /// Returns `None` if the caller may not read it, is already that reader, or if shared memory is empty. On a server without shared
    /// memory, the only cost is one check every few seconds.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn shared_reader(&self, caller: &Caller) -> Result<Option<Caller>, StoreError> {
        let Some(reader) = caller.shared_reader().filter(|_| !caller.is_shared()) else { return Ok(None) };
        let used = match self.shared_in_use.known() {
            Some(used) => used,
            None => {
                // A model is set with the first message, be it of a conversation or of a document.
                let used = self.parts.store.feed_state(&reader).await?.model.is_some();
                self.shared_in_use.note(used);
                used
            }
        };
        Ok(used.then_some(reader))
    }
}

/// Whether a fact was recorded and held at a moment.
fn known_at(f: &Fact, at: recall_domain::Timestamp) -> bool {
    f.valid_from.is_some_and(|v| v <= at) && f.valid_to.is_none_or(|v| v > at)
}

/// Returns the messages that state the requested facts, with the facts' scores.
///
/// A fact that only shares a name with the question does not show which message answers it.
fn boosts(facts: &[RankedFact]) -> Vec<(MessageId, f32)> {
    let mut best: HashMap<MessageId, f32> = HashMap::new();
    for f in facts.iter().filter(|f| f.is_asked_for()) {
        for e in f.evidence.iter().filter(|e| e.stance != Stance::Opposes || e.span.is_some()) {
            let score = best.entry(e.message).or_default();
            *score = score.max(f.score as f32);
        }
    }
    let mut boosts: Vec<_> = best.into_iter().collect();
    boosts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    boosts
}

fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

/// Builds the query of a question over these sources of the caller, except the question itself.
pub(super) fn of_question(text: &UserText, question: MessageId, first: u32, sources: SearchSources) -> ContextQuery {
    ContextQuery {
        text: text.clone(),
        scope: Scope::User,
        first,
        sources,
        methods: Vec::new(),
        route: None,
        as_of: None,
        exclude: Some(question),
        shared: true,
    }
}
