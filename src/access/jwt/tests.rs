use std::time::Duration;

use serde_json::{Value, json};

use super::samples::{
    EC_CERTIFICATE, EC_KEY, ED_KEY, EDDSA, ES256, KEY_SET, PS256, RS256, RS256_R1, RS256_UNKNOWN,
    RS256_X1, RSA_CERTIFICATE, RSA_CERTIFICATE_DER, RSA_KEY, RSA_KEY_DER, RSA_KEY_PKCS1,
};
use super::*;
use crate::access::principal::Verified;
use crate::access::support::{SECRET, jwt, now};
use crate::config::{JwtAlgorithm, JwtConfig, JwtKey, KeySetPlace, Secret};

const NOW: u64 = 1_800_000_000;

fn config(algorithm: JwtAlgorithm, key: JwtKey) -> JwtConfig {
    JwtConfig { algorithm, key, ..jwt() }
}

fn key_set(algorithm: JwtAlgorithm, place: KeySetPlace) -> JwtConfig {
    config(algorithm, JwtKey::KeySet { place, refresh: Duration::from_secs(600) })
}

fn at(url: String) -> KeySetPlace {
    KeySetPlace::Url { url, ca: None }
}

fn public(algorithm: JwtAlgorithm, key: &str) -> JwtConfig {
    config(algorithm, JwtKey::Public(Secret::new(key)))
}

async fn verify(config: &JwtConfig, token: &str) -> Result<Verified, TokenError> {
    JwtVerifier::new(config).unwrap().verify(token, now()).await
}

/// Signs claims with the shared secret.
fn signed(header: &Value, claims: &Value) -> String {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let encode = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let algorithm = header["alg"].as_str().unwrap().parse().unwrap_or_default();
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).unwrap();
    format!("{message}.{signature}")
}

fn token(claims: &Value) -> String {
    signed(&json!({ "alg": "HS256" }), claims)
}

#[track_caller]
fn is_invalid(answer: Result<Verified, TokenError>, what: &str) {
    assert!(matches!(answer, Err(TokenError::Invalid(_))), "{what}: {answer:?}");
}

#[tokio::test]
async fn times_have_no_leeway() {
    let config = jwt();
    let check = async |claims: Value, expected: Result<(), Option<TokenError>>| {
        let mut all = json!({ "sub": "nora" });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let answer = verify(&config, &token(&all)).await;
        match expected {
            Ok(()) => assert!(answer.is_ok(), "{claims}: {answer:?}"),
            Err(Some(error)) => assert_eq!(answer.unwrap_err(), error, "{claims}"),
            Err(None) => is_invalid(answer, &claims.to_string()),
        }
    };
    check(json!({}), Ok(())).await;
    check(json!({ "exp": NOW + 1 }), Ok(())).await;
    check(json!({ "exp": NOW }), Err(Some(TokenError::Expired))).await;
    check(json!({ "exp": NOW as f64 + 0.5 }), Ok(())).await;
    check(json!({ "exp": -1 }), Err(Some(TokenError::Expired))).await;
    check(json!({ "exp": 1e300 }), Ok(())).await;
    check(json!({ "exp": "soon" }), Err(None)).await;
    check(json!({ "exp": null }), Err(None)).await;
    check(json!({ "nbf": NOW }), Ok(())).await;
    check(json!({ "nbf": NOW + 1 }), Err(None)).await;
    check(json!({ "iat": NOW + 1 }), Err(None)).await;
    check(json!({ "iat": NOW }), Ok(())).await;
}

#[tokio::test]
async fn the_session_ends_with_the_token() {
    let expiring = verify(&jwt(), &token(&json!({ "sub": "n", "exp": NOW + 60 }))).await;
    assert_eq!(expiring.unwrap().expires_at, Some(now() + Duration::from_secs(60)));
    let endless = verify(&jwt(), &token(&json!({ "sub": "n" }))).await;
    assert_eq!(endless.unwrap().expires_at, None);
}

#[tokio::test]
async fn issuer_and_audience() {
    let mut config = jwt();
    config.issuer = Some("app.example".into());
    config.audience = vec!["app".into(), "other".into()];
    let check = async |claims: Value, expected: bool| {
        let answer = verify(&config, &token(&claims)).await;
        assert_eq!(answer.is_ok(), expected, "{claims}");
    };
    check(json!({ "sub": "n", "iss": "app.example", "aud": "app" }), true).await;
    check(json!({ "sub": "n", "iss": "app.example", "aud": ["x", "other"] }), true).await;
    check(json!({ "sub": "n", "iss": "app.example", "aud": ["x"] }), false).await;
    check(json!({ "sub": "n", "iss": "app.example" }), false).await;
    check(json!({ "sub": "n", "iss": "evil.example", "aud": "app" }), false).await;
    check(json!({ "sub": "n", "iss": ["app.example"], "aud": "app" }), false).await;
    check(json!({ "sub": "n", "aud": "app" }), false).await;
}

