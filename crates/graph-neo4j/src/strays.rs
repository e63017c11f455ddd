//! Finds graph data that this program did not write. The database belongs to this program, so all of it is reported.

use neo4rs::query;

use super::{client::Client, failure::Failure, values::Columns};
use recall_ports::ForeignElement;

/// The pattern of user ids that this program writes.
const ID: &str = "'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'";

pub(super) async fn find(client: &Client, limit: u32) -> Result<Vec<ForeignElement>, Failure> {
    let nodes = format!(
        "MATCH (n) WHERE NOT coalesce(
             labels(n) = ['ProjectionMarker']
             OR (labels(n) = ['Projection'] AND n.user_id =~ {ID}
                 AND all(k IN keys(n) WHERE k IN ['user_id', 'feed', 'position', 'updated_at', 'touched_at', 'maker', 'maker_at']))
             OR (labels(n) IN [['Session'], ['Entity'], ['Message'], ['Message', 'Question'], ['Question', 'Message'], ['Document'], ['Chunk'],
                     ['Topic']]
                 AND n.user_id =~ {ID} AND n.id =~ {ID})
             OR (labels(n) = ['Resource'] AND n.user_id =~ {ID} AND n.id =~ {ID} AND EXISTS {{ (n)<-[:LINKS_TO]-(:Document) }}
                 AND all(k IN keys(n) WHERE k IN ['user_id', 'id', 'uri']))
             OR (labels(n) = ['User'] AND n.user_id =~ {ID} AND n.id = n.user_id AND size(keys(n)) = 2
                 AND EXISTS {{ (n)-[:OWNS]->(:Document) }}), false)
         RETURN elementId(n) AS element LIMIT $limit"
    );
    // Facts within one user are compared one by one. All other relationships have a known type, and no property but a position or a time.
    let relationships = "MATCH (a)-[r]->(b) WHERE NOT coalesce(
             a.user_id = b.user_id AND (
                 (a:Entity AND b:Entity AND r.user_id = a.user_id)
                 OR (type(r) = 'CONTAINS' AND a:Document AND b:Chunk AND keys(r) = ['position'])
                 OR (type(r) = 'VIEWED' AND a:User AND b:Document AND keys(r) = ['at'])
                 OR (size(keys(r)) = 0 AND ((type(r) = 'MENTIONED_IN' AND a:Entity AND (b:Message OR b:Chunk))
                     OR (type(r) = 'PART_OF' AND a:Message AND b:Session)
                     OR (type(r) = 'OWNS' AND a:User AND b:Document)
                     OR (type(r) = 'LINKS_TO' AND a:Document AND b:Resource)
                     OR (type(r) = 'BELONGS_TO' AND a:Document AND b:Topic)
                     OR (type(r) IN ['REFERENCES', 'ANSWERED_BY'] AND a:Message AND b:Document)))), false)
         RETURN elementId(r) AS element LIMIT $limit";
    let mut strays = Vec::new();
    for (kind, text) in [("node", nodes.as_str()), ("relationship", relationships)] {
        let statement = query(text).param("limit", i64::from(limit));
        for row in client.read(client.write_timeout, statement).await? {
            strays.push(ForeignElement { kind, element: Columns(&row).get("element")? });
        }
    }
    Ok(strays)
}
