//! The tools: what each takes, costs and returns. One file holds one tool.

mod forget;
mod how_do_you_know;
mod list_entities;
mod query_graph;
mod recall;
mod remember;
mod timeline;

use http::request::Parts;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    arguments,
    gate::{Access, Fault, Gate, Refusal},
    memories::Memories,
    schema,
};
use recall_domain::Caller;
use recall_ports::GraphQueries;
use recall_usecases::UseCases;

pub(crate) use recall::question;

/// Cost of one database statement, as in GraphQL.
const STATEMENT: usize = 40;
/// Cost of a change, as in GraphQL.
const CHANGE: usize = 100;
/// Cost of a search of all messages, as in GraphQL.
const SEARCH: usize = 200;

/// What tools use besides their arguments.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'c> {
    pub(crate) usecases: &'c UseCases,
    pub(crate) graph: &'c dyn GraphQueries,
    pub(crate) gate: &'c dyn Gate,
    pub(crate) request: &'c Parts,
    /// The name of the client program, if the request carries it.
    pub(crate) client: Option<&'c str>,
}

/// One call of a tool.
struct Call<'c> {
    tools: Tools<'c>,
    caller: Caller,
    memories: Memories,
}

/// One tool.
trait Definition {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Tells a model when to use it.
    const DESCRIPTION: &'static str;
    /// The permissions that every call needs.
    const ACCESS: &'static [Access];
    type Arguments: DeserializeOwned + JsonSchema + Send + Sync;
    type Output: Serialize + JsonSchema + Send;

    /// How the tool affects the memory, if it does not only read.
    fn effects() -> Option<Effects> {
        None
    }

    /// The cost of a call, in the units of GraphQL.
    fn cost(arguments: &Self::Arguments) -> usize;

    fn call(call: &Call<'_>, arguments: Self::Arguments) -> impl Future<Output = Result<Self::Output, Fault>> + Send;

    /// Renders the result for clients that show a model only text.
    fn text(output: &Self::Output) -> String;
}

/// How a tool changes the memory.
struct Effects {
    is_destructive: bool,
    is_idempotent: bool,
}

/// Returns the definitions of all tools.
pub(crate) fn list() -> Vec<Tool> {
    vec![
        describe::<remember::Remember>(),
        describe::<recall::Recall>(),
        describe::<query_graph::QueryGraph>(),
        describe::<how_do_you_know::HowDoYouKnow>(),
        describe::<forget::Forget>(),
        describe::<list_entities::ListEntities>(),
        describe::<timeline::Timeline>(),
    ]
}

impl Tools<'_> {
    /// Calls a tool; `None` if no tool has the name.
    pub(crate) async fn call(self, name: &str, arguments: Option<JsonObject>) -> Option<Result<CallToolResult, Fault>> {
        Some(match name {
            remember::Remember::NAME => self.run::<remember::Remember>(arguments).await,
            recall::Recall::NAME => self.run::<recall::Recall>(arguments).await,
            query_graph::QueryGraph::NAME => self.run::<query_graph::QueryGraph>(arguments).await,
            how_do_you_know::HowDoYouKnow::NAME => self.run::<how_do_you_know::HowDoYouKnow>(arguments).await,
            forget::Forget::NAME => self.run::<forget::Forget>(arguments).await,
            list_entities::ListEntities::NAME => self.run::<list_entities::ListEntities>(arguments).await,
            timeline::Timeline::NAME => self.run::<timeline::Timeline>(arguments).await,
            _ => return None,
        })
    }

    async fn run<D: Definition>(self, arguments: Option<JsonObject>) -> Result<CallToolResult, Fault> {
        let mut caller = None;
        for access in D::ACCESS {
            caller = Some(self.gate.admit(self.request, *access)?);
        }
        let caller = match caller {
            Some(caller) => caller,
            None => self.gate.admit(self.request, Access::Read)?,
        };
        let arguments: D::Arguments = arguments::read(arguments)?;
        self.gate.charge(caller, D::cost(&arguments)).await?;
        let call = Call { tools: self, caller, memories: Memories::of(self.usecases, caller).await? };
        let output = D::call(&call, arguments).await?;
        let text = D::text(&output);
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(serde_json::to_value(output).unwrap_or(Value::Null));
        Ok(result)
    }
}

/// Returns the result of a call that was refused: a text for the model, with the stable code in `_meta` for programs.
pub(crate) fn refused(refusal: &Refusal) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("{}: {}", refusal.code, refusal.message))]);
    let mut about = JsonObject::new();
    about.insert("recall/code".to_owned(), json!(refusal.code));
    if let Some(path) = &refusal.path {
        about.insert("recall/path".to_owned(), json!(path));
    }
    result.meta = Some(MetaObject(about));
    result
}

fn describe<D: Definition>() -> Tool {
    // No tool reaches beyond this server.
    let annotations = ToolAnnotations::with_title(D::TITLE).open_world(false);
    let annotations = match D::effects() {
        None => annotations.read_only(true),
        Some(effects) => annotations.read_only(false).destructive(effects.is_destructive).idempotent(effects.is_idempotent),
    };
    Tool::new(D::NAME, D::DESCRIPTION, schema::of_input::<D::Arguments>())
        .with_title(D::TITLE)
        .with_raw_output_schema(schema::of_output::<D::Output>())
        .with_annotations(annotations)
}

#[cfg(test)]
mod tests;
