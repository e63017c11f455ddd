//! The index of one user: words, vectors, dates, speakers and neighbours of all messages.
//!
//! Pure: it gets rows and queries. Other modules read the rows and check who may search.

mod question;

use std::{collections::HashMap, time::Instant};

use super::{
    bm25::{self, Totals, Weighted},
    dates::{self, DateWord},
    joint::{self, Pool},
    postings::{self, NONE, Postings},
    prior::{self, Marks},
    rank::{Candidate, Top, Tuning},
    runs::Runs,
    sources::DocumentSessions,
    vectors::{Probe, Vectors},
};
use recall_domain::{
    DocumentId, MessageId, Role, SessionId, Timestamp,
    context::{Method, Scope},
};
use recall_ports::{FeedRow, IndexQuery, index::IndexResult};
use recall_text::terms;

/// Numbers of the speakers without a name.
const VIEWER: u32 = 0;
const ASSISTANT: u32 = 1;
pub(super) const DOCUMENT: u32 = 2;

/// A query to one index.
#[derive(Clone, Copy)]
pub(super) struct SearchRequest<'a> {
    pub(super) query: &'a IndexQuery,
    /// Messages that the store's vector search found, with similarities, for an index without vectors.
    pub(super) nearest: &'a [(MessageId, f32)],
}

/// Index of one user's messages.
///
/// A row is the position of a message in the feed of the user, from 0. Vectors without other notes are indexed by row.
#[derive(Debug)]
pub(super) struct UserIndex {
    /// Number of the newest row in the store's feed; 0 if empty.
    last_row: u64,
    postings: Postings,
    /// `None` if the vectors exceed the budget; the store searches them then.
    vectors: Option<Vectors>,
    ids: Vec<MessageId>,
    rows_by_id: HashMap<MessageId, u32>,
    /// Numbers of sessions.
    sessions: Vec<u32>,
    /// Milliseconds since 1970.
    sent_at: Vec<i64>,
    /// Numbers of speakers.
    speakers: Vec<u32>,
    lengths: Vec<f32>,
    marks: Vec<Marks>,
    /// The row before in the same session, or [`NONE`]; `next` likewise. Chunks have neither: unlike a message, a chunk has a subject and
    /// room for it, and most of the chunks around it are about something else.
    previous: Vec<u32>,
    next: Vec<u32>,
    totals: Totals,
    /// Number and rows of each session.
    session_rows: HashMap<SessionId, (u32, Vec<u32>)>,
    /// Terms of each speaker's name, by number.
    speaker_names: Vec<Vec<String>>,
    speaker_numbers: HashMap<String, u32>,
    /// By number of speaker.
    by_speaker: Vec<Runs>,
    by_date: HashMap<DateWord, Runs>,
    documents: DocumentSessions,
}

impl UserIndex {
    /// Creates an empty index, with or without vectors.
    pub(super) fn new(vectors: bool) -> Self {
        Self {
            last_row: 0,
            postings: Postings::default(),
            vectors: vectors.then(Vectors::default),
            ids: Vec::new(),
            rows_by_id: HashMap::new(),
            sessions: Vec::new(),
            sent_at: Vec::new(),
            speakers: Vec::new(),
            lengths: Vec::new(),
            marks: Vec::new(),
            previous: Vec::new(),
            next: Vec::new(),
            totals: Totals::default(),
            session_rows: HashMap::new(),
            speaker_names: vec![Vec::new(); 3],
            speaker_numbers: HashMap::new(),
            by_speaker: vec![Runs::default(); 3],
            by_date: HashMap::new(),
            documents: DocumentSessions::default(),
        }
    }

    /// Returns the number of the newest row in the store's feed; 0 if empty.
    pub(super) fn last_row(&self) -> u64 {
        self.last_row
    }

    /// Returns the number of messages.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the index searches vectors itself.
    pub(super) fn holds_vectors(&self) -> bool {
        self.vectors.is_some()
    }

    /// Frees the vectors and keeps the words.
    pub(super) fn drop_vectors(&mut self) {
        self.vectors = None;
    }

