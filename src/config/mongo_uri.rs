use std::fmt;

use super::secret::{REDACTED, Secret};

/// A connection string. Printing it leaves out passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct MongoUri(Secret);

impl MongoUri {
    pub(super) fn new(text: Secret) -> Self {
        Self(text)
    }

    /// The whole text, for the driver.
    pub fn expose(&self) -> &str {
        self.0.expose()
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
