//! A conversation as a client sends it: user messages with their answers.

use super::{super::resources::Attachment, chain};
use recall_domain::UserText;

/// A user message of a conversation, and the answers that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What the user says.
    pub text: UserText,
    /// What the user sends with it.
    pub attachments: Vec<Attachment>,
    /// What the assistant says before the next user message.
    pub answers: Vec<UserText>,
}

impl Turn {
    /// Returns what distinguishes it from other messages: its text, or what is sent without one.
    pub(super) fn identity(&self) -> &str {
        match self.text.as_str().trim() {
            "" => self.attachments.first().map_or("", Attachment::as_written),
            text => text,
        }
    }
}

/// A conversation as a client sends it.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The client's id of the conversation. Without it, the first user message names the conversation.
    pub(super) chat: Option<String>,
    /// The user messages with their answers, in order.
    pub(super) turns: Vec<Turn>,
}

impl Conversation {
    /// Creates a conversation. The texts are made storable.
    pub fn new(chat: Option<String>, turns: Vec<Turn>) -> Self {
        let storable = |text: UserText| chain::storable(text.as_str());
        let turn = |turn: Turn| Turn {
            text: storable(turn.text),
            attachments: turn.attachments,
            answers: turn.answers.into_iter().map(storable).collect(),
        };
        Self { chat, turns: turns.into_iter().map(turn).collect() }
    }

    /// Returns it with other texts.
    pub(super) fn with_texts(&self, change: impl Fn(&UserText) -> UserText) -> Self {
        let turn = |turn: &Turn| Turn {
            text: change(&turn.text),
            attachments: turn.attachments.clone(),
            answers: turn.answers.iter().map(&change).collect(),
        };
        Self { chat: self.chat.clone(), turns: self.turns.iter().map(turn).collect() }
    }

    /// Returns the last user message.
    pub fn question(&self) -> Option<&UserText> {
        self.turns.last().map(|turn| &turn.text)
    }

    /// The name of its session.
    pub(super) fn name(&self) -> String {
        match &self.chat {
            Some(chat) => name_of_chat(chat),
            None => format!("first:{}", chain::name_of_first(self.turns.first().map_or("", Turn::identity))),
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &UserText> {
        self.turns.iter().flat_map(|turn| std::iter::once(&turn.text).chain(&turn.answers))
    }
}

/// The name of the session of a chat with an id.
pub(super) fn name_of_chat(chat: &str) -> String {
    format!("chat:{chat}")
}
