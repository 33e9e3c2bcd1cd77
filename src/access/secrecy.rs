use crate::binding::{Namespace, Secrets};
use crate::config::{self, AuthConfig, BasicRealm};

/// What a collection holds that nobody is shown, whatever their permission says: passwords, and
/// codes that stand for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrecy {
    /// Users: these fields are cut from every document and event, and no condition of a caller may
    /// name them.
    Users { prop_password: String },
    /// API keys: only the root role reads them.
    RootOnly,
}

/// Codes that RESTHeart mails to users and keeps beside their passwords.
const CODES: [&str; 2] = ["emailVerification", "passwordReset"];

impl Secrecy {
    /// The collections of a deployment that hold secrets. What is said first of a collection counts.
    pub fn of(config: &AuthConfig) -> Vec<(Namespace, Self)> {
        let namespace = |it: &config::Namespace| Namespace::new(&it.database, &it.collection);
        let keys =
            config.api_keys.as_ref().map(|keys| (namespace(&keys.namespace), Self::RootOnly));
        let users = config.basic.as_ref().and_then(|basic| match &basic.realm {
            BasicRealm::Mongo(realm) => {
                Some((namespace(&realm.namespace), Self::users(&realm.prop_password)))
            }
            BasicRealm::File(_) => None,
        });
        keys.into_iter().chain(users).collect()
    }

    /// Of a collection of users.
    pub(super) fn users(prop_password: &str) -> Self {
        Self::Users { prop_password: prop_password.to_owned() }
    }

    /// The fields that are hidden from everybody.
    pub fn secrets(&self) -> Secrets {
        match self {
            Self::Users { prop_password } => Secrets::new(&[prop_password.as_str()], &CODES),
            Self::RootOnly => Secrets::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_passwords_and_codes() {
        let users = Secrecy::Users { prop_password: "pwd".into() }.secrets();
        for (path, hidden) in [
            ("pwd", true),
            ("pwd.x", true),
            ("passwordResetToken", true),
            ("emailVerification.code", true),
            ("pwd2", false),
            ("email", false),
        ] {
            assert_eq!(users.hides(path), hidden, "{path}");
        }
        assert!(Secrecy::RootOnly.secrets().is_empty());
    }
}
