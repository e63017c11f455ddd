//! `forget`: shows what would be forgotten, and forgets it.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CHANGE, Call, Definition, Effects, SEARCH, STATEMENT};
use crate::{
    arguments::{self, MAX_ITEMS},
    gate::{Access, Fault, Refusal},
    view::{self, FactView, MessageView, counted},
};
use recall_domain::AuditAction;
use recall_ports::MessageRange;
use recall_usecases::{ForgetRequest, Forgotten};

/// Most ids in one call.
const MAX_IDS: usize = 100;

pub(super) struct Forget;

/// Arguments of `forget`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What to forget: "that I have a dog", "everything about Oakwood".
    query: Option<String>,
    /// Or the facts, as another tool returned them; at most 100.
    #[serde(default)]
    fact_ids: Vec<String>,
    /// Or everything about these entities, by id.
    #[serde(default)]
    entity_ids: Vec<String>,
    /// Or only what was said in this session.
    session_id: Option<String>,
    /// Or only what was said since this time.
    after: Option<String>,
    /// And before this one.
    before: Option<String>,
    /// Only show what would be forgotten. Set it to false after the user has agreed.
    #[serde(default = "yes")]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    dry_run: bool,
    fact_count: usize,
    message_count: usize,
    /// The first of them.
    facts: Vec<FactView>,
    /// The first of them.
    messages: Vec<MessageView>,
    /// Undoes it for some minutes, over GraphQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Definition for Forget {
    const NAME: &'static str = "forget";
    const TITLE: &'static str = "Forget";
    const DESCRIPTION: &'static str = "Remove something from memory when the user asks for it. Call it first with `dry_run` true, show the user the result, and \
         after their consent repeat it with `dry_run` false. Give `query`, `fact_ids` or \
         `entity_ids`, or a session or time; those also narrow the rest.";
    // The result shows what is known.
    const ACCESS: &'static [Access] = &[Access::Read, Access::Write];
    type Arguments = Arguments;
    type Output = Output;

    fn effects() -> Option<Effects> {
        Some(Effects { is_destructive: true, is_idempotent: true })
    }

    fn cost(arguments: &Arguments) -> usize {
        SEARCH + 2 * CHANGE + 7 * STATEMENT + (arguments.fact_ids.len() + arguments.entity_ids.len()).min(MAX_IDS)
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let query = arguments::not_blank(arguments.query.as_deref(), "query")?.map(str::to_owned);
        let facts = ids(&arguments.fact_ids, "fact_ids")?;
        let entities = ids(&arguments.entity_ids, "entity_ids")?;
        if [query.is_some(), !facts.is_empty(), !entities.is_empty()].iter().filter(|is_given| **is_given).count() > 1 {
            let message = "Give one of `query`, `fact_ids` and `entity_ids`.";
            return Err(Refusal::invalid("INVALID_ARGUMENTS", "query", message).into());
        }
        let session = ids(arguments.session_id.as_slice(), "session_id")?.pop();
        let (after, before) =
            (arguments::time(arguments.after.as_deref(), "after")?, arguments::time(arguments.before.as_deref(), "before")?);
        let range = MessageRange { session, after, before };
        let dry_run = arguments.dry_run;
        let request = ForgetRequest { query, facts, messages: Vec::new(), entities, range, dry_run };
        let Forgotten { mut facts, mut messages, token, .. } = call.tools.usecases.forget(&call.caller, request).await?;
        let (fact_count, message_count) = (facts.len(), messages.len());
        if token.is_some() {
            let counts = format!("{}, {}", counted(fact_count, "fact"), counted(message_count, "message"));
            call.tools.gate.audit(call.tools.request, AuditAction::MemoryForgotten, counts).await;
        }
        facts.truncate(MAX_ITEMS as usize);
        messages.truncate(MAX_ITEMS as usize);
        let memory = &call.memories.own;
        let sides = memory.with_forgotten().sides_of(&facts).await?;
        Ok(Output {
            dry_run,
            fact_count,
            message_count,
            facts: FactView::all(&call.memories, memory, &sides, &facts),
            messages: messages.iter().map(|m| MessageView::short(m, false)).collect(),
            token,
        })
    }

    fn text(output: &Output) -> String {
        let Output { dry_run, fact_count, message_count, facts, messages, .. } = output;
        if fact_count + message_count == 0 {
            return "The memory holds nothing that this names. Nothing was forgotten.".to_owned();
        }
        let counts = format!("{} and {}", counted(*fact_count, "fact"), counted(*message_count, "message"));
        let head = match dry_run {
            true => format!("Nothing has changed yet. This would forget {counts}."),
            false => format!("Forgotten: {counts}."),
        };
        let lists = [("Facts", facts.iter().map(FactView::line).collect()), ("Messages", messages.iter().map(MessageView::line).collect())];
        format!("{head}\n{}", view::lists(&lists, ""))
    }
}

fn ids<T: FromStr>(given: &[String], path: &str) -> Result<Vec<T>, Refusal> {
    if given.len() > MAX_IDS {
        return Err(Refusal::invalid("TOO_MANY_IDS", path, format!("Give at most {MAX_IDS} ids in one call.")));
    }
    let wrong = |_| Refusal::invalid("INVALID_ID", path, "An id is a UUID, as this server returned it.");
    given.iter().map(|id| id.trim().parse().map_err(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_domain::FactId;

    #[test]
    fn dry_run_is_the_default() {
        let read: Arguments = serde_json::from_value(serde_json::json!({ "query": "my dog" })).unwrap();
        assert!(read.dry_run && read.fact_ids.is_empty());
    }

    #[test]
    fn ids_of_facts_are_checked() {
        let ids = |given: &[String]| ids::<FactId>(given, "fact_ids");
        assert_eq!(ids(&["7".to_owned()]).unwrap_err().code, "INVALID_ID");
        let id = "00000000-0000-4000-8000-000000000001".to_owned();
        assert_eq!(ids(&vec![id.clone(); MAX_IDS + 1]).unwrap_err().code, "TOO_MANY_IDS");
        assert_eq!(ids(&[id]).unwrap().len(), 1);
    }
}
