use super::*;
use crate::config::JwtKey;

const KEY: &str = "hush-hush-hush-hush-hush-hush-hush";

#[test]
fn secrets_are_read_from_their_files() {
    let key = TemporaryFile::new("jwt_key", &format!("{KEY}\r\n"));
    let uri = TemporaryFile::new("uri", "mongodb://nora:hush@db0\n");
    let position = TemporaryFile::new("position", &format!("{}\n", "0a".repeat(32)));
    let config = from_environment(&[
        ("TAILWATER_AUTH__JWT__KEY_FILE", key.text()),
        ("TAILWATER_MONGODB_URI_FILE", uri.text()),
        ("TAILWATER_POSITION_KEY_FILE", position.text()),
    ])
    .unwrap();
    assert!(matches!(config.auth.jwt.unwrap().key, JwtKey::Shared(it) if it.expose() == KEY));
    assert_eq!(config.mongodb.uri.expose(), "mongodb://nora:hush@db0");
    assert_eq!(config.position_key.unwrap().as_bytes(), [10; 32]);
    assert_eq!(config.effective.iter().find(|it| it.key == "mongodb.uri"), None);
}

#[test]
fn files_of_secrets_that_cannot_be_used() {
    let check = |name: &str, text: &str, expected: &str| {
        let file = TemporaryFile::new(name, text);
        let variable = [("TAILWATER_AUTH__JWT__KEY_FILE", file.text())];
        let error = errors(from_environment(&variable));
        let start = format!("TAILWATER_AUTH__JWT__KEY_FILE: auth.jwt.key_file is {}", file.text());
        assert!(error.starts_with(&start) && error.ends_with(expected), "{error}");
    };
    check("empty", "\n", ", which is empty");
    check("large", &"x".repeat(70_000), ", which is larger than 65536 bytes");
    let missing = errors(from_file("position_key_file: nowhere"));
    assert!(
        missing.starts_with(
            "conf/tailwater.yaml:1:20: position_key_file is conf/nowhere, which cannot be read: "
        ),
        "{missing}"
    );
}

#[test]
fn a_later_source_replaces_a_secret_and_its_file_alike() {
    let file = TemporaryFile::new("replaced", "mongodb://file\n");
    let yaml = format!("mongodb: {{ uri_file: {} }}", file.text());
    let environment = [("TAILWATER_MONGODB_URI", "mongodb://environment")];
    let config = load(&yaml, &environment, &CommonArgs::default()).unwrap();
    assert_eq!(config.mongodb.uri.expose(), "mongodb://environment");
}

#[test]
fn secrets_are_never_printed() {
    let file = format!(
        "mongodb: {{ uri: \"mongodb://nora:hush@db\" }}\nposition_key: {}\nauth:\n  jwt: {{ key: {KEY} }}\n  \
         basic: {{ create_user: {{ id: a, password: hush }} }}",
        "cafe".repeat(16)
    );
    let args = CommonArgs {
        mongodb_uri: Some("mongodb://nora:hush@flag".to_owned().into()),
        ..CommonArgs::default()
    };
    let config = load(&file, &[], &args).unwrap();
    for text in [format!("{config:?}"), format!("{:?}", config.effective()), format!("{args:?}")] {
        assert!(!text.contains("hush") && !text.contains("cafe"), "{text}");
    }
    assert_eq!(shown(&config, "position_key").0, "***");
}

#[test]
fn secrets_are_not_in_errors() {
    let check = |file: &str| {
        let text = errors(from_file(file));
        assert!(!text.contains("hush"), "{text}");
    };
    check("mongodb: { uri: hush }");
    check("mongodb: { uri: [hush] }");
    check("position_key: hush");
    check("auth: { jwt: { algorithm: RS256, key: hush } }");
    check("auth: { jwt: { key: hush, jwks: https://a } }");
    check("auth:\n  jwt: { key: hush\n  basic: }");
    check("auth: { jwt: { key: hush, key: hush } }");
    check("position_key: hush\nposition_key_file: x");
    let same = [("TAILWATER_MONGODB_URI", "mongodb://hush"), ("TAILWATER_MONGODB__URI", "hush")];
    assert!(!errors(from_environment(&same)).contains("hush"));
}
