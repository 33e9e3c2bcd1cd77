use crate::config::{AuthConfig, BasicRealm};

/// What a collection holds that nobody is shown, whatever their permission says: passwords, and
/// codes that stand for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrecy {
    /// Nothing.
    Open,
    /// Users: these fields are cut from every document and event, and no filter of a caller may
    /// name them.
    Users { prop_password: String },
    /// API keys: only the root role reads them.
    RootOnly,
}

/// Codes that RESTHeart mails to users and keeps beside their passwords.
const CODES: [&str; 2] = ["emailVerification", "passwordReset"];

impl Secrecy {
    pub fn of(config: &AuthConfig, database: &str, collection: &str) -> Self {
        let is = |namespace: &crate::config::Namespace| {
            namespace.database == database && namespace.collection == collection
        };
        if config.api_keys.as_ref().is_some_and(|keys| is(&keys.namespace)) {
            return Self::RootOnly;
        }
        match config.basic.as_ref().map(|basic| &basic.realm) {
            Some(BasicRealm::Mongo(realm)) if is(&realm.namespace) => {
                Self::Users { prop_password: realm.prop_password.clone() }
            }
            _ => Self::Open,
        }
    }

    /// Whether a path, dotted, is in or under a field that is kept secret.
    pub fn hides(&self, path: &str) -> bool {
        let root = path.split('.').next().unwrap_or(path);
        match self {
            Self::Open => false,
            Self::Users { prop_password } => {
                root == prop_password || CODES.iter().any(|code| root.starts_with(code))
            }
            Self::RootOnly => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_passwords_and_codes() {
        let users = Secrecy::Users { prop_password: "pwd".into() };
        let check = |path: &str, expected: bool| assert_eq!(users.hides(path), expected, "{path}");
        check("pwd", true);
        check("pwd.x", true);
        check("passwordResetToken", true);
        check("emailVerification.code", true);
        check("pwd2", false);
        check("email", false);
        check("x.pwd", false);
        assert!(Secrecy::RootOnly.hides("any") && !Secrecy::Open.hides("pwd"));
    }
}
