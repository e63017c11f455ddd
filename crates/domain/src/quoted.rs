//! What an answer quotes, as the column `citations` of a message stores it.

use serde::{Deserialize, Serialize};

use super::{Citation, Message};

/// A citation, or what only comes nearest to an answer. One column has both, because an answer vanishes with either.
#[derive(Clone, Serialize, Deserialize)]
pub struct Quoted {
    #[serde(flatten)]
    citation: Citation,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    nearest: bool,
}

/// Returns what a message quotes, for its column.
pub fn quoted_by(message: &Message) -> Vec<Quoted> {
    let of = |citations: &[Citation], nearest| -> Vec<Quoted> {
        citations.iter().cloned().map(|citation| Quoted { citation, nearest }).collect()
    };
    [of(&message.citations, false), of(&message.nearest, true)].concat()
}

/// Returns the citations of a column, and what only comes nearest to an answer.
pub fn split_quoted(quoted: Vec<Quoted>) -> (Vec<Citation>, Vec<Citation>) {
    let (nearest, citations): (Vec<Quoted>, Vec<Quoted>) = quoted.into_iter().partition(|q| q.nearest);
    let bare = |quoted: Vec<Quoted>| quoted.into_iter().map(|q| q.citation).collect();
    (bare(citations), bare(nearest))
}
