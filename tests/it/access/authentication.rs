//! Who is let in: every credential in every form, the same over reads, server-sent events and WebSocket.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bson::{DateTime, Document, doc};
use jsonwebtoken::Algorithm;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    deployment::{Deployment, Way, ask, everywhere, hashed, permission, status},
    tokens::{SECRET, basic, bearer, bearer_of, claims, forged, in_seconds, signed, with},
};
use crate::support::{TestApp, eventually, tailwater::Folder};

/// One credential and what becomes of it.
async fn check(app: &TestApp, line: &str, headers: &[(&str, &str)], expected: u16) {
    assert_eq!(status(app, "", headers).await, expected, "{line} {headers:?}");
}

async fn check_all(app: &TestApp, rows: &[(&str, &str, u16)]) {
    for (line, authorization, expected) in rows {
        check(app, line, &[("authorization", authorization)], *expected).await;
    }
}

/// The answer to strangers is a challenge and nothing else; who does not want the browser's dialogue says so.
#[tokio::test]
async fn strangers_are_challenged() {
    let app = Deployment::new().await.permissions([everywhere(doc! {})]).await.start().await;
    let challenge = Some("Basic realm=\"RESTHeart Realm\"");
    let (wrong, unknown) = (basic("ann", "wrong"), basic("nobody", "wrong"));
    for way in Way::ALL {
        let path = if way == Way::Read { app.coll_path("c") } else { app.path("c/all") };
        for (line, query, headers, expected) in [
            ("A1 A24", "", vec![], challenge),
            ("A2", "", vec![("authorization", wrong.as_str())], challenge),
            ("A2", "", vec![("authorization", unknown.as_str())], challenge),
            ("A7", "", vec![("no-auth-challenge", "")], None),
            ("A7", "", vec![("No-Auth-Challenge", "true"), ("authorization", &wrong)], None),
            ("A8", "?noauthchallenge", vec![], None),
            ("A8", "?noauthchallenge=true", vec![("authorization", wrong.as_str())], None),
        ] {
            let answer = ask(&app, way, &format!("{path}{query}"), &headers).await;
            assert_eq!((answer.status, answer.body.as_str()), (401, ""), "{line} {way:?}");
            let said = answer.headers.get("www-authenticate").map(|it| it.to_str().unwrap());
            assert_eq!(said, expected, "{line} {way:?}");
        }
        let mut heads = Vec::new();
        for credential in [&wrong, &unknown] {
            let mut answer = ask(&app, way, &path, &[("authorization", credential)]).await;
            answer.headers.remove("date");
            heads.push(answer.headers);
        }
        assert_eq!(heads[0], heads[1], "A2: a wrong password looks like an unknown user");
    }
}

/// Passwords of stored users, in the spellings of the header that are meant and in no others.
#[tokio::test]
async fn passwords_of_stored_users() {
    let deployment = Deployment::new().await;
    for user in [
        doc! { "_id": "zoë", "roles": ["user"], "password": hashed("w1:nter:ü ") },
        doc! { "_id": "empty", "roles": ["user"] },
        doc! { "_id": "number", "roles": ["user"], "password": 7 },
        doc! { "_id": "text", "roles": "user", "password": hashed("text") },
        doc! { "_id": "none", "password": hashed("none") },
        doc! { "_id": "plain", "roles": ["user"], "password": "plain" },
        doc! { "_id": "y", "roles": ["user"], "password": hashed("y").replacen("$2b$", "$2y$", 1) },
    ] {
        deployment.user(user).await;
    }
    let app = deployment.permissions([everywhere(doc! {})]).await.start().await;
    let ann = basic("ann", "ann");
    check_all(
        &app,
        &[
            ("A3", &ann, 200),
            ("A3", &basic("y", "y"), 200),
            ("A4", &basic("zoë", "w1:nter:ü "), 200),
            ("A4", &basic("zoë", "w1"), 401),
            ("A5", &ann.replace("Basic", "basic"), 200),
            ("A5", &ann.replace("Basic", "bAsIc"), 200),
            ("A6", "Basic !!!", 401),
            ("A6", "Basic", 401),
            ("A6", "Basic YW5u", 401),
            ("A6", "Digest username=ann", 401),
            ("A10", &basic("empty", ""), 401),
            ("A10", &basic("number", "7"), 401),
            ("A10", &basic("text", "text"), 401),
            ("A10", &basic("plain", "plain"), 401),
            ("A11", &basic("none", "none"), 403),
            ("A2", &basic("ann", "ann\0"), 401),
            ("A2", &basic("ann", &"a".repeat(2000)), 401),
        ],
    )
    .await;
}

