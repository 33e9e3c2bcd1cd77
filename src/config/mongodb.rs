use super::mongo_uri::MongoUri;
use super::mounts::is_reserved_database;
use super::secret::Secret;
use super::settings::Settings;

/// How MongoDB is reached.
#[derive(Debug, Clone)]
pub struct MongodbConfig {
    pub uri: MongoUri,
    /// Tailwater's own settings collection, which no route may touch.
    pub settings: Namespace,
}

/// A database and a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    pub database: String,
    pub collection: String,
}

impl MongodbConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        Self { uri: uri(settings), settings: settings_collection(settings) }
    }
}

impl Namespace {
    pub(crate) fn read(settings: &mut Settings, database: &str, collection: &str) -> Self {
        let namespace =
            Self { database: settings.text(database), collection: settings.text(collection) };
        if !is_database_name(&namespace.database) {
            let name = &namespace.database;
            settings.refuse_set(database, format!("is `{name}`, which no database can be called"));
        }
        if !is_collection_name(&namespace.collection) {
            let name = &namespace.collection;
            let reason = format!("is `{name}`, which no collection can be called");
            settings.refuse_set(collection, reason);
        }
        namespace
    }
}

fn uri(settings: &mut Settings) -> MongoUri {
    let uri = settings.secret("mongodb.uri").unwrap_or_else(|| Secret::new(""));
    let text = uri.expose();
    let known = text.starts_with("mongodb://") || text.starts_with("mongodb+srv://");
    if !known && !text.is_empty() {
        let reason = "is no connection string: it starts with mongodb:// or mongodb+srv://";
        let file = settings.is_set("mongodb.uri_file");
        settings.refuse_set(if file { "mongodb.uri_file" } else { "mongodb.uri" }, reason);
    }
    MongoUri::new(uri)
}

fn settings_collection(settings: &mut Settings) -> Namespace {
    const KEY: &str = "mongodb.settings";
    let text = settings.text(KEY);
    let (database, collection) = text.split_once('.').unwrap_or((text.as_str(), ""));
    if !is_database_name(database) || !is_collection_name(collection) {
        let reason = "write it as database.collection, of names that MongoDB allows";
        settings.refuse_set(KEY, format!("is `{text}`; {reason}"));
    }
    Namespace { database: database.to_owned(), collection: collection.to_owned() }
}

fn is_database_name(name: &str) -> bool {
    !is_reserved_database(name)
        && name.len() < 64
        && !name.contains(['/', '\\', '.', ' ', '"', '$', '\0'])
}

fn is_collection_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['$', '\0']) && !name.starts_with("system.")
}
