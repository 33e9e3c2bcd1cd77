//! What the tests of this module share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bson::{Document, doc};

use super::principal::{Caller, Carrier, Mechanism, Principal, Proof, Verified};
use super::request::{RawRequest, RequestHead};
use crate::config::{JwtAlgorithm, JwtConfig, JwtKey, Secret};

/// The shared secret of [`jwt`].
pub(super) const SECRET: &str = "a secret of at least 32 characters";

/// Tokens signed with a shared secret, of which nothing else is asked.
pub(super) fn jwt() -> JwtConfig {
    JwtConfig {
        algorithm: JwtAlgorithm::Hs256,
        key: JwtKey::Shared(Secret::new(SECRET)),
        second_key: None,
        issuer: None,
        audience: Vec::new(),
        username_claim: "sub".into(),
        roles_claim: Some("roles".into()),
        fixed_roles: Vec::new(),
        base64_encoded: false,
    }
}

/// A fixed time, in whole seconds.
pub(super) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A request by method and target, like `GET /a?b=1`, with headers.
pub(super) fn request(line: &str, headers: &[(&str, &str)]) -> RequestHead {
    let (method, target) = line.split_once(' ').unwrap_or(("GET", line));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let raw = RawRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query,
        headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        remote: Some(([192, 0, 2, 7], 40_000).into()),
        local: Some(([192, 0, 2, 1], 8080).into()),
        secure: false,
        protocol: "HTTP/1.1".to_owned(),
    };
    RequestHead::new(raw, now()).unwrap()
}

pub(super) fn get(target: &str) -> RequestHead {
    request(&format!("GET {target}"), &[])
}

/// A user of a realm.
pub(super) fn user(id: &str, roles: &[&str], properties: Document) -> Caller {
    let verified = Verified {
        id: id.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        properties,
        expires_at: None,
        mechanism: Mechanism::Password,
        proof: Proof::Password([0; 32]),
    };
    Caller::Known(Arc::new(Principal::new(verified, Carrier::Basic, "tenant")))
}

/// Nora, who reads.
pub(super) fn nora() -> Caller {
    let properties = doc! {
        "_id": "nora", "level": 3, "score": 2.0, "tenant": "acme", "nothing": null,
        "groups": ["a", "b", 7, null, { "x": 1 }], "none": [], "address": { "city": "Rome" },
        "odd": "%{i,X} ${x} 'q' \"d\" $1 \\ .", "operator": { "$ne": "" },
    };
    user("nora", &["reader"], properties)
}
