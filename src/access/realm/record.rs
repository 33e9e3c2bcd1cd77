use std::time::SystemTime;

use bson::{Bson, Document};

use super::{ApiKey, StoredPassword, User};
use crate::access::properties;
use crate::access::secrecy::Secrecy;
use crate::binding::Secrets;
use crate::config::{ApiKeysConfig, MongoRealm, Secret};

/// Which fields of a user's document mean what.
#[derive(Debug, Clone)]
pub struct UserShape {
    prop_password: String,
    roles: String,
    is_hashed: bool,
    database: String,
    /// Codes that were mailed to the user: not even its own streams show them.
    secrets: Secrets,
}

/// Which fields of a key's document mean what.
#[derive(Debug, Clone)]
pub struct KeyShape {
    prop_principal: String,
    prop_roles: String,
    prop_expires: String,
}

/// Why a user's document lets nobody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserProblem {
    #[error("it has no password")]
    NoPassword,
    #[error("its password is not a text")]
    Password,
    #[error("its roles are not a list")]
    Roles,
}

impl UserShape {
    pub fn new(realm: &MongoRealm) -> Self {
        let path = &realm.json_path_roles;
        Self {
            prop_password: realm.prop_password.clone(),
            roles: path.strip_prefix("$.").unwrap_or(path).to_owned(),
            is_hashed: realm.bcrypt_hashed_password,
            database: realm.namespace.database.clone(),
            secrets: Secrecy::users(&realm.prop_password).secrets(),
        }
    }

    /// Reads a user. Without roles a user is still one; with roles of another type they are not.
    ///
    /// # Errors
    /// [`UserProblem`], which says nothing about the content.
    pub fn read(&self, mut document: Document) -> Result<User, UserProblem> {
        let password = match document.remove(&self.prop_password) {
            Some(Bson::String(text)) => text,
            None | Some(Bson::Null) => return Err(UserProblem::NoPassword),
            Some(_) => return Err(UserProblem::Password),
        };
        let roles = match properties::find(&document, &self.roles) {
            None => Vec::new(),
            Some(Bson::Array(roles)) => texts(roles),
            Some(_) => return Err(UserProblem::Roles),
        };
        let mut document: Document =
            document.into_iter().filter(|(name, _)| !self.secrets.hides(name)).collect();
        document.insert("authDb", self.database.clone());
        let password = match self.is_hashed {
            true => StoredPassword::Hash(Secret::new(password)),
            false => StoredPassword::Plain(Secret::new(password)),
        };
        Ok(User { password, roles, properties: document })
    }

    pub fn is_hashed(&self) -> bool {
        self.is_hashed
    }
}

impl KeyShape {
    pub fn new(config: &ApiKeysConfig) -> Self {
        Self {
            prop_principal: config.prop_principal.clone(),
            prop_roles: config.prop_roles.clone(),
            prop_expires: config.prop_expires.clone(),
        }
    }

    /// Reads a key; `None` for one without an owner.
    pub fn read(&self, document: &Document) -> Option<ApiKey> {
        let principal = properties::find(document, &self.prop_principal)?.as_str()?;
        let roles = match properties::find(document, &self.prop_roles) {
            Some(Bson::Array(roles)) => texts(roles),
            _ => Vec::new(),
        };
        let expires_at = match properties::find(document, &self.prop_expires) {
            None | Some(Bson::Null) => None,
            Some(Bson::DateTime(date)) => Some(date.to_system_time()),
            // An end that cannot be read has come.
            Some(_) => Some(SystemTime::UNIX_EPOCH),
        };
        let principal = (!principal.trim().is_empty()).then(|| principal.to_owned())?;
        Some(ApiKey { principal, roles, expires_at })
    }
}

fn texts(roles: &[Bson]) -> Vec<String> {
    let texts: Vec<String> = roles.iter().filter_map(Bson::as_str).map(str::to_owned).collect();
    if texts.len() < roles.len() {
        tracing::warn!("roles that are not texts are ignored");
    }
    texts
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;
    use crate::config::{CacheConfig, Namespace};

    fn shape(roles: &str) -> UserShape {
        UserShape::new(&MongoRealm {
            namespace: Namespace { database: "people".into(), collection: "users".into() },
            prop_id: "_id".into(),
            prop_password: "password".into(),
            json_path_roles: roles.into(),
            bcrypt_hashed_password: true,
            bcrypt_complexity: 12,
            cache: CacheConfig { ttl: None, size: 0 },
            create_user: None,
        })
    }

    #[test]
    fn reads_users() {
        let user = shape("$.roles")
            .read(doc! { "_id": "n", "password": "$2a$", "roles": ["b", 1, "a"], "x": 1, "passwordResetCode": 1 })
            .unwrap();
        assert_eq!(user.roles, ["b", "a"]);
        let properties = doc! { "_id": "n", "roles": ["b", 1, "a"], "x": 1, "authDb": "people" };
        assert_eq!(user.properties, properties);
        assert_eq!(user.password, StoredPassword::Hash(Secret::new("$2a$")));
        let nested =
            shape("$.auth.groups").read(doc! { "password": "", "auth": { "groups": ["g"] } });
        assert_eq!(nested.unwrap().roles, ["g"]);
        let none = shape("$.roles").read(doc! { "password": "x" });
        assert_eq!(none.unwrap().roles, [""; 0]);
    }

    #[test]
    fn refuses_documents_that_are_no_users() {
        let check = |document: Document, expected| {
            assert_eq!(shape("$.roles").read(document).unwrap_err(), expected);
        };
        check(doc! { "_id": "n" }, UserProblem::NoPassword);
        check(doc! { "password": null }, UserProblem::NoPassword);
        check(doc! { "password": 7 }, UserProblem::Password);
        check(doc! { "password": "x", "roles": "admin" }, UserProblem::Roles);
        check(doc! { "password": "x", "roles": null }, UserProblem::Roles);
    }

    #[test]
    fn reads_keys() {
        let shape = KeyShape {
            prop_principal: "user".into(),
            prop_roles: "roles".into(),
            prop_expires: "expiresAt".into(),
        };
        let date = bson::DateTime::from_millis(5_000);
        let key = shape.read(&doc! { "user": "n", "roles": ["a"], "expiresAt": date }).unwrap();
        assert_eq!((key.principal.as_str(), key.roles.as_slice()), ("n", &["a".to_owned()][..]));
        assert_eq!(key.expires_at, Some(date.to_system_time()));
        let open = shape.read(&doc! { "user": "n", "expiresAt": null }).unwrap();
        assert_eq!(open.expires_at, None);
        let odd = shape.read(&doc! { "user": "n", "expiresAt": "never" }).unwrap();
        assert_eq!(odd.expires_at, Some(SystemTime::UNIX_EPOCH));
        assert_eq!(shape.read(&doc! { "user": " " }), None);
        assert_eq!(shape.read(&doc! { "user": 1 }), None);
        assert_eq!(shape.read(&doc! {}), None);
    }
}
