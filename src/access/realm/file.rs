//! Users of a YAML file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bson::{Bson, Document};
use futures_util::FutureExt;

use super::{Found, Freshness, StoredPassword, User, UserRealm};
use crate::access::yaml::{self, YamlError};

/// Users of a file, read once. Passwords are plain text, or bcrypt hashes where they are ones.
#[derive(Debug)]
pub struct FileUsers {
    users: HashMap<String, Arc<User>>,
}

/// Why a file of users cannot be used. Passwords are never part of the text.
#[derive(Debug, thiserror::Error)]
pub enum UsersFileError {
    #[error("{path}: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the users are not usable YAML: {0}")]
    Yaml(#[from] YamlError),
    #[error("the users need a list under `users:`")]
    NoList,
    #[error("user #{0} needs a `userid` that is a text")]
    NoName(usize),
    #[error("user `{0}` needs a `password` that is a text; quote it")]
    Password(String),
    #[error("the `roles` of user `{0}` must be a list of texts")]
    Roles(String),
    #[error("user `{0}` is listed twice")]
    Twice(String),
}

impl FileUsers {
    /// # Errors
    /// [`UsersFileError`] for a file that cannot be used as a whole: a user who is missing because
    /// of a slip of the pen would be noticed too late.
    pub fn load(path: &Path) -> Result<Self, UsersFileError> {
        let text = yaml::read(path)
            .map_err(|source| UsersFileError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    /// # Errors
    /// As [`FileUsers::load`].
    pub fn parse(text: &str) -> Result<Self, UsersFileError> {
        let entries = match yaml::parse(text)?.remove("users") {
            Some(Bson::Array(entries)) => entries,
            Some(Bson::Null) => Vec::new(),
            _ => return Err(UsersFileError::NoList),
        };
        let mut users = HashMap::new();
        for (place, entry) in entries.into_iter().enumerate() {
            let Bson::Document(entry) = entry else {
                return Err(UsersFileError::NoName(place + 1));
            };
            let name = entry.get_str("userid").map(str::to_owned);
            let name = name.map_err(|_| UsersFileError::NoName(place + 1))?;
            let Some(user) = user(&name, entry)? else { continue };
            if users.insert(name.clone(), Arc::new(user)).is_some() {
                return Err(UsersFileError::Twice(name));
            }
        }
        Ok(Self { users })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

impl UserRealm for FileUsers {
    fn find<'a>(&'a self, name: &'a str, _: Freshness) -> Found<'a, User> {
        std::future::ready(Ok(self.users.get(name).cloned())).boxed()
    }

    fn is_hashed(&self) -> bool {
        self.users.values().any(|user| matches!(user.password, StoredPassword::Hash(_)))
    }
}

/// A user whose password is `null` is there on purpose, and cannot come in.
fn user(name: &str, mut entry: Document) -> Result<Option<User>, UsersFileError> {
    let password = match entry.remove("password") {
        Some(Bson::String(password)) => StoredPassword::detect(password),
        Some(Bson::Null) => {
            tracing::warn!(user = name, "a user without a password is not loaded");
            return Ok(None);
        }
        _ => return Err(UsersFileError::Password(name.to_owned())),
    };
    let roles = roles(&entry).ok_or_else(|| UsersFileError::Roles(name.to_owned()))?;
    Ok(Some(User { password, roles, properties: entry }))
}

fn roles(entry: &Document) -> Option<Vec<String>> {
    match entry.get("roles") {
        None | Some(Bson::Null) => Some(Vec::new()),
        Some(Bson::Array(roles)) => {
            roles.iter().map(|role| role.as_str().map(str::to_owned)).collect()
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    const FILE: &str = "
users:
  - userid: nora
    password: w1nter
    roles: [reader, ops]
    tenant: acme
    limits: { max: 5 }
  - { userid: gone, password: null, roles: [] }
  - { userid: plain, password: '' }
";

    #[tokio::test]
    async fn reads_users() {
        let users = FileUsers::parse(FILE).unwrap();
        let find = async |name| users.find(name, Freshness::Remembered).await.unwrap();
        let nora = find("nora").await.unwrap();
        assert_eq!(nora.roles, ["reader", "ops"]);
        let shown = doc! { "userid": "nora", "roles": ["reader", "ops"], "tenant": "acme", "limits": { "max": 5 } };
        assert_eq!(nora.properties, shown);
        assert_eq!(find("gone").await, None);
        assert_eq!(find("none").await, None);
        assert!(find("plain").await.is_some());
        assert!(!format!("{users:?}").contains("w1nter"));
        assert!(!users.is_hashed());
    }

    #[test]
    fn refuses_slips() {
        let check = |text: &str, expected: &str| {
            let error = FileUsers::parse(text).unwrap_err().to_string();
            assert_eq!(error, expected, "{text}");
        };
        check("permissions: []", "the users need a list under `users:`");
        check("users: [3]", "user #1 needs a `userid` that is a text");
        check("users: [{ password: x }]", "user #1 needs a `userid` that is a text");
        let password = "user `a` needs a `password` that is a text; quote it";
        check("users: [{ userid: a, password: 12345 }]", password);
        check("users: [{ userid: a }]", password);
        let roles = "the `roles` of user `a` must be a list of texts";
        check("users: [{ userid: a, password: x, roles: admin }]", roles);
        check("users: [{ userid: a, password: x, roles: [1] }]", roles);
        check(
            "users: [{ userid: a, password: x }, { userid: a, password: z }]",
            "user `a` is listed twice",
        );
        let broken = FileUsers::parse("users:\n  - { userid: a, password: hush").unwrap_err();
        assert!(!broken.to_string().contains("hush"), "{broken}");
    }
}