#[tokio::test]
async fn who_is_calling() {
    let mut config = jwt();
    config.fixed_roles = vec!["fixed".into()];
    let check = async |claims: Value, expected: Option<(&str, &[&str])>| {
        let answer = verify(&config, &token(&claims)).await;
        match expected {
            None => is_invalid(answer, &claims.to_string()),
            Some((id, roles)) => {
                let verified = answer.unwrap();
                assert_eq!(
                    (verified.id.as_str(), verified.roles),
                    (id, roles.iter().map(|r| (*r).to_owned()).collect())
                );
            }
        }
    };
    check(json!({ "sub": "n", "roles": ["b", "a"] }), Some(("n", &["b", "a", "fixed"]))).await;
    check(json!({ "sub": "n" }), Some(("n", &["fixed"]))).await;
    check(json!({ "sub": "n", "roles": null }), Some(("n", &["fixed"]))).await;
    check(json!({ "sub": "n", "roles": "admin" }), None).await;
    check(json!({ "sub": "n", "roles": [{}] }), None).await;
    check(json!({ "sub": 7 }), None).await;
    check(json!({ "sub": "" }), None).await;
    check(json!({}), None).await;
    config.username_claim = "user.name".into();
    config.roles_claim = Some("realm.roles".into());
    let nested = json!({ "user": { "name": "n" }, "realm": { "roles": ["r"] } });
    let verified = verify(&config, &token(&nested)).await.unwrap();
    assert_eq!((verified.id.as_str(), verified.roles[0].as_str()), ("n", "r"));
}

#[tokio::test]
async fn claims_keep_their_types() {
    let claims = json!({ "sub": "n", "i": 7, "l": 5_000_000_000_i64, "d": 1.5, "a": [1, null], "o": { "$oid": "x" } });
    let verified = verify(&jwt(), &token(&claims)).await.unwrap();
    let expected = bson::doc! {
        "sub": "n", "i": 7, "l": 5_000_000_000_i64, "d": 1.5, "a": [1, null], "o": { "$oid": "x" },
    };
    assert_eq!(verified.properties, expected);
    is_invalid(verify(&jwt(), &token(&json!({ "sub": "n", "a\0": 1 }))).await, "NUL");
}

#[tokio::test]
async fn only_the_configured_algorithm() {
    let claims = json!({ "sub": "n" });
    let config = jwt();
    let check = async |token: String| is_invalid(verify(&config, &token).await, &token);
    check(signed(&json!({ "alg": "HS512" }), &claims)).await;
    check(signed(&json!({ "alg": "none" }), &claims)).await;
    let none = signed(&json!({ "alg": "none" }), &claims);
    check(none[..=none.rfind('.').unwrap()].to_owned()).await;
    check(signed(&json!({ "alg": "hs256" }), &claims)).await;
    check(signed(&json!({ "alg": "HS256", "crit": ["x"] }), &claims)).await;
    check(format!("{}x", token(&claims))).await;
    check(format!("{}.", token(&claims))).await;
    for text in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "é.é.é"] {
        check(text.to_owned()).await;
    }
    check("a".repeat(20_000)).await;
    check(RS256.to_owned()).await;
}

#[tokio::test]
async fn a_certificate_is_no_shared_secret() {
    use base64::Engine;
    let rsa = public(JwtAlgorithm::Rs256, RSA_CERTIFICATE);
    for secret in [RSA_CERTIFICATE, RSA_KEY] {
        let mut forged = jwt();
        forged.key = JwtKey::Shared(Secret::new(secret));
        let token = sign_token(&forged, "n", &[], Duration::from_secs(60), now()).unwrap();
        is_invalid(verify(&rsa, &token).await, "HS256 by a certificate");
        let (_, rest) = token.split_once('.').unwrap();
        let header = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256"}"#);
        is_invalid(verify(&rsa, &format!("{header}.{rest}")).await, "HMAC called RS256");
    }
}

