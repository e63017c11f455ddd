//! Defines clauses: a finite verb group with its subject and the extent of its complements.

/// The subject of a clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// Entries of [`Phrases::nouns`].
    Nouns(Vec<usize>),
    /// Omitted; the verb may be about the speaker ("Sold the bike.").
    Implied,
    /// Omitted; the verb is in the third person ("Lives in Oslo."). See `topic`.
    Omitted,
    /// Omitted or not found; the clause states no fact.
    Unknown,
}

/// A finite verb with its subject and complements.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) subject: Subject,
    /// Entry of [`Phrases::verbs`].
    pub(crate) verb: usize,
    /// Index of the verb's chunk.
    pub(crate) at: usize,
    /// One past the last chunk of its complements.
    pub(crate) end: usize,
    /// First token of the subject, or of the verb without one.
    pub(crate) start_token: usize,
    /// Conditional, fictional or doubted, so it states no fact.
    pub(crate) unasserted: bool,
    /// Lemma of the verb of thinking or saying that governs this clause.
    pub(crate) hedged: Option<String>,
    /// The governing verb is negated ("I don't think …").
    pub(crate) denied: bool,
    /// Antecedent of a relative clause that lacks its object ("the book that I love").
    pub(crate) gap: Option<usize>,
    /// A relative clause separates it from its subject.
    pub(crate) distant: bool,
    /// The next clause says what is so instead: "My boss was Greg but it's Calvin".
    pub(crate) is_over: bool,
    /// It shares the objects of the next verb ("love and hate Berlin"): one past that verb's last token.
    pub(crate) shares: Option<usize>,
}

impl Clause {
    /// Makes a clause without a subject, whose verb is at chunk `at`, and which extends to chunk `end`.
    pub(crate) fn at(at: usize, start_token: usize, verb: usize, end: usize) -> Self {
        Self {
            subject: Subject::Unknown,
            verb,
            at,
            end,
            start_token,
            unasserted: false,
            hedged: None,
            denied: false,
            gap: None,
            distant: false,
            is_over: false,
            shares: None,
        }
    }
}
