//! A WebSocket client: the field's own library, not ours.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        http::{HeaderName, Request},
    },
};

use super::PATIENCE;

/// An open socket.
pub(crate) struct Socket {
    pub(crate) stream: WebSocketStream<TcpStream>,
    /// The subprotocol that the server chose.
    pub(crate) protocol: Option<String>,
}

impl Socket {
    pub(crate) async fn open(address: SocketAddr, path: &str, protocol: Option<&str>) -> Self {
        let opened = Self::try_open(address, path, protocol).await;
        opened.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) async fn try_open(
        address: SocketAddr,
        path: &str,
        protocol: Option<&str>,
    ) -> Result<Self, Error> {
        let socket = TcpStream::connect(address).await?;
        Self::over(socket, path, protocol).await
    }

    /// With headers, and without a subprotocol.
    pub(crate) async fn with(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        Self::begin(socket, request, None).await.unwrap()
    }

    /// Over a connection that is there already.
    pub(crate) async fn over(
        socket: TcpStream,
        path: &str,
        protocol: Option<&str>,
    ) -> Result<Self, Error> {
        let address = socket.peer_addr()?;
        let request = format!("ws://{address}{path}").into_client_request().unwrap();
        Self::begin(socket, request, protocol).await
    }

    /// As somebody, by an `Authorization` header.
    pub(crate) async fn as_user(
        address: SocketAddr,
        path: &str,
        protocol: Option<&str>,
        authorization: &str,
    ) -> Result<Self, Error> {
        let socket = TcpStream::connect(address).await.unwrap();
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        request.headers_mut().insert("authorization", authorization.parse().unwrap());
        Self::begin(socket, request, protocol).await
    }

    async fn begin(
        socket: TcpStream,
        mut request: Request<()>,
        protocol: Option<&str>,
    ) -> Result<Self, Error> {
        if let Some(protocol) = protocol {
            let value = protocol.parse().unwrap();
            request.headers_mut().insert("sec-websocket-protocol", value);
        }
        let (stream, response) = client_async(request, socket).await?;
        let protocol = response.headers().get("sec-websocket-protocol");
        let protocol = protocol.map(|value| value.to_str().unwrap().to_owned());
        Ok(Self { stream, protocol })
    }

    /// The status and the message with which an upgrade is refused.
    pub(crate) async fn refused(address: SocketAddr, path: &str) -> (u16, String) {
        match Self::try_open(address, path, None).await {
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                let body: Value = serde_json::from_slice(body).unwrap_or_default();
                let message = body["message"].as_str().unwrap_or_default().to_owned();
                (response.status().as_u16(), message)
            }
            Err(other) => panic!("{path}: {other}"),
            Ok(_) => panic!("{path}: opened"),
        }
    }

    /// The next message of any kind.
    pub(crate) async fn message(&mut self) -> Message {
        let message = timeout(PATIENCE, self.stream.next()).await.expect("a message in time");
        message.expect("the socket stays").unwrap()
    }

    /// The next text message, as JSON.
    pub(crate) async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The next message of the subprotocol that is no heartbeat.
    pub(crate) async fn said(&mut self) -> Value {
        loop {
            let message = self.json().await;
            if message["event"] != "heartbeat" {
                return message;
            }
        }
    }

    /// The next text message.
    pub(crate) async fn text(&mut self) -> String {
        loop {
            if let Message::Text(text) = self.message().await {
                return text.to_string();
            }
        }
    }

    /// Waits for the close frame: its code and reason. Anything before it is passed over.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.message().await {
                let frame = frame.expect("a close code");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }

    pub(crate) async fn send(&mut self, message: Message) {
        self.stream.send(message).await.unwrap();
    }
}
