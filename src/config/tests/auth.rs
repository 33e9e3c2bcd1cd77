use std::time::Duration;

use super::*;
use crate::config::{
    AclSemantics, AclSource, BasicRealm, JwtAlgorithm, JwtKey, MongoRealm, Namespace,
};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn namespace(database: &str, collection: &str) -> Namespace {
    Namespace { database: database.into(), collection: collection.into() }
}

fn mongo_realm(config: &Config) -> &MongoRealm {
    match config.auth.basic.as_ref().map(|basic| &basic.realm) {
        Some(BasicRealm::Mongo(realm)) => realm,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_auth_users_and_permissions_are_restheart_s() {
    let config = from_file("").unwrap();
    let realm = mongo_realm(&config);
    assert_eq!(realm.namespace, namespace("restheart", "users"));
    assert_eq!((realm.prop_id.as_str(), realm.prop_password.as_str()), ("_id", "password"));
    assert_eq!((realm.json_path_roles.as_str(), realm.bcrypt_hashed_password), ("$.roles", true));
    assert!(realm.create_user.is_none() && realm.cache.ttl.is_none());
    let acl = config.acl.unwrap();
    assert!(
        matches!(acl.source, AclSource::Mongo { namespace: it, .. } if it == namespace("restheart", "acl"))
    );
    assert_eq!((acl.root_role.as_deref(), acl.semantics), (Some("admin"), AclSemantics::V9_12));
    assert!(config.auth.jwt.is_none() && config.auth.api_keys.is_none());
    assert!(config.auth.guard.is_none());
    assert_eq!(config.auth.cookie.unwrap().name, "rh_auth");
    assert_eq!(config.auth.tenant, "tenant");
}

#[test]
fn basic_and_acl_keep_their_defaults_beside_jwt() {
    let config = from_file(&format!("auth: {{ jwt: {{ key: {KEY} }} }}")).unwrap();
    assert_eq!(mongo_realm(&config).namespace, namespace("restheart", "users"));
    assert!(config.acl.is_some());
    let jwt = config.auth.jwt.unwrap();
    assert_eq!(jwt.algorithm, JwtAlgorithm::Hs256);
    assert!(matches!(&jwt.key, JwtKey::Shared(key) if key.expose() == KEY));
    assert_eq!((jwt.issuer, jwt.audience.len()), (None, 0));
    assert_eq!((jwt.username_claim.as_str(), jwt.roles_claim.as_deref()), ("sub", Some("roles")));
    assert!(!jwt.base64_encoded);
}

#[test]
fn everything_an_existing_deployment_sets() {
    let config = from_file(&format!(
        "auth:
  realm: Shop
  basic:
    database: shop
    collection: people
    prop_id: login.email
    prop_password: pw
    json_path_roles: $.auth.groups
    bcrypt_hashed_password: false
    bcrypt_complexity: 10
    cache: {{ ttl: 60s, size: 50 }}
    create_user: {{ id: root, password: hush, roles: [admin, ops] }}
  jwt: {{ algorithm: HMAC512, key: {KEY}, issuer: app.example, audience: [a, b], username_claim: email,
         roles_claim: null, fixed_roles: [reader], base64_encoded: true }}
  cookie: {{ name: session }}
  tokens: {{ basic: false, ttl: 1h }}
  api_keys: {{ prefix: tw_, database: keys, prop_principal: owner.id }}
  guard: {{ failures: 3, window: 1m }}
  origins: {{ allow: [HTTPS://App.example/], patterns: [\"https://*.app.example\"], allow_missing: false,
             ignore_paths: [\"/public/{{*}}\"] }}
acl: {{ database: shop, collection: rights, root_role: null, semantics: legacy, cache: {{ ttl: off }} }}
"
    ))
    .unwrap();
    let realm = mongo_realm(&config);
    assert_eq!(realm.namespace, namespace("shop", "people"));
    assert_eq!((realm.prop_id.as_str(), realm.prop_password.as_str()), ("login.email", "pw"));
    assert_eq!(realm.json_path_roles, "$.auth.groups");
    assert_eq!((realm.bcrypt_hashed_password, realm.bcrypt_complexity), (false, 10));
    assert_eq!((realm.cache.ttl, realm.cache.size), (Some(Duration::from_secs(60)), 50));
    let user = realm.create_user.as_ref().unwrap();
    assert_eq!((user.id.as_str(), user.password.expose()), ("root", "hush"));
    assert_eq!(user.roles, ["admin", "ops"]);
    let auth = &config.auth;
    let jwt = auth.jwt.as_ref().unwrap();
    assert_eq!((jwt.algorithm, jwt.algorithm.to_string().as_str()), (JwtAlgorithm::Hs512, "HS512"));
    assert_eq!((jwt.issuer.as_deref(), jwt.roles_claim.as_deref()), (Some("app.example"), None));
    assert_eq!(
        (&jwt.audience[..], &jwt.fixed_roles[..]),
        (&["a".into(), "b".into()][..], &["reader".into()][..])
    );
    assert!(jwt.base64_encoded);
    assert_eq!(auth.cookie.as_ref().unwrap().name, "session");
    assert_eq!((auth.tokens.basic, auth.tokens.ttl), (false, Duration::from_secs(3600)));
    let api_keys = auth.api_keys.as_ref().unwrap();
    assert_eq!((api_keys.prefix.as_str(), api_keys.prop_principal.as_str()), ("tw_", "owner.id"));
    assert_eq!(api_keys.namespace, namespace("keys", "apiKeys"));
    assert_eq!(auth.guard.as_ref().unwrap().failures, 3);
    assert_eq!(auth.origins.allow, ["https://app.example"]);
    assert!(!auth.origins.allow_missing);
    let acl = config.acl.unwrap();
    assert_eq!((acl.root_role, acl.semantics), (None, AclSemantics::Legacy));
    assert!(matches!(acl.source, AclSource::Mongo { cache, .. } if cache.ttl.is_none()));
}

#[test]
fn sections_switch_off() {
    let config = from_file("auth: { basic: false, cookie: false }\nacl: false").unwrap();
    assert!(config.auth.basic.is_none() && config.auth.cookie.is_none() && config.acl.is_none());
    assert_eq!(shown(&config, "auth.basic"), ("false".into(), "conf/tailwater.yaml:1:16".into()));
    assert_eq!(shown(&config, "auth.basic.database").0, "absent");
}

#[test]
fn files_stand_in_for_collections() {
    let config =
        from_file("auth: { basic: { file: users.yaml } }\nacl: { file: /etc/acl.yaml }").unwrap();
    let basic = config.auth.basic.unwrap();
    assert!(matches!(basic.realm, BasicRealm::File(file) if file == Path::new("conf/users.yaml")));
    let acl = config.acl.unwrap();
    assert!(matches!(acl.source, AclSource::File(file) if file == Path::new("/etc/acl.yaml")));
    assert_eq!(acl.root_role, None);
    let named = from_file("acl: { file: acl.yaml, root_role: boss }").unwrap().acl.unwrap();
    assert_eq!(named.root_role.as_deref(), Some("boss"));
}

#[test]
fn the_environment_replaces_what_contradicts_it() {
    let file = "auth: { basic: { database: shop } }\nacl: false";
    let environment =
        [("TAILWATER_AUTH__BASIC__FILE", "users.yaml"), ("TAILWATER_ACL__DATABASE", "shop")];
    let config = load(file, &environment, &CommonArgs::default()).unwrap();
    assert!(matches!(config.auth.basic.unwrap().realm, BasicRealm::File(_)));
    assert!(config.acl.is_some());
}

#[test]
fn key_and_algorithm_must_agree() {
    let pem = |kind: &str| format!("\"-----BEGIN {kind}-----\\nAAAA\\n-----END {kind}-----\"");
    let check = |jwt: &str, expected: &str| {
        let result = from_file(&format!("auth: {{ jwt: {{ {jwt} }} }}"));
        match result {
            Ok(_) => assert_eq!(expected, "", "{jwt}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!expected.is_empty() && text.contains(expected), "{jwt}: {text}");
                assert_eq!(text.lines().count(), 1, "{text}");
                assert!(!text.contains("AAAA"), "{text}");
            }
        }
    };
    check(
        "algorithm: HS256",
        "auth.jwt needs auth.jwt.key, auth.jwt.key_file, auth.jwt.jwks or auth.jwt.jwks_file",
    );
    check("issuer: a", "auth.jwt needs auth.jwt.key");
    check(&format!("key: {KEY}"), "");
    check(&format!("algorithm: HS1, key: {KEY}"), "auth.jwt.algorithm is `HS1`; it is one of");
    check(&format!("algorithm: none, key: {KEY}"), "auth.jwt.algorithm is `none`; it is one of");
    check(
        &format!("key: {}", pem("PUBLIC KEY")),
        "auth.jwt.key is a PEM, which is no shared secret",
    );
    check(
        &format!("algorithm: RS256, key: {KEY}"),
        "auth.jwt.key does not fit RS256; give a public key",
    );
    check(&format!("algorithm: RS256, key: {}", pem("PUBLIC KEY")), "");
    check(&format!("algorithm: RSA256, key: {}", pem("CERTIFICATE")), "");
    check(&format!("algorithm: EdDSA, key: {}", pem("PUBLIC KEY")), "");
    check(
        &format!("algorithm: ES256, key: {}", pem("PRIVATE KEY")),
        "auth.jwt.key is a private key",
    );
    check("algorithm: RS256, key: MIIBAAAA", "");
    check("algorithm: RS256, key: AAAA", "auth.jwt.key does not fit RS256");
    check(
        "jwks: https://login.example/jwks",
        "auth.jwt.jwks holds public keys, but auth.jwt.algorithm is HS256",
    );
    check("algorithm: RS256, jwks: https://login.example/jwks", "");
    check("algorithm: RS256, jwks_file: keys.json", "");
    check(
        "jwks_file: keys.json",
        "auth.jwt.jwks_file holds public keys, but auth.jwt.algorithm is",
    );
    check(
        "algorithm: RS256, jwks_file: a.json, jwks: https://l.example",
        "auth.jwt.jwks contradicts auth.jwt.jwks_file",
    );
    check("algorithm: RS256, jwks: https://l.example, jwks_ca_file: ca.pem", "");
    check(
        "algorithm: RS256, jwks_file: a.json, jwks_ca_file: ca.pem",
        "auth.jwt.jwks_ca_file is only for an auth.jwt.jwks that starts with https://",
    );
    check(&format!("key: {KEY}, second_key: {KEY}2"), "");
    check(
        &format!("key: {KEY}, second_key: {}", pem("PUBLIC KEY")),
        "auth.jwt.second_key is a PEM",
    );
    check(
        &format!("algorithm: RS256, key: {}, second_key: {KEY}", pem("PUBLIC KEY")),
        "auth.jwt.second_key does not fit RS256",
    );
    check("key_encoding: base64, key: c2VjcmV0IG9mIGVub3VnaCBieXRlcyBmb3IgSFMyNTY", "");
    check("key_encoding: base64, key: not-base64!", "auth.jwt.key is not base64");
    check("key_encoding: hex, key: ab", "auth.jwt.key_encoding is `hex`; it is one of");
    check("algorithm: RS256, jwks: ftp://login.example", "auth.jwt.jwks is `ftp://login.example`");
    check(
        &format!("key: {KEY}, jwks: https://l.example"),
        "auth.jwt.jwks and auth.jwt.key are both set",
    );
    check(&format!("key: {KEY}, audience: []"), "auth.jwt.audience is an empty list");
    check(&format!("key: {KEY}, audience: null"), "");
    check(
        &format!("key: {KEY}, roles_claim: null"),
        "auth.jwt.roles_claim is null and there are no",
    );
    check(&format!("key: {KEY}, roles_claim: null, fixed_roles: [a]"), "");
    check(&format!("key: {KEY}, issuer: \"\""), "auth.jwt.issuer is empty");
}

#[test]
fn incomplete_sections_say_what_is_missing() {
    let check = |file: &str, expected: &str| {
        let text = errors(from_file(file));
        assert!(text.contains(expected), "{text}");
    };
    check("auth: { jwt: true }", "auth.jwt needs auth.jwt.key");
    check("auth: { api_keys: true }", "auth.api_keys needs auth.api_keys.prefix");
    check(
        "auth: { basic: { create_user: { id: a } } }",
        "create_user needs both an id and a password",
    );
    check(
        "auth: { basic: { file: u.yaml, database: d } }",
        "auth.basic.database contradicts auth.basic.file",
    );
    check("acl: { file: a.yaml, collection: c }", "acl.collection contradicts acl.file");
}

#[test]
fn weak_choices_are_pointed_out() {
    let check = |file: &str, expected: &str| {
        let config = from_file(file).unwrap();
        assert_eq!(config.warnings(), [expected]);
    };
    check(
        "auth: { jwt: { key: secret } }",
        "auth.jwt.key is shorter than 32 bytes and may be guessed",
    );
    check(
        "auth: { jwt: { algorithm: RS256, jwks: http://login } }",
        "auth.jwt.jwks reads keys from login without TLS",
    );
    check(
        "position_key: 00112233445566778899aabbccddeeff",
        "position_key holds 16 bytes; 32 are recommended",
    );
    check(
        "auth: { insecure_no_auth: true }",
        "auth.insecure_no_auth is set: every caller may read everything",
    );
}