#[tokio::test]
async fn public_keys_in_every_form() {
    let check = async |algorithm, key: &str, token: &str| {
        let verified = verify(&public(algorithm, key), token).await.unwrap();
        assert_eq!((verified.id.as_str(), verified.roles.len()), ("nora", 2), "{key}");
    };
    for key in [RSA_CERTIFICATE_DER, RSA_CERTIFICATE, RSA_KEY, RSA_KEY_PKCS1, RSA_KEY_DER] {
        check(JwtAlgorithm::Rs256, key, RS256).await;
    }
    check(JwtAlgorithm::Ps256, RSA_KEY, PS256).await;
    check(JwtAlgorithm::Es256, EC_KEY, ES256).await;
    check(JwtAlgorithm::Es256, EC_CERTIFICATE, ES256).await;
    check(JwtAlgorithm::EdDsa, ED_KEY, EDDSA).await;
    let wrong = public(JwtAlgorithm::Rs256, RSA_KEY);
    let (message, _) = RS256.rsplit_once('.').unwrap();
    let (_, signature) = RS256_R1.rsplit_once('.').unwrap();
    is_invalid(verify(&wrong, &format!("{message}.{signature}")).await, "another signature");
    is_invalid(verify(&wrong, PS256).await, "PS256");
}

#[test]
fn keys_that_do_not_fit() {
    let check = |config: &JwtConfig| assert!(JwtVerifier::new(config).is_err(), "{config:?}");
    check(&public(JwtAlgorithm::Rs256, EC_KEY));
    check(&public(JwtAlgorithm::Es256, RSA_KEY));
    check(&public(JwtAlgorithm::EdDsa, RSA_KEY));
    check(&public(JwtAlgorithm::Rs256, ""));
    check(&public(JwtAlgorithm::Rs256, "junk!"));
    check(&public(JwtAlgorithm::Hs256, RSA_KEY));
    check(&config(JwtAlgorithm::Hs256, JwtKey::Shared(Secret::new(""))));
    check(&config(JwtAlgorithm::Rs256, JwtKey::Shared(Secret::new(SECRET))));
}

#[tokio::test]
async fn wrapped_tokens_only_when_configured() {
    let mut wrapped = jwt();
    wrapped.base64_encoded = true;
    let token = sign_token(&wrapped, "n", &[], Duration::from_secs(60), now()).unwrap();
    assert!(verify(&wrapped, &token).await.is_ok());
    is_invalid(verify(&jwt(), &token).await, "wrapped");
    is_invalid(verify(&wrapped, &self::token(&json!({ "sub": "n" }))).await, "not wrapped");
}

#[tokio::test]
async fn two_keys_at_once() {
    let signed_by = |key: JwtKey| JwtConfig { key, ..jwt() };
    let next = JwtKey::Shared(Secret::new("the next secret of at least 32 characters"));
    let changing = JwtConfig { second_key: Some(next.clone()), ..jwt() };
    let stranger = JwtKey::Shared(Secret::new("another"));
    for (key, expected) in [(jwt().key, true), (next, true), (stranger, false)] {
        let token = sign_token(&signed_by(key), "n", &[], Duration::from_secs(60), now()).unwrap();
        assert_eq!(verify(&changing, &token).await.is_ok(), expected);
    }
    let sets = JwtConfig {
        second_key: Some(JwtKey::Public(Secret::new(EC_KEY))),
        ..public(JwtAlgorithm::Es256, EC_CERTIFICATE)
    };
    assert!(verify(&sets, ES256).await.is_ok());
}

#[tokio::test]
async fn a_secret_may_be_base64() {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    let bytes = b"\xfb\xff a secret that is no text \x00";
    let signer =
        |text: String| config(JwtAlgorithm::Hs256, JwtKey::SharedBase64(Secret::new(text)));
    let padded = signer(BASE64_STANDARD.encode(bytes));
    let token = sign_token(&padded, "n", &[], Duration::from_secs(60), now()).unwrap();
    assert!(verify(&padded, &token).await.is_ok());
    assert!(verify(&signer(BASE64_URL_SAFE_NO_PAD.encode(bytes)), &token).await.is_ok());
    let literal = JwtKey::Shared(Secret::new(BASE64_STANDARD.encode(bytes)));
    is_invalid(verify(&config(JwtAlgorithm::Hs256, literal), &token).await, "as written");
}

