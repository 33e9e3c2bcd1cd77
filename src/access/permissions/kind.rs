/// What a request is about, as routing found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Open a stream, over any transport.
    Stream,
    /// List the streams of a collection.
    StreamList,
    /// Read documents of a collection.
    Collection,
    /// Read one document.
    Document,
    /// Read the metadata of a collection or database.
    Metadata,
    /// Declare streams: write the metadata of a collection, or accept a database.
    Declare,
    /// An entity feed or a declared subscription.
    Feed,
    /// The service's own resources.
    Service,
}

impl RequestKind {
    /// Whether a permission needs `allowManagementRequests` to be about such a request at all.
    /// Opening a stream does not, although it reads the same metadata.
    pub(super) fn is_management(self) -> bool {
        matches!(self, Self::Metadata | Self::Declare)
    }
}
