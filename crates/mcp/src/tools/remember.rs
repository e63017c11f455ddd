//! `remember`: stores a statement and returns the facts found in it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{CHANGE, Call, Definition, Effects, STATEMENT};
use crate::{
    arguments,
    gate::{Access, Fault},
    view::{self, FactView},
};
use recall_domain::{FactId, Message, MessageStatus, Role, Timestamp, Word};
use recall_usecases::{SendMessage, UseCaseError};

/// How long a call waits until the facts are known. They are learned in any case.
const WAIT: Duration = Duration::from_secs(10);
/// Pauses between reads of the message's status: the first one, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(400)];
/// Longest name of a client program within the name of its session, in characters.
const MAX_CLIENT_CHARS: usize = 60;

pub(super) struct Remember;

/// Arguments of `remember`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// One or a few plain sentences, complete and without pronouns for others: "Maren, my sister, lives in Ghent."
    text: String,
    /// Who said it, if not the user. "I" then means that person.
    speaker: Option<String>,
    /// When it was said: a date or an RFC 3339 time. Default: now.
    at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    message_id: String,
    session_id: String,
    /// `processed`, `failed`, or `processing` if the facts follow later.
    status: &'static str,
    /// False if the user has paused remembering: nothing is learned from the message or found in it.
    remembered: bool,
    facts: Vec<FactView>,
}

impl Definition for Remember {
    const NAME: &'static str = "remember";
    const TITLE: &'static str = "Remember";
    const DESCRIPTION: &'static str = "Store something that is worth knowing in later conversations: facts about the user, people, places, \
         projects, preferences, plans. Call it as soon as the user states such a thing. Do not store small talk, secrets, or your own guesses. \
         Returns the facts that were understood.";
    const ACCESS: &'static [Access] = &[Access::Write];
    type Arguments = Arguments;
    type Output = Output;

    fn effects() -> Option<Effects> {
        Some(Effects { is_destructive: false, is_idempotent: false })
    }

    fn cost(_: &Arguments) -> usize {
        2 * CHANGE + 5 * STATEMENT
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let sent_at = arguments::time(arguments.at.as_deref(), "at")?;
        let speaker = arguments::not_blank(arguments.speaker.as_deref(), "speaker")?.map(str::to_owned);
        call.tools.gate.count_message(call.caller).await?;
        let usecases = call.tools.usecases;
        let (name, title) = session_name(call.tools.client, usecases.now());
        let session = usecases.session_named(&call.caller, &name, Some(title)).await?.id;
        let message = SendMessage {
            session,
            text: arguments.text,
            role: Role::User,
            speaker,
            sent_at,
            source_metadata: None,
            client_message_id: None,
            resources: Vec::new(),
            answer_from: recall_domain::context::SearchSources::default(),
        };
        // An import: its facts are learned, and the server itself answers nothing.
        let stored = usecases.import(&call.caller, session, vec![message]).await?;
        let stored = stored.into_iter().next().ok_or_else(|| UseCaseError::Internal { cause: "the store kept nothing".into() })?;
        let stored = wait_until_processed(call, stored).await?;
        // A credential that may only write learns nothing about what is known.
        let may_read = call.tools.gate.admit(call.tools.request, Access::Read).is_ok();
        let facts = if may_read { facts_of(call, &stored).await? } else { Vec::new() };
        Ok(Output {
            message_id: stored.id.to_string(),
            session_id: session.to_string(),
            status: stored.status.word(),
            remembered: stored.remembered,
            facts,
        })
    }

    fn text(output: &Output) -> String {
        let nothing = match output.status {
            _ if !output.remembered => "The user has paused remembering. The message is stored, but nothing is learned from it.".to_owned(),
            "processing" => format!("Stored as message {}. Its facts follow shortly.", output.message_id),
            _ => format!("Stored as message {}. No fact was found in it; its words can be recalled.", output.message_id),
        };
        view::lists(&[("Stored. Facts learned", output.facts.iter().map(FactView::line).collect())], &nothing)
    }
}

/// Returns the name and the title of the session for a client program on a day.
///
/// The endpoint keeps no connections, so nothing else tells conversations apart.
fn session_name(client: Option<&str>, now: Timestamp) -> (String, String) {
    let plain: String = client.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MAX_CLIENT_CHARS).collect();
    let day = now.format("%Y-%m-%d");
    match plain.trim() {
        "" => (format!("mcp::{day}"), format!("Agent, {day}")),
        client => (format!("mcp:{client}:{day}"), format!("{client}, {day}")),
    }
}

/// Waits until the message is processed, or [`WAIT`] is over. Another server may process it, so the store is asked.
async fn wait_until_processed(call: &Call<'_>, mut message: Message) -> Result<Message, Fault> {
    let (started, [mut pause, longest]) = (Instant::now(), PAUSES);
    while message.status == MessageStatus::Processing && started.elapsed() < WAIT {
        sleep(pause).await;
        pause = (pause * 2).min(longest);
        match call.memories.own.read.messages(&[message.id]).await?.into_iter().next() {
            Some(read) => message = read,
            None => break,
        }
    }
    Ok(message)
}

async fn facts_of(call: &Call<'_>, message: &Message) -> Result<Vec<FactView>, Fault> {
    let memory = &call.memories.own;
    let known = memory.read.facts_in(&[message.id]).await?;
    let ids: Vec<FactId> = known.into_values().flatten().map(|(fact, _)| fact).collect();
    let facts = memory.facts(&ids).await?;
    let sides = memory.sides_of(&facts).await?;
    Ok(FactView::all(&call.memories, memory, &sides, &facts))
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, session_name};

    #[test]
    fn session_is_named_after_client_program_and_day() {
        let session = |client| session_name(client, Timestamp::UNIX_EPOCH);
        let name = |client| session(client).0;
        assert_eq!(session(None), ("mcp::1970-01-01".to_owned(), "Agent, 1970-01-01".to_owned()));
        assert_eq!(name(Some(" \n")), name(None));
        let (name_of, title) = session(Some("Claude\u{0} Desktop "));
        assert_eq!((name_of.as_str(), title.as_str()), ("mcp:Claude Desktop:1970-01-01", "Claude Desktop, 1970-01-01"));
        assert!(name(Some(&"x".repeat(1_000))).len() < 100);
    }
}
