//! The contract on Neo4j, which follows the store over the change feed.

use std::sync::Arc;

use recall::{
    adapters::neo4j::Neo4jGraph,
    ports::{ChangeFeed, GraphQueries},
    projection::Projection,
};

use super::{Answering, Folder, World, queries::graph_contract, service::Neo4jServer};

struct Following {
    projection: Projection,
    graph: Arc<Neo4jGraph>,
    feed: String,
}

#[async_trait::async_trait]
impl Answering for Following {
    fn queries(&self) -> Arc<dyn GraphQueries> {
        self.graph.clone()
    }
    async fn settle(&self, world: &World) {
        self.projection.catch_up(&self.feed, &world.caller).await.unwrap();
    }
}

async fn answering(folder: &Folder) -> Option<Box<dyn Answering>> {
    let server = Neo4jServer::shared().await?;
    let feed: Arc<dyn ChangeFeed> = folder.store.clone();
    let projection = Projection::new(feed, server.graph());
    let feed = projection.prepare().await.unwrap();
    Some(Box::new(Following { projection, graph: server.graph(), feed }))
}

graph_contract!(answering);