/// Users of a file, and users whose name and roles lie elsewhere in their document.
#[tokio::test]
async fn other_realms() {
    let folder = Folder::new().with(
        "users.yaml",
        "users:\n  - { userid: nora, password: w1nter, roles: [user] }\n  - { userid: gone, password: null, roles: [user] }\n",
    );
    let file = format!("basic: {{ file: {}/users.yaml }}", folder.path());
    let by_file = Deployment::new().await.auth(&file).permissions([everywhere(doc! {})]).await;
    let rows = [
        ("A9", &basic("nora", "w1nter"), 200),
        ("A9", &basic("nora", "winter"), 401),
        ("A9", &basic("gone", ""), 401),
        ("A9", &basic("gone", "null"), 401),
        ("A9", &basic("ann", "ann"), 401),
    ];
    check_all(
        &by_file.start().await,
        &rows.map(|(line, auth, status)| (line, auth.as_str(), status)),
    )
    .await;

    let deployment = Deployment::new()
        .await
        .auth("basic: { database: \"{db}\", collection: people, prop_id: mail.main, prop_password: pw, json_path_roles: $.auth.groups }");
    let people = deployment.db.collection("people");
    let (mail, auth) = (doc! { "main": "n@x.example" }, doc! { "groups": ["user"] });
    people.insert_one(doc! { "mail": mail, "pw": hashed("w"), "auth": auth }).await.unwrap();
    let app = deployment.permissions([everywhere(doc! {})]).await.start().await;
    check(&app, "A12", &[("authorization", &basic("n@x.example", "w"))], 200).await;
    check(&app, "A12", &[("authorization", &basic("ann", "ann"))], 401).await;
}

/// A first user is made where there are none, and never beside others.
#[tokio::test]
async fn a_first_user_is_made_where_there_are_none() {
    let create = "create_user: { id: first, password: hush, roles: [admin] }, bcrypt_complexity: 4";
    for (collection, expected) in [("people", 200), ("users", 401)] {
        let basic_line = format!(
            "basic: {{ database: \"{{db}}\", collection: {collection}, prop_id: name, json_path_roles: $.in.groups, {create} }}"
        );
        let app = Deployment::new().await.auth(&basic_line).start().await;
        let first = basic("first", "hush");
        if expected == 200 {
            eventually("the first user is made", async || {
                app.with("GET", &app.coll_path("c"), &[("authorization", &first)]).await.status
                    == 200
            })
            .await;
        }
        check(&app, "create_user", &[("authorization", &first)], expected).await;
        let stored =
            app.db.collection::<Document>(collection).find_one(doc! { "name": "first" }).await;
        assert_eq!(stored.unwrap().is_some(), expected == 200);
    }
}

/// Signed tokens: who signed, for whom, until when.
#[tokio::test]
async fn signed_tokens() {
    let app = Deployment::new().await.permissions([everywhere(doc! {})]).await.start().await;
    let ann = || claims("ann", &["user"]);
    let hush = SECRET.as_bytes();
    let none = forged(&ann(), Algorithm::HS256, hush, "none");
    let rows = [
        ("A13", bearer(&ann()), 200),
        ("A13", bearer(&with(ann(), &json!({ "iss": "evil.example" }))), 401),
        ("A13", bearer(&with(ann(), &json!({ "exp": in_seconds(-1) }))), 401),
        ("A13", bearer(&with(ann(), &json!({ "exp": in_seconds(600) }))), 200),
        ("A13", bearer(&with(ann(), &json!({ "nbf": in_seconds(600) }))), 401),
        ("A13", bearer(&with(ann(), &json!({ "iat": in_seconds(600) }))), 401),
        ("A13", bearer(&with(ann(), &json!({ "aud": "elsewhere" }))), 401),
        ("A13", bearer(&with(ann(), &json!({ "aud": ["a", "app"] }))), 200),
        ("A13", bearer(&with(ann(), &json!({ "aud": "x" }))), 200),
        ("A14", format!("Bearer {none}"), 401),
        ("A14", format!("Bearer {}", &none[..=none.rfind('.').unwrap()]), 401),
        ("A14", format!("Bearer {}", forged(&ann(), Algorithm::HS512, hush, "HS512")), 401),
        ("A14", format!("Bearer {}", forged(&ann(), Algorithm::HS256, b"another", "HS256")), 401),
        ("A16", format!("Bearer {}", URL_SAFE_NO_PAD.encode(signed(&ann()))), 401),
        ("A17", bearer(&with(ann(), &json!({ "roles": "user" }))), 401),
        ("A17", bearer(&with(ann(), &json!({ "roles": null }))), 403),
        ("A18", bearer(&with(ann(), &json!({ "sub": 7 }))), 401),
        ("A5", bearer(&ann()).replace("Bearer", "bearer"), 401),
        ("A19", basic("ann", &signed(&ann())), 200),
        ("A19", basic("bob", &signed(&ann())), 401),
    ];
    let rows: Vec<_> =
        rows.iter().map(|(line, text, status)| (*line, text.as_str(), *status)).collect();
    check_all(&app, &rows).await;
    let query = format!("?access_token={}", signed(&ann()));
    assert_eq!(status(&app, &query, &[]).await, 401, "A26");
}

