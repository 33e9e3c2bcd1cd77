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
    /// Further collections, where several are watched.
    pub(crate) more: Vec<String>,
}

const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Characters of a path segment that need no encoding.
pub(crate) const SEGMENT: &AsciiSet = QUERY;

impl Recovery {
    /// Of one collection.
    pub(crate) fn of(collection: String, etag: Option<ObjectId>) -> Self {
        Self { collection, etag, more: Vec::new() }
    }

    /// The link to follow.
    pub(crate) fn link(&self) -> String {
        self.link_of(&self.collection)
    }

    /// All links to follow, where there are several.
    pub(crate) fn links(&self) -> Option<Vec<String>> {
        let all = std::iter::once(&self.collection).chain(&self.more);
        (!self.more.is_empty()).then(|| all.map(|collection| self.link_of(collection)).collect())
    }

    fn link_of(&self, collection: &str) -> String {
        let Some(etag) = self.etag else { return collection.to_owned() };
        let filter = format!(r#"{{"_etag":{{"$gt":{{"$oid":"{etag}"}}}}}}"#);
        let sort = r#"{"_etag":1}"#;
        let (filter, sort) =
            (utf8_percent_encode(&filter, QUERY), utf8_percent_encode(sort, QUERY));
        format!("{collection}?filter={filter}&sort={sort}")
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
        let recovery = Recovery::of("/shop/orders".to_owned(), Some(etag));
        assert_eq!(
            recovery.link(),
            "/shop/orders?filter=%7B%22_etag%22%3A%7B%22%24gt%22%3A%7B%22%24oid%22%3A%22\
             62166d53ebdcd56455a1a7aa%22%7D%7D%7D&sort=%7B%22_etag%22%3A1%7D"
        );
    }

    #[test]
    fn without_an_etag_the_collection_is_read() {
        let recovery = Recovery::of("/shop/orders".to_owned(), None);
        assert_eq!((recovery.link().as_str(), recovery.links()), ("/shop/orders", None));
        let several = Recovery { more: vec!["/shop/carts".to_owned()], ..recovery };
        assert_eq!(several.links().unwrap(), ["/shop/orders", "/shop/carts"]);
    }
}
