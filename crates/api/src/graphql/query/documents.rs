//! Queries of documents.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{DocumentNode, DocumentStatus, MessageNode, loaded_messages},
        page::{self, Connection, Total, connection_cost},
        scope::{Needs, read_id, scope},
    },
};
use recall_domain::DocumentId;
use recall_ports as ports;
use recall_usecases::standard_link;

/// Conditions on documents. All given conditions must hold.
#[derive(InputObject, Default)]
#[graphql(name = "DocumentFilter")]
pub(crate) struct DocumentFilterInput {
    /// The document is in this collection.
    collection: Option<String>,
    /// The document has this status.
    status: Option<DocumentStatus>,
    /// The file name, the title or the path contains this text, ignoring case.
    text: Option<String>,
    /// The document links to this address. It is compared in standard form: without fragment, default port and credentials.
    links_to: Option<String>,
    /// Only versions for which no newer version is searchable.
    #[graphql(default)]
    current: bool,
}

impl DocumentFilterInput {
    fn read(self) -> Result<ports::DocumentFilter, ApiError> {
        let links_to = self.links_to.map(|link| standard(&link, "filter.linksTo")).transpose()?;
        Ok(ports::DocumentFilter {
            collections: self.collection.into_iter().collect(),
            ids: Vec::new(),
            status: self.status.map(Into::into),
            text: self.text,
            links_to,
            current: self.current,
        })
    }
}

/// Returns an address in standard form.
fn standard(link: &str, path: &str) -> Result<String, ApiError> {
    let message = "A link is an absolute address, such as https://example.org/page or file:///home/ann/notes.md.";
    standard_link(link).ok_or_else(|| ApiError::invalid("INVALID_LINK", message, path))
}

#[derive(Default)]
pub(super) struct DocumentQueries;

#[Object(guard = "Needs::Read")]
impl DocumentQueries {
    /// A document of the viewer or of shared memory; null if it does not exist.
    async fn document(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the document.")] id: ID,
    ) -> async_graphql::Result<Option<DocumentNode>> {
        let id: DocumentId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(document, memory)| DocumentNode(document, memory)))
    }

    /// The viewer's messages that contain or link to a resource, latest first. For documents see `documents(filter: {linksTo})`.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn messages_linking_to(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The address. It is compared in standard form: without fragment, default port and credentials.")] uri: String,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let page = page::read_page(first, after)?;
        let memory = scope(ctx)?.memory(shared)?;
        let slice = memory.read.list_linking(&standard(&uri, "uri")?, &page).await.map_err(ApiError::from)?;
        loaded_messages(memory, slice, &page).await
    }

    /// The viewer's documents, latest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn documents(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Return only documents that match.")] filter: Option<DocumentFilterInput>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<DocumentNode>> {
        let s = scope(ctx)?;
        let page = page::read_page(first, after)?;
        let memory = s.memory(shared)?;
        let filter = filter.unwrap_or_default().read()?;
        let slice = memory.read.list_documents(&filter, &page).await.map_err(ApiError::from)?;
        let total = Total::Documents(memory.read.clone(), filter);
        Ok(page::forward_connection(slice, &page, total, |document| DocumentNode(document, memory.clone())))
    }
}
