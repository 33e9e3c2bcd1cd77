//! Whose events a reader receives.

use super::{EntityDef, Scope};

/// Who reads, as far as scopes ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The tenant it belongs to, as text.
    pub tenant: Option<String>,
    /// Its principal's id, as text.
    pub user: Option<String>,
    /// Whether it may see every tenant: the root role.
    pub sees_all_tenants: bool,
}

/// What a reader is held to. The default holds it to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Audience {
    /// Only events of this tenant.
    pub tenant: Option<String>,
    /// Only events of changes that this user made.
    pub user: Option<String>,
}

/// Why a reader can have no events of an entity: `403`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AudienceError {
    /// The entity is divided by tenant and the caller belongs to none.
    #[error("events of {0} are divided by tenant, and the caller has none")]
    NoTenant(String),
    /// The scope is the caller's own events, and the caller is nobody.
    #[error("events of {0} are those of the caller, and the caller is anonymous")]
    NoUser(String),
}

impl Audience {
    /// What a caller is held to on an entity. An entity with tenants is divided by them unless a
    /// subscription says `global`; nothing of the caller that is missing widens what it sees.
    ///
    /// # Errors
    /// The caller lacks what the scope asks for.
    pub fn of(
        entity: &EntityDef,
        scope: Option<Scope>,
        caller: &Caller,
    ) -> Result<Self, AudienceError> {
        let by_tenant = match scope {
            Some(Scope::Global) => false,
            Some(Scope::Tenant) => true,
            Some(Scope::User) | None => entity.tenant.is_some(),
        };
        let no_tenant = || AudienceError::NoTenant(entity.name.clone());
        let tenant = match by_tenant && !caller.sees_all_tenants {
            true => Some(named(caller.tenant.as_deref()).ok_or_else(no_tenant)?),
            false => None,
        };
        let no_user = || AudienceError::NoUser(entity.name.clone());
        let user = match scope {
            Some(Scope::User) => Some(named(caller.user.as_deref()).ok_or_else(no_user)?),
            _ => None,
        };
        Ok(Self { tenant, user })
    }

    /// Whether it is held to anything.
    pub fn is_held(&self) -> bool {
        self.tenant.is_some() || self.user.is_some()
    }
}

fn named(name: Option<&str>) -> Option<String> {
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}