/// Other deployments of tokens: a certificate, a set of keys, wrapped ones, roles for all, two keys at once.
#[tokio::test]
async fn other_tokens() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/jwt");
    let certificate = std::fs::read_to_string(format!("{data}/certificate.txt")).unwrap();
    let rs256 = std::fs::read_to_string(format!("{data}/rs256.txt")).unwrap();
    let by_text = forged(
        &claims("nora", &["reader"]),
        Algorithm::HS256,
        certificate.trim().as_bytes(),
        "HS256",
    );
    let wrapped = URL_SAFE_NO_PAD.encode(signed(&claims("ann", &["user"])));
    let second = forged(&claims("ann", &["user"]), Algorithm::HS256, &[b'k'; 40], "HS256");
    let base64 = forged(&claims("ann", &["user"]), Algorithm::HS256, b"\xffno text", "HS256");
    let bare = json!({ "sub": "ann" });
    let of = |token: &str| format!("Bearer {}", token.trim());
    let rows = [
        (
            format!(
                "jwt: {{ algorithm: RS256, key: {}, issuer: app.example }}",
                certificate.trim()
            ),
            vec![
                ("A15", of(&rs256), 200),
                ("A14", of(&by_text), 401),
                (
                    "A14",
                    of(&by_text.replacen("eyJhbGciOiJIUzI1NiI", "eyJhbGciOiJSUzI1NiI", 1)),
                    401,
                ),
            ],
        ),
        (
            format!("jwt: {{ algorithm: RS256, jwks_file: {data}/key_set.json }}"),
            vec![("A15", of(&rs256), 200)],
        ),
        (
            format!("jwt: {{ key: {SECRET}, base64_encoded: true }}"),
            vec![("A16", of(&wrapped), 200), ("A16", of(&signed(&claims("ann", &["user"]))), 401)],
        ),
        (
            format!("jwt: {{ key: {SECRET}, fixed_roles: [user] }}"),
            vec![
                ("A17", bearer(&bare), 200),
                ("A17", bearer(&with(bare.clone(), &json!({ "roles": "user" }))), 401),
            ],
        ),
        (
            format!("jwt: {{ key: {SECRET}, second_key: {} }}", "k".repeat(40)),
            vec![
                ("two keys", of(&second), 200),
                ("two keys", bearer_of("ann", &["user"]), 200),
                ("two keys", of(&base64), 401),
            ],
        ),
        (
            "jwt: { key: /25vIHRleHQ=, key_encoding: base64 }".to_owned(),
            vec![("base64", of(&base64), 200), ("base64", of(&second), 401)],
        ),
    ];
    for (jwt, rows) in rows {
        let reader = permission("reader", "path-prefix('/')", doc! {});
        let app =
            Deployment::new().await.auth(&jwt).permissions([everywhere(doc! {}), reader]).await;
        let rows: Vec<_> =
            rows.iter().map(|(line, text, status)| (*line, text.as_str(), *status)).collect();
        check_all(&app.start().await, &rows).await;
    }
}

/// Cookies, in all four spellings; the header wins.
#[tokio::test]
async fn cookies() {
    let app = Deployment::new().await.permissions([everywhere(doc! {})]).await.start().await;
    let token = signed(&claims("ann", &["user"]));
    let password = basic("ann", &token).replace("Basic ", "");
    let cookie = |value: &str| format!("other=1; rh_auth={value}");
    for (value, expected) in [
        (format!("Bearer_{token}"), 200),
        (format!("\"Bearer {token}\""), 200),
        (format!("Basic_{password}"), 200),
        (format!("\"Basic {password}\""), 200),
        (format!("Bearer_{token}x"), 401),
        ("junk".to_owned(), 401),
        ("Bearer_".to_owned(), 401),
    ] {
        check(&app, "A20", &[("cookie", &cookie(&value))], expected).await;
    }
    let (good, bad) = (bearer_of("ann", &["user"]), basic("ann", "wrong"));
    let fine = cookie(&format!("Bearer_{token}"));
    check(&app, "A20", &[("cookie", &fine), ("authorization", &bad)], 401).await;
    check(&app, "A20", &[("cookie", &cookie("junk")), ("authorization", &good)], 200).await;
}

