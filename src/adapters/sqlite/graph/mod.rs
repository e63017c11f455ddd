//! The graph in SQL: what changed, for a graph engine (`feed`), and questions about connections, for when there is none
//! (`queries`).

mod feed;
mod queries;
mod ways;
