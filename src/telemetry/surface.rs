//! Where clients come in.

/// Which of the two ways to name what is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Surface {
    /// Declared streams of collections.
    Streams,
    /// Entity feeds.
    Entities,
}

/// How events travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// Server-sent events.
    Sse,
    /// WebSocket.
    WebSocket,
}

impl Surface {
    /// Every surface, in the order of their discriminants.
    pub const ALL: [Self; 2] = [Self::Streams, Self::Entities];

    /// The word for it in metrics, in the status and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Entities => "entities",
        }
    }
}

impl Transport {
    /// Every transport, in the order of their discriminants.
    pub const ALL: [Self; 2] = [Self::Sse, Self::WebSocket];

    /// The word for it in metrics, in the status and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::WebSocket => "websocket",
        }
    }
}