/// API keys bring the roles of the key and nothing of the user they stand for.
#[tokio::test]
async fn api_keys() {
    let deployment = Deployment::new().await.permissions([everywhere(doc! {})]).await;
    let keys = deployment.db.collection("keys");
    let (past, future) = (DateTime::from_millis(1), DateTime::from_millis(32_503_680_000_000));
    for (name, key) in [
        ("good", doc! { "user": "robot", "roles": ["user"] }),
        ("null", doc! { "user": "robot", "roles": ["user"], "expiresAt": null }),
        ("later", doc! { "user": "robot", "roles": ["user"], "expiresAt": future }),
        ("past", doc! { "user": "robot", "roles": ["user"], "expiresAt": past }),
        ("odd", doc! { "user": "robot", "roles": ["user"], "expiresAt": "never" }),
        ("roleless", doc! { "user": "ann" }),
        ("nobody", doc! { "user": " ", "roles": ["user"] }),
    ] {
        let mut key = key;
        let hash: String =
            Sha256::digest(format!("tw_{name}")).iter().map(|b| format!("{b:02x}")).collect();
        key.insert("hash", hash);
        keys.insert_one(key).await.unwrap();
    }
    let app = deployment.start().await;
    check_all(
        &app,
        &[
            ("A21", "Bearer tw_good", 200),
            ("A21", "Bearer tw_null", 200),
            ("A21", "Bearer tw_later", 200),
            ("A21", "Bearer tw_past", 401),
            ("A21", "Bearer tw_odd", 401),
            ("A21", "Bearer tw_roleless", 403),
            ("A21", "Bearer tw_nobody", 401),
            ("A21", "Bearer tw_none", 401),
            ("A21", "Bearer good", 401),
            ("A21", &bearer_of("ann", &["user"]), 200),
        ],
    )
    .await;
}

/// A credential that does not hold is refused where strangers are let in too, unless RESTHeart's ways were
/// asked for; who is known is no stranger.
#[tokio::test]
async fn nobody_is_taken_for_a_stranger() {
    for (compat, expected) in [("", 401), ("compat: restheart", 200)] {
        let public = permission("$unauthenticated", "path-prefix('/')", doc! {});
        let app = Deployment::new().await.with(compat).permissions([public]).await.start().await;
        let expired = bearer(&with(claims("ann", &["user"]), &json!({ "exp": in_seconds(-60) })));
        check(&app, "A22", &[], 200).await;
        check(
            &app,
            "A22",
            &[("cookie", &format!("rh_auth={}", expired.replace(' ', "_")))],
            expected,
        )
        .await;
        check_all(
            &app,
            &[
                ("A22", &basic("ann", "wrong"), expected),
                ("A22", "Bearer tw_none", expected),
                ("A22", &expired, expected),
                ("A23", &basic("ann", "ann"), 403),
                ("A23", &bearer_of("ann", &["user"]), 403),
            ],
        )
        .await;
    }
}

/// Who keeps guessing is turned away, also when the next guess is right; refusals of rights do not count, and
/// preflights pass.
#[tokio::test]
async fn guessing_is_turned_away() {
    let only_a = permission("user", "path-prefix('/a')", doc! {});
    let app = Deployment::new().await.auth("guard: true").permissions([only_a]).await.start().await;
    for _ in 0..6 {
        check(&app, "A25", &[("authorization", &basic("ann", "ann"))], 403).await;
    }
    let path = app.path("c/all");
    for guess in 0..5 {
        let guess = basic("ann", &format!("guess {guess}"));
        let answer = ask(&app, Way::Sse, &path, &[("authorization", &guess)]).await;
        assert_eq!(answer.status, 401, "A25");
    }
    for way in Way::ALL {
        let answer = ask(&app, way, &path, &[("authorization", &basic("ann", "ann"))]).await;
        assert_eq!(answer.status, 429, "A25 {way:?}");
        let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=10).contains(&wait), "{wait}");
    }
    assert_eq!(app.with("OPTIONS", &path, &[]).await.status, 200, "A25");
}
