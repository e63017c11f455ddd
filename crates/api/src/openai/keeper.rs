//! What happens with an answer: it is stored, its tokens are counted, and its sources are shown.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Handlers, answer::AnswerCollector, options::Citations};
use crate::rate::OpenStream;
use recall_domain::{Caller, CitedChunk};
use recall_ports::{ChatEndpoint, ChatUpstream, asked_by};
use recall_usecases::{Recollection, Remembered, Source, WrittenAnswer};

/// Longest time to store an answer. The client waits for it.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// The conversation of a request, as far as it is stored.
pub(super) struct Remembering {
    pub(super) stored: Remembered,
    pub(super) recollection: Recollection,
}

/// Keeps the answer to a forwarded request. Dropping it counts the tokens used so far.
pub(super) struct Keeper {
    pub(super) handlers: Handlers,
    pub(super) upstream: Arc<dyn ChatUpstream>,
    pub(super) endpoint: ChatEndpoint,
    pub(super) caller: Caller,
    /// `None` for requests that are not remembered.
    pub(super) remembering: Option<Remembering>,
    /// The chat whose title the answer is.
    pub(super) titled: Option<String>,
    pub(super) citations: Citations,
    /// Bytes of the request.
    pub(super) sent: usize,
    /// The answer so far.
    pub(super) answer: AnswerCollector,
    /// Counts the request as open.
    pub(super) _open: OpenStream,
}

impl Keeper {
    /// Stores the answer, if the model ended it.
    ///
    /// If that fails, the client gets its answer all the same. It sends the answer with its next request, which then stores it.
    pub(super) async fn store(&self) {
        if self.answer.has_failed() {
            return;
        }
        let usecases = &self.handlers.usecases;
        let stored = async {
            match (&self.remembering, &self.titled) {
                (Some(chat), _) => {
                    let (text, model) = (self.answer.text(), &self.answer.model);
                    let citations = chat.recollection.citations_of(text);
                    let written = WrittenAnswer { text, citations, nearest: Vec::new(), model };
                    usecases.remember_answer(&self.caller, &chat.stored, written).await
                }
                (None, Some(chat)) => match title_in(self.answer.text()) {
                    Some(title) => usecases.title_conversation(&self.caller, chat, &title).await,
                    None => Ok(()),
                },
                (None, None) => Ok(()),
            }
        };
        let reason = match timeout(STORE_TIMEOUT, asked_by(self.caller.user(), stored)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.code(),
            Err(_) => "TIMEOUT",
        };
        metrics::counter!("recall_proxied_answers_not_stored_total").increment(1);
        tracing::warn!(reason, "the answer of a proxied conversation is not stored");
    }

    /// Returns the sources as text for the end of the answer; empty unless they are shown as text.
    pub(super) fn text_sources(&self) -> String {
        match (&self.remembering, self.citations) {
            (Some(remembering), Citations::Text) => remembering.recollection.sources_of(self.answer.text()),
            _ => String::new(),
        }
    }

    /// Returns the sources as Open WebUI shows them; empty unless they are shown there.
    pub(super) fn source_objects(&self) -> Vec<Value> {
        match (&self.remembering, self.citations) {
            (Some(remembering), Citations::OpenWebUi) => {
                // Open WebUI counts the sources, so those before a cited one are needed too.
                let last = remembering.recollection.cited(self.answer.text()).last().map_or(0, |source| source.number);
                remembering.recollection.sources.iter().take(last).map(source_object).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let (upstream, caller, tokens) = (self.upstream.clone(), self.caller, self.answer.tokens(self.sent));
        let question = self.remembering.as_ref().and_then(|remembering| remembering.stored.question());
        // The client may be gone, so no task waits for this. The process may be ending, too.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.handlers.usecases.background_tasks().run(async move { upstream.spend(&caller, tokens, question).await });
    }
}

/// Returns the title in an answer such as `{"title": "Moving to Ghent"}`. Models write other text around it.
fn title_in(answer: &str) -> Option<String> {
    let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let title = serde_json::from_str::<Value>(object).ok()?.get("title")?.as_str()?.trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// A source in the shape of Open WebUI.
pub(super) fn source_object(source: &Source) -> Value {
    let id = source.fact.map(|id| id.to_string()).or_else(|| source.message.map(|id| id.to_string())).unwrap_or_default();
    source_entry((source.number, source.chunk.as_ref()), &id, source.excerpt.as_str())
}

/// Writes a source in the shape of Open WebUI. The id keeps sources with the same words apart.
pub(super) fn source_entry((number, chunk): (usize, Option<&CitedChunk>), id: &str, excerpt: &str) -> Value {
    let name = chunk.map_or_else(|| format!("Memory {number}"), CitedChunk::place);
    json!({ "source": { "name": name, "id": id }, "document": [excerpt], "metadata": [{ "source": id, "name": name }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_read_from_an_answer() {
        assert_eq!(title_in(r#"{ "title": " Moving to Ghent " }"#).as_deref(), Some("Moving to Ghent"));
        assert_eq!(title_in("Here it is:\n```json\n{\"title\": \"A\"}\n```").as_deref(), Some("A"));
        for other in ["", "Moving to Ghent", "} {", r#"{"title": 7}"#, r#"{"title": " "}"#, r#"{"tags": []}"#] {
            assert_eq!(title_in(other), None, "{other}");
        }
    }
}
