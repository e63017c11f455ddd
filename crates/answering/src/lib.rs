//! [`ExtractiveAnswerer`]: answers from facts and messages of the context without any model. It states the facts
//! that fit the question in plain English, quotes messages where no fact fits, cites each, and says that it does
//! not know when neither does. It never says what no citation backs.
//!
//! `question` reads what is asked (`want` which sort of answer, `names`, `cues` and `sides` of whom and by which relation,
//! `period` of when), `facts` chooses facts and `tell` says them (`sentence` has the grammar), `messages` chooses quotes
//! (`manner` refuses wishes, denials and the words of others), `refer` finds who "my sister" is.

mod classes;
mod cues;
mod facts;
mod manner;
mod messages;
mod names;
mod period;
mod question;
mod refer;
mod sentence;
mod sides;
mod smalltalk;
mod tell;
#[cfg(test)]
mod tests;
mod want;
mod words;

use std::collections::HashSet;

use async_trait::async_trait;

use self::{
    cues::CueBook,
    messages::{Quote, Search},
    question::{Asks, Question},
    sentence::day,
    tell::{Page, Teller},
    want::Want,
};
use recall_domain::{Caller, Citation, Entity, Ontology, UserText, context::Context};
use recall_embedding::LocalEmbedder;
use recall_ports::{AnswerDraft, AnswerError, AnswerSink, Answerer, Asked};

/// What is said when nothing supports an answer.
const UNKNOWN: &str = "I don't know: nothing I was told answers that.";

/// [`Answerer`] that extracts.
pub struct ExtractiveAnswerer {
    book: CueBook,
    embedder: LocalEmbedder,
}

impl ExtractiveAnswerer {
    /// An answerer that reads questions by the cues of `ontology` and compares words by `embedder`.
    pub fn new(ontology: &Ontology, embedder: LocalEmbedder) -> Self {
        Self { book: CueBook::new(ontology), embedder }
    }

    /// The answer; a pure function of question and context.
    pub fn draft(&self, asked: &Asked, context: &Context) -> AnswerDraft {
        let question = self.read(asked, context);
        let nothing = |text: &str| AnswerDraft { text: text.into(), citations: Vec::new(), grounded: false, answerer: None };
        if let Some(reply) = smalltalk::reply(asked.text.as_str()) {
            return nothing(reply);
        }
        let mut page = Page::new(context);
        let search = Search { question: &question, entities: &context.entities, book: &self.book, embedder: &self.embedder };
        // When something was, is told by the one who told it; that it was told on a day is the next best.
        let is_of_end = |c: &cues::CueMatch| c.form == cues::Form::Ending;
        let words_first = matches!(question.want, Want::Time | Want::Count(_) | Want::Occupation)
            || (question.asks != Asks::Whether && question.cues.iter().any(is_of_end));
        let mut sentences = if words_first { quoted(&question, search.quotes(&context.messages), &mut page) } else { Vec::new() };
        if sentences.is_empty() {
            let found = facts::find(&question, &context.facts, &self.book, &self.embedder);
            sentences = Teller { book: &self.book, question: &question, found: &found }.state(&mut page);
        }
        if sentences.is_empty() && !words_first {
            sentences = quoted(&question, search.quotes(&context.messages), &mut page);
        }
        if sentences.is_empty() {
            return nothing(UNKNOWN);
        }
        AnswerDraft { text: sentences.join(" ").into(), citations: page.citations, grounded: true, answerer: None }
    }

    fn read(&self, asked: &Asked, context: &Context) -> Question {
        let mut known: Vec<&Entity> = context.entities.iter().collect();
        known.extend(context.facts.iter().flat_map(|f| [&f.subject, &f.object]));
        let mut seen = HashSet::new();
        known.retain(|e| seen.insert(e.id));
        // What nothing is known of may owe its being to a question that was misread ("Ada work"): others go before it.
        let told: HashSet<_> = context.facts.iter().flat_map(|f| [f.subject.id, f.object.id]).collect();
        let tier = |e: &Entity| match told.contains(&e.id) {
            true => 0,
            false => 1 + u8::from(e.mention_count <= 1),
        };
        let known: Vec<(u8, &Entity)> = known.into_iter().map(|e| (tier(e), e)).collect();
        Question::read(asked.text.as_str(), asked.at, &known, &self.book)
    }
}

/// Quotes, each with its mark: "On 8 May 2026 you said: “…” [1]."
fn quoted(question: &Question, quotes: Vec<Quote<'_>>, page: &mut Page<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for quote in quotes {
        let message = quote.message;
        let who = message.speaker.as_deref().unwrap_or("you");
        let mark = page.cite(Citation {
            index: 0,
            message_id: Some(message.id),
            fact_id: None,
            excerpt: UserText::from(quote.excerpt.clone()),
            shared: false,
        });
        let verdict = match quote.verdict {
            Some(true) => "Yes: on",
            Some(false) => "No: on",
            None => "On",
        };
        // "Yesterday" was another day when it was said.
        let when = if question.asks == Asks::When { period::relatives(&quote.excerpt, message.sent_at) } else { Vec::new() };
        let when: Vec<String> = when.iter().map(|(words, period)| format!("{words}: {}", period.words())).collect();
        let when = if when.is_empty() { String::new() } else { format!(" ({})", when.join(", ")) };
        sentences.push(format!("{verdict} {} {who} said: “{}” {mark}{when}.", day(message.sent_at), quote.excerpt));
    }
    sentences
}

#[async_trait]
impl Answerer for ExtractiveAnswerer {
    fn name(&self) -> &str {
        "extractive"
    }

    fn rephrase(&self, asked: &Asked, context: &Context) -> Option<UserText> {
        let question = self.read(asked, context);
        let by_name = refer::by_name(asked.text.as_str(), &question, &context.facts, &self.book);
        by_name.or_else(|| refer::by_occupation(&question)).map(UserText::from)
    }

    async fn answer(&self, _caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError> {
        let draft = self.draft(asked, context);
        sink.delta(draft.text.as_str());
        Ok(draft)
    }
}
