//! Queries of documents.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{DocumentNode, DocumentStatus},
        page::{self, Connection, Total, connection_cost},
        scope::{Needs, read_id, scope},
    },
};
use recall_domain::DocumentId;
use recall_ports as ports;

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
    /// Only versions for which no newer version is searchable.
    #[graphql(default)]
    current: bool,
}

impl DocumentFilterInput {
    fn read(self) -> ports::DocumentFilter {
        ports::DocumentFilter {
            collections: self.collection.into_iter().collect(),
            ids: Vec::new(),
            status: self.status.map(Into::into),
            text: self.text,
            current: self.current,
        }
    }
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
        let filter = filter.unwrap_or_default().read();
        let slice = memory.read.list_documents(&filter, &page).await.map_err(ApiError::from)?;
        let total = Total::Documents(memory.read.clone(), filter);
        Ok(page::forward_connection(slice, &page, total, |document| DocumentNode(document, memory.clone())))
    }
}
