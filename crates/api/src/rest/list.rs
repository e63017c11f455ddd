//! Pages of lists: the items, the cursor of the next page, and a link to it.

use axum::{
    Json,
    http::{HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::graphql::encode_cursor;
use recall_domain::Slice;

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct List<T> {
    /// The items, in the order of the list.
    items: Vec<T>,
    /// The cursor for `after` of the next page; null on the last page.
    next: Option<String>,
}

/// A page with the header `Link`.
pub(super) struct ListResponse<T> {
    list: List<T>,
    link: Option<HeaderValue>,
}

impl<T: Serialize> ListResponse<T> {
    /// Creates the response to the request for `uri`.
    pub(super) fn new(uri: &Uri, items: Vec<T>, next: Option<String>) -> Self {
        let link = next.as_deref().and_then(|next| HeaderValue::try_from(next_link(uri, next)).ok());
        Self { list: List { items, next }, link }
    }
}

impl<T: Serialize> IntoResponse for ListResponse<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.list).into_response();
        if let Some(link) = self.link {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// Returns the cursor of the page after this one.
pub(super) fn next_cursor<T>(slice: &Slice<T>) -> Option<String> {
    slice.items.last().filter(|_| slice.has_next).map(|(key, _)| encode_cursor(key.clone()))
}

/// Returns the value of `Link` (RFC 8288): the same request with another `after`.
fn next_link(uri: &Uri, next: &str) -> String {
    let given = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).filter(|(name, _)| name != "after");
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).append_pair("after", next).finish();
    format!("<{}?{query}>; rel=\"next\"", uri.path())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn link_keeps_the_filters_and_replaces_the_cursor() {
        let link = |uri: &str| next_link(&uri.parse().unwrap(), "b=/+");
        assert_eq!(link("/sessions"), "</sessions?after=b%3D%2F%2B>; rel=\"next\"");
        assert_eq!(link("/facts?text=a%20b&after=a&first=2"), "</facts?text=a+b&first=2&after=b%3D%2F%2B>; rel=\"next\"");
    }

    #[test]
    fn last_page_has_no_cursor() {
        let slice = |has_next| Slice { items: vec![("1".to_owned(), ()), ("2".to_owned(), ())], has_next };
        assert_eq!(next_cursor(&slice(false)), None);
        assert_eq!(next_cursor(&slice(true)), Some(encode_cursor("2".to_owned())));
        assert_eq!(next_cursor(&Slice::<()> { items: Vec::new(), has_next: true }), None);
    }
}
