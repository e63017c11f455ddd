//! What to forget, and what was forgotten.

use super::{check, error::UseCaseError, memory::ResourceId};
use recall_domain::{EntityId, Fact, FactId, Message, MessageId, Timestamp, UndoableForgetting};
use recall_ports::MessageRange;

/// Most ids in one call.
const MAX_IDS: usize = 1_000;

/// What to forget: `query`, `facts`, `messages` and `entities` add up, and `range` narrows them.
#[derive(Clone, Debug, Default)]
pub struct ForgetRequest {
    /// Words that name it, such as "everything about Oakwood".
    pub query: Option<String>,
    /// Facts to forget.
    pub facts: Vec<FactId>,
    /// Messages to forget, whatever they state.
    pub messages: Vec<MessageId>,
    /// Entities about which to forget everything.
    pub entities: Vec<EntityId>,
    /// Messages by session and time. Alone it names all of them. Otherwise those of them that the other parts name vanish, whatever they
    /// state, and no other message.
    pub range: MessageRange,
    /// Whether to change nothing and only return what would be forgotten.
    pub dry_run: bool,
}

impl ForgetRequest {
    /// Returns all ids that it names.
    pub fn ids(&self) -> Vec<ResourceId> {
        let facts = self.facts.iter().map(|id| ResourceId::Fact(*id));
        let messages = self.messages.iter().map(|id| ResourceId::Message(*id));
        let entities = self.entities.iter().map(|id| ResourceId::Entity(*id));
        facts.chain(messages).chain(entities).chain(self.range.session.map(ResourceId::Session)).collect()
    }

    /// Returns the input of the first id that it names.
    pub fn first_input(&self) -> &'static str {
        match self {
            _ if !self.facts.is_empty() => "factIds",
            _ if !self.messages.is_empty() => "messageIds",
            _ if !self.entities.is_empty() => "entityIds",
            _ if self.range.session.is_some() => "sessionId",
            _ => "messageIds",
        }
    }

    /// Whether it names facts, messages or entities, not only a range.
    pub(super) fn names_something(&self) -> bool {
        self.query.is_some() || !(self.facts.is_empty() && self.messages.is_empty() && self.entities.is_empty())
    }
}

/// What was forgotten, would be forgotten, or was restored.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The facts. Those that were forgotten have the status `RETRACTED`.
    pub facts: Vec<Fact>,
    /// The messages that vanish or lose their text, as they were before.
    pub messages: Vec<Message>,
    /// Undoes it until it expires; absent if nothing was changed.
    pub token: Option<String>,
    /// Until when; absent if nothing was changed.
    pub undo_until: Option<Timestamp>,
}

impl Forgotten {
    /// Returns how it can be undone, if it can.
    pub(super) fn undoable(&self) -> Option<UndoableForgetting> {
        Some(UndoableForgetting { token: self.token.as_ref()?.parse().ok()?, undo_until: self.undo_until? })
    }

    /// Returns the numbers of facts and messages, as the audit log has them: "1 fact, 2 messages".
    pub fn counts(&self) -> String {
        let counted = |count: usize, noun: &str| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
        format!("{}, {}", counted(self.facts.len(), "fact"), counted(self.messages.len(), "message"))
    }
}

/// Checks a request without reading the memory.
pub(super) fn check_request(request: &ForgetRequest) -> Result<(), UseCaseError> {
    request.query.as_deref().map_or(Ok(()), check::query)?;
    if !request.names_something() && request.range == MessageRange::default() {
        let message = "Nothing to forget is named. Give a query, ids, a session or a time.";
        return Err(UseCaseError::invalid("NOTHING_NAMED", "query", message));
    }
    if let (Some(after), Some(before)) = (request.range.after, request.range.before)
        && after >= before
    {
        let message = "The range of time is empty. Give an `after` that is earlier than `before`.";
        return Err(UseCaseError::invalid("EMPTY_RANGE", "before", message));
    }
    let counts = [(request.facts.len(), "factIds"), (request.messages.len(), "messageIds"), (request.entities.len(), "entityIds")];
    for (ids, path) in counts {
        if ids > MAX_IDS {
            let message = format!("{ids} ids are too many. Give {MAX_IDS} at most.");
            return Err(UseCaseError::invalid("TOO_MANY_IDS", path, message));
        }
    }
    Ok(())
}
