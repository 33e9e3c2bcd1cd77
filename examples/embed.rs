//! Tailwater inside an axum application that knows its users.
//!
//! ```sh
//! cargo run --example embed        # a replica set at mongodb://127.0.0.1:27017, or at $MONGODB_URI
//! curl -N -H 'accept: text/event-stream' -H 'x-user: root' \
//!     http://127.0.0.1:3000/live/shop/orders/_streams/all
//! ```
//!
//! With `ENTITIES=<folder of declarations>` there are entity feeds too, like `/live/api/subscribe/Order`.

use std::{
    future::Future,
    path::{Path, PathBuf},
};

use axum::{http::request::Parts, routing::get};
use mongodb::{Client, Database, options::ClientOptions};
use tailwater::{Router, access::Identity, config::Config};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let uri = std::env::var("MONGODB_URI").unwrap_or("mongodb://127.0.0.1:27017".to_owned());
    let database = Client::with_uri_str(&uri).await?.database("shop");
    let mut for_cursors = ClientOptions::parse(&uri).await?;
    // Each waiting cursor holds a connection: as many as `streams.cursors`, and some to spare.
    for_cursors.max_pool_size = Some(64 + 16);
    let cursors = Client::with_options(for_cursors)?;
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    let entities = std::env::var_os("ENTITIES").map(PathBuf::from);
    serve(database, cursors, entities, listener, interrupted).await
}

/// The host's own routes, and below `/live` what is declared in the database.
pub(crate) async fn serve(
    database: Database,
    cursors: Client,
    entities: Option<PathBuf>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    // Who may read what lies in the collection `acl` of the same database; `admin` may read everything.
    let settings = format!(
        "auth: {{ basic: false }}\n\
         acl: {{ database: {}, collection: acl, root_role: admin }}\n\
         streams: {{ cursors: 64, own_cursors: {{ total: 16 }}, drain: 2s }}\n\
         limits: {{ per_principal: 20 }}\n",
        database.name()
    );
    let mut builder = Router::builder(database)
        .cursors(cursors)
        .identity(identity)
        .configuration(Config::from_yaml(Path::new("embed.rs"), &settings)?);
    if let Some(folder) = entities {
        builder = builder.entities(folder).prefix("/api");
    }
    let tailwater = builder.build().await?;
    let app = axum::Router::new()
        .route("/", get(|| async { "the host's own page\n" }))
        .nest("/live", tailwater.routes());
    // Streams say goodbye first; the server would wait for them for ever.
    let ended = async move {
        shutdown.await;
        tailwater.close().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(ended).await?;
    Ok(())
}

/// Stands for the host's own sessions: here a header names the user, which nobody should imitate.
fn identity(parts: &Parts) -> Option<Identity> {
    let user = parts.headers.get("x-user")?.to_str().ok()?;
    let role = if user == "root" { "admin" } else { "user" };
    let properties = bson::doc! { "_id": user };
    Some(Identity {
        id: user.to_owned(),
        roles: vec![role.to_owned()],
        properties,
        expires_at: None,
    })
}