    /// Returns the bytes held, within about ten percent.
    pub(super) fn bytes(&self) -> usize {
        let per_row = size_of::<MessageId>() + size_of::<i64>() + size_of::<Marks>() + 6 * size_of::<u32>();
        let per_map_entry = (size_of::<(MessageId, u32)>() + 1) * 8 / 5;
        let tags: usize = self.by_speaker.iter().chain(self.by_date.values()).map(Runs::bytes).sum();
        let vectors = self.vectors.as_ref().map_or(0, Vectors::bytes);
        self.ids.capacity() * per_row
            + self.ids.len() * per_map_entry
            + tags
            + self.session_rows.len() * 128
            + self.postings.bytes()
            + vectors
    }

    /// Adds a row. Ignores a row that was added before, so a page may be delivered twice.
    pub(super) fn push(&mut self, message: &FeedRow) {
        if message.row <= self.last_row || self.ids.len() >= postings::MAX_ROWS - 1 {
            return;
        }
        self.last_row = message.row;
        let Ok(row) = u32::try_from(self.ids.len()) else { return };
        let length = self.postings.push(row, &message.terms);
        if let Some(vectors) = &mut self.vectors {
            vectors.push(&message.embedding);
        }
        let number = u32::try_from(self.session_rows.len()).unwrap_or(NONE);
        let (session, rows) = self.session_rows.entry(message.session).or_insert_with(|| (number, Vec::new()));
        let is_chunk = message.role == Role::Document;
        self.documents.note(*session, is_chunk);
        let before = rows.last().copied().filter(|_| !is_chunk).unwrap_or(NONE);
        rows.push(row);
        if let Some(next) = self.next.get_mut(before as usize) {
            *next = row;
        }
        self.sessions.push(*session);
        self.previous.push(before);
        self.next.push(NONE);
        let speaker = self.speaker_number(message);
        self.speakers.push(speaker);
        if let Some(rows) = self.by_speaker.get_mut(speaker as usize) {
            rows.push(row);
        }
        // The day on which a document was added says nothing about its text.
        for word in dates::words_of(message.sent_at).into_iter().filter(|_| !is_chunk) {
            self.by_date.entry(word).or_default().push(row);
        }
        self.ids.push(message.message);
        self.rows_by_id.insert(message.message, row);
        self.sent_at.push(message.sent_at.timestamp_millis());
        self.lengths.push(length);
        self.marks.push(Marks::of(&message.terms));
        self.totals.add(is_chunk, length);
    }

