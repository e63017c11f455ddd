//! `recall`: finds what is known about a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Definition, SEARCH, STATEMENT};
use crate::{
    arguments::{self, MAX_ITEMS},
    gate::{Access, Fault},
    view::{self, EntityView, FactView, MessageView, PassageView},
};
use recall_domain::context::{Context, ContextQuery, Scope};

/// Messages in a result by default.
const DEFAULT: u32 = 10;
/// Most facts in a result, which the use case finds in addition to the messages.
const FACTS: usize = 30;

pub(super) struct Recall;

/// Arguments of `recall`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The question or topic in plain words, with names: "Where does Maren live?"
    query: String,
    /// Most messages, 1 to 50. Default: 10.
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    facts: Vec<FactView>,
    messages: Vec<MessageView>,
    /// Passages of documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passages: Vec<PassageView>,
    entities: Vec<EntityView>,
}

/// Builds the query of a question over everything that the caller may read.
pub(crate) fn question(text: String, first: u32) -> ContextQuery {
    ContextQuery {
        text: text.into(),
        scope: Scope::User,
        first,
        sources: recall_domain::context::SearchSources::default(),
        methods: Vec::new(),
        as_of: None,
        exclude: None,
        route: None,
        shared: true,
        waits: false,
    }
}

impl Output {
    fn of(call: &Call<'_>, context: &Context) -> Self {
        Self {
            facts: context.facts.iter().map(|f| FactView::ranked(&call.memories, f)).collect(),
            messages: context.messages.iter().map(|m| MessageView::short(&m.message, m.shared)).collect(),
            passages: context.chunks.iter().map(PassageView::of).collect(),
            entities: context.entities.iter().map(|e| EntityView::of(e, context.shared_entities.contains(&e.id))).collect(),
        }
    }
}

impl Definition for Recall {
    const NAME: &'static str = "recall";
    const TITLE: &'static str = "Recall";
    const DESCRIPTION: &'static str = "Search the user's long-term memory by words and meaning. Call it before you answer anything that may depend on \
         earlier conversations, or about people and things the user knows. Returns facts with their belief (0 to 1), dated messages and passages of documents, best first.";
    const ACCESS: &'static [Access] = &[Access::Read];
    type Arguments = Arguments;
    type Output = Output;

    fn cost(arguments: &Arguments) -> usize {
        SEARCH + 5 * STATEMENT + arguments.limit.unwrap_or(DEFAULT).min(MAX_ITEMS) as usize + FACTS
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let limit = arguments::limit(arguments.limit, DEFAULT)?;
        let context = call.tools.usecases.context(&call.caller, question(arguments.query, limit)).await?;
        Ok(Output::of(call, &context))
    }

    fn text(output: &Output) -> String {
        let facts = output.facts.iter().map(FactView::line).collect();
        let messages = output.messages.iter().map(MessageView::line).collect();
        let passages = output.passages.iter().map(PassageView::line).collect();
        view::lists(&[("Facts", facts), ("Messages", messages), ("Documents", passages)], "The memory holds nothing about this.")
    }
}
