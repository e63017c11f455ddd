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
    /// Returns what a question asks, and where: in the document that it names, and then in `sources`. "According to my doctor" may not mean the
    /// doctor's invoice.
    pub(super) async fn attempts(
        &self,
        caller: &Caller,
        asked: Asked,
        sources: SearchSources,
    ) -> Result<Vec<(Asked, SearchSources)>, UseCaseError> {
        let core = core_of(asked.text.as_str());
        let whole = Asked { text: core.text.into(), ..asked.clone() };
        let Some(named) = core.named_source else { return Ok(vec![(whole, sources)]) };
        let narrow = Asked { text: named.question.into(), original: Some(asked.text.clone()), ..asked };
        if sources.names_documents() {
            return Ok(vec![(narrow, sources)]);
        }
        let documents =
            if sources.include(SearchSource::Documents) { self.documents_named(caller, &named.name).await? } else { Vec::new() };
        if documents.is_empty() {
            return Ok(vec![(whole, sources)]);
        }
        let named = SearchSources { of: vec![SearchSource::Documents], documents, ..SearchSources::default() };
        Ok(vec![(narrow, named), (whole, sources)])
    }

    /// Returns the documents whose file name or title has these words, or has no others; none if that could be many.
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
        // "The staff handbook" may be handbook.pdf, but "the employment contract" is not phone-contract.pdf.
        let fits = |document: &Document| {
            let title = document.title.as_ref().map_or("", UserText::as_str);
            let names = [words(document.filename.as_str()), words(title)];
            let all = names.concat();
            let is_part = |name: &Vec<String>| !name.is_empty() && name.iter().all(|word| wanted.contains(word));
            wanted.iter().all(|word| all.contains(word)) || names.iter().any(is_part)
        };
        let named: Vec<DocumentId> = found.iter().filter(|document| fits(document)).map(|document| document.id).collect();
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

/// Returns the words of a name in small letters, without numbers and a file's ending.
fn words(name: &str) -> Vec<String> {
    const ENDINGS: [&str; 7] = ["pdf", "docx", "html", "htm", "md", "txt", "the"];
    let words = name.to_lowercase();
    let is_number = |w: &str| w.chars().all(char::is_numeric);
    words.split(|c: char| !c.is_alphanumeric()).filter(|w| !is_number(w) && !ENDINGS.contains(w)).map(str::to_owned).collect()
}
