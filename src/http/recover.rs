//! How a client that missed changes gets them back over REST.

use bson::oid::ObjectId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The read that brings back what a stream missed.
#[derive(Debug, Clone)]
pub(crate) struct Recovery {
    /// Path of the collection, percent-encoded.
    pub(crate) collection: String,
    /// The last `_etag` that the client is known to have seen.
    pub(crate) etag: Option<ObjectId>,
}

const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Characters of a path segment that need no encoding.
pub(crate) const SEGMENT: &AsciiSet = QUERY;

impl Recovery {
    /// The link to follow.
    pub(crate) fn link(&self) -> String {
        let Some(etag) = self.etag else { return self.collection.clone() };
        let filter = format!(r#"{{"_etag":{{"$gt":{{"$oid":"{etag}"}}}}}}"#);
        let sort = r#"{"_etag":1}"#;
        let (filter, sort) =
            (utf8_percent_encode(&filter, QUERY), utf8_percent_encode(sort, QUERY));
        format!("{}?filter={filter}&sort={sort}", self.collection)
    }

    /// What to mind when following it.
    pub(crate) fn advice(&self) -> &'static str {
        if self.etag.is_some() {
            "read the link page by page until a page is empty; read from a few seconds earlier and \
             de-duplicate by _id and _etag; deleted documents do not show there"
        } else {
            "read the collection anew and drop what is no longer there"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_a_url_that_names_the_last_etag() {
        let etag = ObjectId::parse_str("62166d53ebdcd56455a1a7aa").unwrap();
        let recovery = Recovery { collection: "/shop/orders".to_owned(), etag: Some(etag) };
        assert_eq!(
            recovery.link(),
            "/shop/orders?filter=%7B%22_etag%22%3A%7B%22%24gt%22%3A%7B%22%24oid%22%3A%22\
             62166d53ebdcd56455a1a7aa%22%7D%7D%7D&sort=%7B%22_etag%22%3A1%7D"
        );
    }

    #[test]
    fn without_an_etag_the_collection_is_read() {
        let recovery = Recovery { collection: "/shop/orders".to_owned(), etag: None };
        assert_eq!(recovery.link(), "/shop/orders");
    }
}
