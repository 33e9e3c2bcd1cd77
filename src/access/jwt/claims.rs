use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bson::{Bson, Document};
use serde_json::{Map, Value};

use super::TokenError;
use crate::access::principal::{Mechanism, Proof, Verified};
use crate::access::properties;
use crate::config::JwtConfig;

/// What a token must say.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    issuer: Option<String>,
    audience: Vec<String>,
    username_claim: String,
    roles_claim: Option<String>,
    fixed_roles: Vec<String>,
}

type Claims = Map<String, Value>;

impl Rules {
    pub(super) fn new(config: &JwtConfig) -> Self {
        Self {
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
            username_claim: config.username_claim.clone(),
            roles_claim: config.roles_claim.clone(),
            fixed_roles: config.fixed_roles.clone(),
        }
    }
}

/// Times are compared without leeway, and only when present.
pub(super) fn check(claims: &Claims, rules: &Rules, now: SystemTime) -> Result<(), TokenError> {
    let invalid = |why| Err(TokenError::Invalid(why));
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    if rules.issuer.as_deref().is_some_and(|issuer| text(claims, "iss") != Some(issuer)) {
        return invalid("the token is of another issuer");
    }
    if !rules.audience.is_empty() && !is_for(claims.get("aud"), &rules.audience) {
        return invalid("the token is for another audience");
    }
    if seconds(claims, "nbf")?.is_some_and(|start| start > now) {
        return invalid("the token is not valid yet");
    }
    if seconds(claims, "iat")?.is_some_and(|issued| issued > now) {
        return invalid("the token is issued in the future");
    }
    match seconds(claims, "exp")? {
        Some(end) if end <= now => Err(TokenError::Expired),
        _ => Ok(()),
    }
}

/// Who the claims say is calling.
pub(super) fn verified(claims: Claims, rules: &Rules) -> Result<Verified, TokenError> {
    let expires_at = seconds(&claims, "exp")?.and_then(time);
    let properties = document(claims)?;
    let id = claim(&properties, &rules.username_claim).and_then(Bson::as_str);
    let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
    let id = id.ok_or(TokenError::Invalid("the claim of the user name is not a text"))?;
    let mut roles = roles(&properties, rules)?;
    roles.extend(rules.fixed_roles.iter().cloned());
    let (mechanism, proof) = (Mechanism::Token, Proof::Token);
    Ok(Verified { id, roles, properties, expires_at, mechanism, proof })
}

fn roles(claims: &Document, rules: &Rules) -> Result<Vec<String>, TokenError> {
    let roles = rules.roles_claim.as_deref().and_then(|name| claim(claims, name));
    let texts: Option<Vec<String>> = match roles {
        None | Some(Bson::Null) => return Ok(Vec::new()),
        Some(Bson::Array(roles)) => {
            roles.iter().map(|role| role.as_str().map(str::to_owned)).collect()
        }
        Some(_) => None,
    };
    texts.ok_or(TokenError::Invalid("the claim of the roles is not a list of texts"))
}

/// A claim by its name, which may hold dots; else by a dotted path, as some issuers nest roles.
fn claim<'a>(claims: &'a Document, name: &str) -> Option<&'a Bson> {
    claims.get(name).or_else(|| properties::find(claims, name))
}

fn text<'a>(claims: &'a Claims, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}

fn is_for(aud: Option<&Value>, wanted: &[String]) -> bool {
    let is_wanted = |name: &Value| name.as_str().is_some_and(|n| wanted.iter().any(|w| w == n));
    match aud {
        Some(Value::Array(names)) => names.iter().any(is_wanted),
        Some(name) => is_wanted(name),
        None => false,
    }
}

/// A time in seconds since 1970. One that is no number is not ignored.
fn seconds(claims: &Claims, name: &'static str) -> Result<Option<f64>, TokenError> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(seconds) => Ok(Some(seconds)),
            None => Err(TokenError::Invalid("a time in the token is not a number")),
        },
    }
}

/// `None` for a time beyond what the system can tell, which never comes.
fn time(seconds: f64) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
    UNIX_EPOCH.checked_add(since)
}

/// Claims as they are: nothing in them is read as Extended JSON.
fn document(claims: Claims) -> Result<Document, TokenError> {
    claims
        .into_iter()
        .map(|(name, value)| match name.contains('\0') {
            true => Err(TokenError::Invalid("the name of a claim holds a NUL character")),
            false => Ok((name, bson(value)?)),
        })
        .collect()
}

/// The JSON reader bounds the depth.
fn bson(value: Value) -> Result<Bson, TokenError> {
    Ok(match value {
        Value::Null => Bson::Null,
        Value::Bool(flag) => Bson::Boolean(flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => i32::try_from(integer).map_or(Bson::Int64(integer), Bson::Int32),
            None => Bson::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Bson::String(text),
        Value::Array(items) => Bson::Array(items.into_iter().map(bson).collect::<Result<_, _>>()?),
        Value::Object(members) => Bson::Document(document(members)?),
    })
}
