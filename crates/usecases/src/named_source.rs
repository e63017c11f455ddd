//! Finds where a question asks to look: "according to the lease", and what it asks there.

use super::{core_question::core_of, error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Document, DocumentId, DocumentStatus, Page, UserText,
    context::{SearchSource, SearchSources},
};
use recall_ports::{Asked, DocumentFilter};

/// Most documents whose names are compared, and most that one name may mean.
const COMPARED: u32 = 50;
const MAX_NAMED: usize = 5;

impl UseCases {
    /// Replaces the text of a question by what it asks, and returns where to look: in the document that it names, else in `sources`.
    pub(super) async fn sources_of_question(
        &self,
        caller: &Caller,
        asked: &mut Asked,
        sources: SearchSources,
    ) -> Result<SearchSources, UseCaseError> {
        let core = core_of(asked.text.as_str());
        let Some(named) = core.named_source else {
            asked.text = core.text.into();
            return Ok(sources);
        };
        if sources.names_documents() {
            asked.text = named.question.into();
            return Ok(sources);
        }
        let documents =
            if sources.include(SearchSource::Documents) { self.documents_named(caller, &named.name).await? } else { Vec::new() };
        if documents.is_empty() {
            asked.text = core.text.into();
            return Ok(sources);
        }
        asked.text = named.question.into();
        Ok(SearchSources { of: vec![SearchSource::Documents], documents, ..SearchSources::default() })
    }

    /// Returns the documents whose file name or title has these words; none if that could be many.
    async fn documents_named(&self, caller: &Caller, name: &str) -> Result<Vec<DocumentId>, UseCaseError> {
        let wanted = words(name);
        let Some(last) = wanted.last() else { return Ok(Vec::new()) };
        let filter = DocumentFilter {
            text: Some(last.clone()),
            status: Some(DocumentStatus::Completed),
            current: true,
            ..DocumentFilter::default()
        };
        let mut found: Vec<Document> = Vec::new();
        for whose in std::iter::once(*caller).chain(self.shared_reader(caller).await?) {
            let page = self.parts.store.list_documents(&whose, &filter, &Page::first(COMPARED)).await?;
            found.extend(page.items.into_iter().map(|(_, document)| document));
        }
        let has = |document: &Document, words_of_name: &[String]| {
            let title = document.title.as_ref().map_or("", UserText::as_str);
            let of_document = words(&format!("{} {title}", document.filename.as_str()));
            words_of_name.iter().all(|word| of_document.contains(word))
        };
        // "The staff handbook" may be handbook.pdf.
        let with = |words_of_name: &[String]| -> Vec<DocumentId> { found.iter().filter(|d| has(d, words_of_name)).map(|d| d.id).collect() };
        let mut named = with(&wanted);
        if named.is_empty() {
            named = with(std::slice::from_ref(last));
        }
        Ok(if named.len() <= MAX_NAMED { named } else { Vec::new() })
    }

    /// Returns what to reply if none of the documents that a question is limited to is read yet.
    pub(super) async fn not_yet_read(&self, caller: &Caller, sources: &SearchSources) -> Result<Option<String>, UseCaseError> {
        if sources.documents.is_empty() {
            return Ok(None);
        }
        let documents = self.parts.store.documents_by_id(caller, &sources.documents).await?;
        let is_read = |d: &Document| d.status == DocumentStatus::Completed;
        let Some(first) = documents.first().filter(|_| documents.len() == sources.documents.len() && !documents.iter().any(is_read)) else {
            return Ok(None);
        };
        let name = first.filename.as_str();
        Ok(Some(match first.status {
            DocumentStatus::Failed => format!("{name} could not be read, so I can't answer from it."),
            _ => format!("{name} is still being read. Please ask again when it is done."),
        }))
    }
}

/// Returns the words of a name in small letters, without a file's ending.
fn words(name: &str) -> Vec<String> {
    const ENDINGS: [&str; 7] = ["pdf", "docx", "html", "htm", "md", "txt", "the"];
    let words = name.to_lowercase();
    words.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty() && !ENDINGS.contains(w)).map(str::to_owned).collect()
}