#[tokio::test]
async fn made_tokens_are_accepted() {
    let mut config = jwt();
    config.issuer = Some("app.example".into());
    config.audience = vec!["app".into()];
    config.username_claim = "name".into();
    let roles = ["a".to_owned(), "b".to_owned()];
    let token = sign_token(&config, "nora", &roles, Duration::from_secs(60), now()).unwrap();
    let verified = verify(&config, &token).await.unwrap();
    assert_eq!((verified.id.as_str(), verified.roles.as_slice()), ("nora", &roles[..]));
    assert_eq!(verified.expires_at, Some(now() + Duration::from_secs(60)));
    let rsa = public(JwtAlgorithm::Rs256, RSA_KEY);
    let error = sign_token(&rsa, "n", &[], Duration::from_secs(60), now()).unwrap_err();
    assert_eq!(error, SignError::NoPrivateKey);
    config.roles_claim = None;
    let error = sign_token(&config, "n", &roles, Duration::from_secs(60), now()).unwrap_err();
    assert_eq!(error, SignError::NoRolesClaim);
}

/// A key set that is served once per entry, counting how often it was asked for.
async fn serve(answers: Vec<String>) -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        for body in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).await;
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    (url, asked)
}

#[tokio::test]
async fn key_sets_are_fetched() {
    let (url, asked) = serve(vec![KEY_SET.to_owned(), KEY_SET.to_owned()]).await;
    let verifier = JwtVerifier::new(&key_set(JwtAlgorithm::Rs256, at(url))).unwrap();
    for token in [RS256_R1, RS256] {
        assert_eq!(verifier.verify(token, now()).await.unwrap().id, "nora");
    }
    // A key for encryption is none, and an unknown one is not asked for again at once.
    for token in [RS256_X1, RS256_UNKNOWN, RS256_UNKNOWN] {
        is_invalid(verifier.verify(token, now()).await, token);
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
}

fn data(file: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(file)
}

/// A key set over TLS, by a certificate for `localhost` that an authority of the tests' own signed
/// before its key was thrown away.
async fn serve_tls() -> String {
    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let certificate = CertificateDer::from_pem_file(data("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(data("server.key")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate hangs up here.
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", KEY_SET.len());
            let _ = socket.write_all(format!("{head}{KEY_SET}").as_bytes()).await;
        }
    });
    format!("https://localhost:{port}/keys")
}

#[tokio::test]
async fn key_sets_over_tls_need_a_trusted_certificate() {
    let url = serve_tls().await;
    let place = |ca: Option<&str>| KeySetPlace::Url { url: url.clone(), ca: ca.map(data) };
    let set = |place| key_set(JwtAlgorithm::Rs256, place);
    assert_eq!(verify(&set(place(Some("ca.pem"))), RS256_R1).await.unwrap().id, "nora");
    let unknown = verify(&set(place(None)), RS256_R1).await;
    assert_eq!(unknown.unwrap_err(), TokenError::Unavailable);
    let by_address = KeySetPlace::Url {
        url: url.replace("https://localhost", "http://localhost"),
        ca: Some(data("ca.pem")),
    };
    assert_eq!(verify(&set(by_address), RS256_R1).await.unwrap_err(), TokenError::Unavailable);
    for file in ["server.key", "none.pem"] {
        let error = JwtVerifier::new(&set(place(Some(file)))).unwrap_err().to_string();
        assert!(error.contains(file), "{error}");
    }
}

#[tokio::test]
async fn key_sets_of_files() {
    let path = std::env::temp_dir().join(format!("tailwater-keys-{}.json", std::process::id()));
    std::fs::write(&path, KEY_SET).unwrap();
    let file = key_set(JwtAlgorithm::Es256, KeySetPlace::File(path.clone()));
    assert!(verify(&file, ES256).await.is_ok());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(verify(&file, ES256).await.unwrap_err(), TokenError::Unavailable);
}

#[tokio::test]
async fn without_a_key_set_nothing_can_be_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    drop(listener);
    let verifier = JwtVerifier::new(&key_set(JwtAlgorithm::Rs256, at(url))).unwrap();
    assert_eq!(verifier.verify(RS256, now()).await.unwrap_err(), TokenError::Unavailable);
    assert!(KeySource::new(&at("ftp://keys.example".to_owned())).is_err());
    let (url, _) = serve(vec!["<html>".to_owned()]).await;
    let verifier = JwtVerifier::new(&key_set(JwtAlgorithm::Rs256, at(url))).unwrap();
    assert_eq!(verifier.verify(RS256, now()).await.unwrap_err(), TokenError::Unavailable);
}

#[test]
fn shows_no_secret() {
    let config = jwt();
    let verifier = JwtVerifier::new(&config).unwrap();
    assert!(!format!("{config:?} {verifier:?}").contains(SECRET));
}
