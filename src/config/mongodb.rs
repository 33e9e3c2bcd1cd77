use std::fmt;

use super::mounts::is_reserved_database;
use super::secret::{REDACTED, Secret};
use super::settings::Settings;

/// How MongoDB is reached.
#[derive(Debug, Clone)]
pub struct MongodbConfig {
    pub uri: MongoUri,
    /// Tailwater's own settings collection, which no route may touch.
    pub settings: Namespace,
}

/// A connection string. Printing it leaves out passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct MongoUri(Secret);

/// A database and a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    pub database: String,
    pub collection: String,
}

impl MongodbConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        Self { uri: MongoUri::read(settings), settings: settings_collection(settings) }
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

impl MongoUri {
    /// The whole text, for the driver.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    fn read(settings: &mut Settings) -> Self {
        let uri = settings.secret("mongodb.uri").unwrap_or_else(|| Secret::new(""));
        let text = uri.expose();
        let known = text.starts_with("mongodb://") || text.starts_with("mongodb+srv://");
        if !known && !text.is_empty() {
            let reason = "is no connection string: it starts with mongodb:// or mongodb+srv://";
            let file = settings.is_set("mongodb.uri_file");
            settings.refuse_set(if file { "mongodb.uri_file" } else { "mongodb.uri" }, reason);
        }
        Self(uri)
    }
}

impl fmt::Display for MongoUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(self.expose()))
    }
}

impl fmt::Debug for MongoUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A connection string without its password and without options that hold secrets. What does not
/// look like a connection string is not shown at all.
pub(crate) fn redact(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return REDACTED.to_owned() };
    // A password may hold an unescaped `@`, `/` or `?` by mistake: nothing that precedes the last
    // `@` is shown but the name.
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (format!("{}:{REDACTED}@", before(user, ':')), rest),
        None => (String::new(), rest),
    };
    let options = rest.split_once('?').map(|(_, query)| format!("?{}", redact_options(query)));
    format!("{scheme}://{credentials}{}{}", before(rest, '?'), options.unwrap_or_default())
}

fn before(text: &str, separator: char) -> &str {
    text.split_once(separator).map_or(text, |(head, _)| head)
}

fn redact_options(query: &str) -> String {
    let option = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if is_secret_option(name) => format!("{name}={REDACTED}"),
        _ => pair.to_owned(),
    };
    query.split('&').map(option).collect::<Vec<_>>().join("&")
}

fn is_secret_option(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("password") || name == "authmechanismproperties"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out() {
        let check = |uri: &str, expected: &str| assert_eq!(redact(uri), expected);
        check("mongodb://127.0.0.1:27017", "mongodb://127.0.0.1:27017");
        check(
            "mongodb://nora:hush@db0,db1/?replicaSet=rs0",
            "mongodb://nora:***@db0,db1/?replicaSet=rs0",
        );
        check("mongodb+srv://nora:hush@db.example/app", "mongodb+srv://nora:***@db.example/app");
        check("mongodb://nora:hu@sh@db/", "mongodb://nora:***@db/");
        check("mongodb://nora:hu/sh@db/", "mongodb://nora:***@db/");
        check("mongodb://nora:hu?sh@db/", "mongodb://nora:***@db/");
        check("mongodb://nora@db/", "mongodb://nora:***@db/");
        check(
            "mongodb://db/?tls=true&tlsCertificateKeyFilePassword=hush&authMechanismProperties=T:hush",
            "mongodb://db/?tls=true&tlsCertificateKeyFilePassword=***&authMechanismProperties=***",
        );
        check("hush", "***");
    }
}
