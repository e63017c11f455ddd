//! Finds the context of a question: named entities, facts about them, and messages by words and by meaning.
//!
//! `facts` finds entities and facts, `messages` finds messages and chunks of documents, `meaning` finds what messages mean now.

mod facts;
mod meaning;
mod messages;

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use self::messages::MessageSearch;
use super::{check, error::UseCaseError, rank, route, use_cases::UseCases};
use recall_domain::{
    Caller, Entity, EntityId, Message, MessageId, Stance, UserText,
    context::{Context, ContextQuery, Method, RankedFact, RankedMessage, Scope, SearchSources, Timings},
};
use recall_ports::{IndexHit, StoreError};

/// Most messages in one context.
pub(super) const MAX_FIRST: u32 = 100;
/// Most facts in one context, unless many messages are wanted.
const MAX_FACTS: usize = 20;
/// Most facts for each message that is wanted.
const FACTS_PER_MESSAGE: usize = 2;
/// Most facts of shared memory in one context, in addition to the user's own.
const MAX_SHARED_FACTS: usize = 10;

/// What a question names, in the caller's memory and in shared memory.
#[derive(Default)]
struct Named {
    entities: Vec<Entity>,
    /// Best first.
    facts: Vec<RankedFact>,
    /// Those of the entities that belong to shared memory.
    shared: HashSet<EntityId>,
}

impl UseCases {
    /// Finds the context of a question, best first.
    ///
    /// # Errors
    /// `Invalid` for bad input, `NotFound` for a session that is not the caller's.
    pub async fn context(&self, caller: &Caller, mut query: ContextQuery) -> Result<Context, UseCaseError> {
        self.check_context_query(caller, &query).await?;
        let _running = self.foreground.begin();
        let started = Instant::now();
        let mut timings = Timings::default();
        let requested = query.clone();
        query.methods = route::methods(&query);

        let clock = Instant::now();
        let shared = match query.scope {
            Scope::User if query.shared => self.shared_reader(caller).await?,
            _ => None,
        };
        let asked = rank::QuestionTerms::of(query.text.as_str());
        let mut named = Named::default();
        if wants(&query, Method::Graph) {
            named = self.named_in(caller, shared.as_ref(), &query, &asked).await?;
        }
        let route = route::choose(&requested, &asked, &named.entities, &self.cues);
        timings.graph_ms = millis(clock);

        let Named { entities, mut facts, shared: shared_entities } = named;
        if !query.sources.is_all() {
            facts = self.facts_of_sources(caller, shared.as_ref(), facts, &query.sources).await?;
        }
        let sources = self.index_sources(caller, shared.as_ref(), &query.sources).await?;
        let search = MessageSearch { usecases: self, caller, shared, query: &query, boosts: boosts(&facts) };
        let (found, relevance) = search.run(sources, &mut timings).await?;
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
        record(&timings);
        Ok(Context { messages, chunks, facts, entities, shared_entities, methods_used, route, withdrawn: Vec::new(), timings })
    }

    async fn check_context_query(&self, caller: &Caller, query: &ContextQuery) -> Result<(), UseCaseError> {
        check::query(query.text.as_str())?;
        if query.first == 0 || query.first > MAX_FIRST {
            let message = format!("The number of messages is out of range. Ask for 1 to {MAX_FIRST}.");
            return Err(UseCaseError::invalid("FIRST_OUT_OF_RANGE", "first", message));
        }
        if let Scope::Session(id) = query.scope {
            self.session(caller, id).await?;
        }
        Ok(())
    }

    /// Finds entities and facts in the caller's memory, and in shared memory if there is a reader of it.
    async fn named_in(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        query: &ContextQuery,
        asked: &rank::QuestionTerms,
    ) -> Result<Named, UseCaseError> {
        let most = MAX_FACTS.max(FACTS_PER_MESSAGE * query.first as usize);
        let of_shared = async {
            match shared {
                Some(reader) => self.facts_about_named(reader, query, asked, MAX_SHARED_FACTS).await.map(Some),
                None => Ok(None),
            }
        };
        let ((entities, facts), of_shared) = tokio::try_join!(self.facts_about_named(caller, query, asked, most), of_shared)?;
        let shared = if caller.is_shared() { entities.iter().map(|e| e.id).collect() } else { HashSet::new() };
        let mut named = Named { entities, facts, shared };
        if let Some((entities, facts)) = of_shared {
            named.shared.extend(entities.iter().map(|e| e.id));
            named.entities.extend(entities);
            named.facts.extend(facts);
            // Facts of both memories have comparable scores. The sort is stable: of equal facts, the user's own come first.
            named.facts.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        Ok(named)
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

/// Whether a query uses a method; all are used if it names none.
fn wants(query: &ContextQuery, method: Method) -> bool {
    query.methods.is_empty() || query.methods.contains(&method)
}

/// Records how long a context took, and its parts.
fn record(timings: &Timings) {
    metrics::histogram!("recall_context_seconds").record(timings.total_ms / 1000.0);
    for (part, ms) in
        [("embed", timings.embed_ms), ("vector", timings.vector_ms), ("keyword", timings.keyword_ms), ("graph", timings.graph_ms)]
    {
        metrics::histogram!("recall_context_part_seconds", "part" => part).record(ms / 1000.0);
    }
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
        waits: true,
    }
}
