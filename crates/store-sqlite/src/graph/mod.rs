//! Data for graphs: `feed` reads changes for a separate graph engine, `edges` reads facts from either end.

mod edges;
mod feed;