    /// Returns the number of a message's speaker. A new name gets the next number.
    fn speaker_number(&mut self, message: &FeedRow) -> u32 {
        let Some(name) = &message.speaker else {
            return match message.role {
                Role::User => VIEWER,
                Role::Assistant => ASSISTANT,
                Role::Document => DOCUMENT,
            };
        };
        if let Some(number) = self.speaker_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.speaker_names.len()).unwrap_or(NONE);
        self.speaker_names.push(terms(name).into_iter().map(|(term, _)| term).collect());
        self.by_speaker.push(Runs::default());
        self.speaker_numbers.insert(name.clone(), number);
        number
    }

    /// Returns the best messages.
    pub(super) fn search(&self, request: SearchRequest<'_>, tuning: &Tuning) -> IndexResult {
        joint::rank(&[self.find_candidates(request, None, true, tuning)], request.query, tuning)
    }

    /// Searches this index and a second one, in which the caller is not the unnamed speaker.
    pub(super) fn search_with(
        &self,
        request: SearchRequest<'_>,
        second: &Self,
        second_request: SearchRequest<'_>,
        tuning: &Tuning,
    ) -> IndexResult {
        let pools =
            [self.find_candidates(request, Some(second), true, tuning), second.find_candidates(second_request, Some(self), false, tuning)];
        joint::rank(&pools, request.query, tuning)
    }

    /// Collects the candidates of this index for a query.
    ///
    /// `other` is an index that is searched at the same time; it influences how rare a term is. `is_viewers` tells
    /// whether "I" in the query is the speaker without a name here.
    fn find_candidates(&self, request: SearchRequest<'_>, other: Option<&Self>, is_viewers: bool, tuning: &Tuning) -> Pool<'_> {
        let SearchRequest { query, nearest } = request;
        let mut words: Vec<String> = terms(&query.text).into_iter().map(|(term, _)| term).collect();
        let mut named = self.named_speakers(&query.text, &words);
        named.retain(|speaker| is_viewers || *speaker != VIEWER);
        words.extend(self.meant_terms(query, other));
        let filter = self.filter(query);
        let size = tuning.pool.max(query.first.saturating_mul(2));

        let started = Instant::now();
        let wanted = query.methods.contains(&Method::Keyword);
        let keyword_scores = if wanted { self.keyword_scores(&query.text, &words, &named, None, tuning) } else { Vec::new() };
        let joint_scores =
            other.filter(|_| wanted).map(|o| self.keyword_scores(&query.text, &words, &named, Some(o), tuning)).unwrap_or_default();
        let mut top = Top::new(size);
        for (row, score) in keyword_scores.iter().enumerate().filter(|(_, score)| **score > 0.0) {
            let row = row as u32;
            if *score >= top.floor() && self.matches(&filter, row) {
                top.offer(row, *score);
            }
        }
        let mut rows = top.rows();
        let found_by_words = !rows.is_empty();
        let keyword_ms = milliseconds(started);

        let started = Instant::now();
        let probe = query.embedding.as_ref().filter(|_| query.methods.contains(&Method::Vector)).and_then(|e| Probe::new(&e.0));
        let (near, store_similarities) = self.find_by_vector(probe.as_ref(), nearest, &filter, size);
        let found_by_meaning = !near.is_empty();
        rows.extend(&near);
        let vector_ms = milliseconds(started);

        let graph = self.scores_by_row(&query.boosts, &filter);
        rows.extend(graph.keys());
        rows.sort_unstable();
        rows.dedup();
        let candidate = |row: u32| {
            let at = row as usize;
            let vector = match (&self.vectors, &probe) {
                (Some(vectors), Some(probe)) if found_by_meaning => vectors.similarity(row, probe),
                _ => store_similarities.get(&row).copied(),
            };
            Candidate {
                row,
                keyword: keyword_scores.get(at).copied().unwrap_or(0.0),
                joint_keyword: joint_scores.get(at).copied().unwrap_or(0.0),
                vector,
                named: named.contains(&self.speakers[at]),
                graph: graph.get(&row).copied().unwrap_or(0.0),
                prior: if self.is_chunk(row) { prior::of_chunk(tuning) } else { self.marks[at].prior(self.lengths[at], tuning) },
                neighbours: [self.previous[at], self.next[at]],
            }
        };
        let candidates = rows.into_iter().map(candidate).collect();
        Pool { index: self, ids: &self.ids, candidates, near, found_by_words, keyword_ms, vector_ms }
    }

    /// Whether a row is a chunk of a document.
    pub(super) fn is_chunk(&self, row: u32) -> bool {
        self.sessions.get(row as usize).is_some_and(|session| self.documents.contains(*session))
    }

    /// Returns the filter of a query in terms of rows and numbers.
    fn filter(&self, query: &IndexQuery) -> Filter<'_> {
        let session = match query.scope {
            Scope::User => None,
            // A session without rows has no number, so no row matches.
            Scope::Session(id) => Some(self.session_rows.get(&id).map_or((NONE, &[][..]), |(n, rows)| (*n, rows.as_slice()))),
        };
        let until = query.until.as_ref().map(Timestamp::timestamp_millis);
        let number = |document: DocumentId| self.session_rows.get(&document.session()).map(|(number, _)| *number);
        let allowed = self.documents.allowed(&query.sources, number);
        Filter { session, allowed, until, excluded: query.exclude.and_then(|id| self.rows_by_id.get(&id).copied()) }
    }

    fn matches(&self, filter: &Filter<'_>, row: u32) -> bool {
        let at = row as usize;
        filter.session.is_none_or(|(n, _)| self.sessions[at] == n)
            && filter.allowed.as_ref().is_none_or(|allowed| allowed.get(self.sessions[at] as usize) == Some(&true))
            && filter.until.is_none_or(|t| self.sent_at[at] <= t)
            && Some(row) != filter.excluded
    }

    /// Returns the rows of messages found elsewhere that match the filter, with their scores.
    fn scores_by_row(&self, messages: &[(MessageId, f32)], filter: &Filter<'_>) -> HashMap<u32, f32> {
        let rows = messages.iter().filter_map(|(id, score)| Some((*self.rows_by_id.get(id)?, *score)));
        rows.filter(|(row, _)| self.matches(filter, *row)).collect()
    }

    /// Returns the nearest rows, ascending, and the similarities that the store has computed.
    ///
    /// An index without vectors takes the rows from `nearest`.
    fn find_by_vector(
        &self,
        probe: Option<&Probe>,
        nearest: &[(MessageId, f32)],
        filter: &Filter<'_>,
        size: usize,
    ) -> (Vec<u32>, HashMap<u32, f32>) {
        let mut similarities: HashMap<u32, f32> = HashMap::new();
        let mut near: Vec<u32> = match (&self.vectors, probe) {
            (Some(vectors), Some(probe)) if probe.dimension() == vectors.dimension() => {
                let mut top = Top::new(size);
                if let Some((_, rows)) = filter.session {
                    let similar = rows.iter().filter_map(|row| Some((*row, vectors.rough_similarity(*row, probe)?)));
                    similar.filter(|(row, _)| self.matches(filter, *row)).for_each(|(row, s)| top.offer(row, s));
                } else {
                    vectors.scan(probe, |row, s| {
                        if s >= top.floor() && self.matches(filter, row) {
                            top.offer(row, s)
                        }
                    });
                }
                top.rows()
            }
            (None, Some(_)) => {
                similarities = self.scores_by_row(nearest, filter);
                similarities.keys().copied().collect()
            }
            _ => Vec::new(),
        };
        near.sort_unstable();
        (near, similarities)
    }

    /// Returns the BM25 score of each row.
    ///
    /// With `other`, terms count as if both indexes were one.
    fn keyword_scores(&self, text: &str, words: &[String], named: &[u32], other: Option<&Self>, tuning: &Tuning) -> Vec<f32> {
        let dates = dates::find_in_text(text);
        let dated_elsewhere = |word| other.and_then(|o| o.by_date.get(word)).map_or(0, Runs::len);
        let by_date = dates
            .iter()
            .filter_map(|word| Some(Weighted { item: self.by_date.get(word)?, weight: 1.0, other_rows: dated_elsewhere(word) }));
        let spoken_elsewhere = |names: &[String]| {
            let rows = |o: &Self| o.speaker_names.iter().zip(&o.by_speaker).filter(|(n, _)| *n == names).map(|(_, rows)| rows.len()).sum();
            other.map_or(0, rows)
        };
        // The viewer is not used as a tag: "I" is a stop word and would match half of all rows.
        let by_speaker = named.iter().filter(|n| **n != VIEWER).map(|n| *n as usize).filter_map(|n| {
            let other_rows = spoken_elsewhere(self.speaker_names.get(n)?);
            Some(Weighted { item: self.by_speaker.get(n)?, weight: 1.0, other_rows })
        });
        let tags: Vec<Weighted<&Runs>> = by_date.chain(by_speaker).collect();
        let has_speaker = |index: &Self, word: &str| index.speaker_names.iter().flatten().any(|part| part == word);
        let is_speaker = |word: &str| has_speaker(self, word) || other.is_some_and(|o| has_speaker(o, word));
        let weight = |word: &str| if is_speaker(word) { tuning.speaker_term } else { 1.0 };
        let other_rows = |word: &str| other.map_or(0, |o| o.postings.entries(word).len());
        let terms: Vec<_> = words.iter().map(|w| Weighted { item: w.as_str(), weight: weight(w), other_rows: other_rows(w) }).collect();
        let rows = bm25::Rows {
            lengths: &self.lengths,
            previous: &self.previous,
            next: &self.next,
            speakers: &self.speakers,
            totals: other.map_or(self.totals, |o| self.totals.with(o.totals)),
        };
        bm25::bm25(&self.postings, &rows, &terms, &tags, tuning)
    }
}

/// Which rows a query may return.
struct Filter<'a> {
    /// Number and rows of the only session to search.
    session: Option<(u32, &'a [u32])>,
    /// Which sessions to search, by number; all if absent.
    allowed: Option<Vec<bool>>,
    /// Latest time, in milliseconds since 1970.
    until: Option<i64>,
    excluded: Option<u32>,
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
