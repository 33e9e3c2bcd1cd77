use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bson::doc;
use sha2::{Digest, Sha256};

use super::{Authenticator, Realms, Standing};
use crate::access::hash::hash_password;
use crate::access::jwt::{JwtVerifier, sign_token};
use crate::access::principal::{Caller, Carrier, Mechanism};
use crate::access::realm::testing::TestRealm;
use crate::access::realm::{ApiKey, StoredPassword, User};
use crate::access::refusal::Refusal;
use crate::access::request::RequestHead;
use crate::access::support::{jwt, now, request};
use crate::access::tickets::{TicketKey, hex};
use crate::config::{
    ApiKeysConfig, AuthConfig, BasicConfig, BasicRealm, CacheConfig, CompatMode, CookieConfig,
    GuardConfig, Namespace, OriginsConfig, Secret, TokensConfig,
};

const CACHE: CacheConfig = CacheConfig { ttl: Some(Duration::from_secs(60)), size: 100 };
const REALM: &str = "Basic realm=\"RESTHeart Realm\"";

fn config() -> AuthConfig {
    AuthConfig {
        insecure_no_auth: false,
        tenant: "tenant".into(),
        realm: "RESTHeart Realm".into(),
        basic: Some(BasicConfig { realm: BasicRealm::File("users.yaml".into()), verified: CACHE }),
        jwt: Some(jwt()),
        api_keys: Some(ApiKeysConfig {
            prefix: "tw_".into(),
            namespace: Namespace { database: "restheart".into(), collection: "apiKeys".into() },
            prop_hash: "hash".into(),
            prop_principal: "user".into(),
            prop_roles: "roles".into(),
            prop_expires: "expiresAt".into(),
            cache: CACHE,
        }),
        cookie: Some(CookieConfig { name: "rh_auth".into() }),
        tokens: TokensConfig { basic: true, ttl: Duration::from_secs(900) },
        ticket_ttl: Duration::from_secs(30),
        expiry_notice: None,
        guard: None,
        origins: OriginsConfig {
            allow: Vec::new(),
            patterns: Vec::new(),
            allow_missing: true,
            ignore_paths: Vec::new(),
        },
    }
}

struct Fixture {
    users: Arc<TestRealm<User>>,
    keys: Arc<TestRealm<ApiKey>>,
    authenticator: Authenticator,
}

fn fixture_of(config: AuthConfig, compat: CompatMode) -> Fixture {
    let (users, keys) = (Arc::new(TestRealm::default()), Arc::new(TestRealm::default()));
    users.set("nora", Some(user("w1nter:ü", &["reader"])));
    keys.set(&key_hash("tw_abc"), Some(key(None)));
    let jwt = config.jwt.as_ref().map(|jwt| Arc::new(JwtVerifier::new(jwt).unwrap()));
    let realms = Realms { users: Some(users.clone()), keys: Some(keys.clone()), jwt };
    let authenticator = Authenticator::new(config, realms, TicketKey::random(), compat);
    Fixture { users, keys, authenticator }
}

fn fixture() -> Fixture {
    fixture_of(config(), CompatMode::Off)
}

fn user(password: &str, roles: &[&str]) -> User {
    User {
        password: StoredPassword::Hash(Secret::new(hash_password(password, 4).unwrap())),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        properties: doc! { "_id": "nora", "tenant": "acme" },
    }
}

fn key(expires_at: Option<std::time::SystemTime>) -> ApiKey {
    ApiKey { principal: "robot".into(), roles: vec!["feeds".into()], expires_at }
}

fn key_hash(key: &str) -> String {
    hex(&Sha256::digest(key))
}

fn with(value: &str) -> RequestHead {
    request("GET /a/b", &[("authorization", value)])
}

fn basic(user: &str, password: &str) -> RequestHead {
    with(&format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
}

fn token(user: &str, ttl: u64) -> String {
    let roles = ["reader".to_owned()];
    sign_token(&jwt(), user, &roles, Duration::from_secs(ttl), now()).unwrap()
}

impl Fixture {
    async fn ask(&self, head: &RequestHead) -> Result<Caller, Refusal> {
        self.authenticator.authenticate(head).await
    }

    #[track_caller]
    fn known(answer: Result<Caller, Refusal>) -> Arc<super::Principal> {
        match answer {
            Ok(Caller::Known(principal)) => principal,
            other => panic!("not known: {other:?}"),
        }
    }

    async fn principal(&self, head: &RequestHead) -> Arc<super::Principal> {
        Self::known(self.ask(head).await)
    }

    async fn refused(&self, head: &RequestHead) {
        let expected = Refusal::Unauthorized { challenges: vec![REALM.into()] };
        assert_eq!(self.ask(head).await, Err(expected));
    }
}

#[tokio::test]
async fn without_a_credential_nobody_in_particular_calls() {
    let fixture = fixture();
    assert_eq!(fixture.ask(&request("GET /a", &[])).await, Ok(Caller::Anonymous));
    assert_eq!(fixture.ask(&request("GET /a?access_token=x", &[])).await, Ok(Caller::Anonymous));
    assert_eq!(fixture.users.lookups.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn passwords() {
    let fixture = fixture();
    let nora = fixture.principal(&basic("nora", "w1nter:ü")).await;
    assert_eq!(
        (nora.id(), nora.roles(), nora.tenant()),
        ("nora", &["reader".to_owned()][..], Some("acme"))
    );
    assert_eq!((nora.mechanism(), nora.carrier()), (Mechanism::Password, Carrier::Basic));
    assert_eq!(nora.expires_at(), None);
    for (user, password) in
        [("nora", "w1nter"), ("nora", ""), ("bob", "w1nter:ü"), ("", ""), ("nora", "w1nter:ü\0")]
    {
        fixture.refused(&basic(user, password)).await;
    }
    fixture.refused(&basic("nora", &"a".repeat(2000))).await;
    fixture.refused(&basic(&"a".repeat(300), "a")).await;
}

#[tokio::test]
async fn a_checked_password_is_not_hashed_again() {
    let fixture = fixture();
    fixture.principal(&basic("nora", "w1nter:ü")).await;
    let user = fixture.users.entries.lock().unwrap()["nora"].clone();
    assert!(fixture.authenticator.passwords.is_verified("nora", "w1nter:ü", &user.password));
    fixture.users.set("nora", Some(self::user("other", &["reader"])));
    fixture.refused(&basic("nora", "w1nter:ü")).await;
}

#[tokio::test]
async fn what_is_no_credential_costs_nothing() {
    let fixture = fixture();
    let mut heads: Vec<RequestHead> =
        ["Basic !!!", "bearer x", "Bearer x", "Digest x", "Bearer a.b.c"].map(with).into();
    heads.push(with(&format!("Bearer {}x", token("nora", 60))));
    heads.push(basic("nora", &format!("{}x", token("nora", 60))));
    heads.push(request("GET /a?ticket=x", &[]));
    heads.push(request("GET /a", &[("cookie", "rh_auth=junk")]));
    heads.push(request("GET /a", &[("cookie", "rh_auth=Bearer_x")]));
    for head in heads {
        fixture.refused(&head).await;
    }
    let lookups = (&fixture.users.lookups, &fixture.keys.lookups);
    assert_eq!((lookups.0.load(Ordering::Relaxed), lookups.1.load(Ordering::Relaxed)), (0, 0));
}

#[tokio::test]
async fn tokens() {
    let fixture = fixture();
    let bearer = fixture.principal(&with(&format!("Bearer {}", token("nora", 60)))).await;
    assert_eq!((bearer.id(), bearer.mechanism()), ("nora", Mechanism::Token));
    assert_eq!(bearer.expires_at(), Some(now() + Duration::from_secs(60)));
    assert!(!bearer.is_expired(now()) && bearer.is_expired(now() + Duration::from_secs(60)));
    fixture.refused(&with(&format!("Bearer {}", token("nora", 0)))).await;
    let cookie = format!("rh_auth=Bearer_{}", token("nora", 60));
    let cookie = fixture.principal(&request("GET /a", &[("cookie", &cookie)])).await;
    assert_eq!(cookie.carrier(), Carrier::Cookie);
}

#[tokio::test]
async fn tokens_as_passwords() {
    let fixture = fixture();
    let nora = fixture.principal(&basic("nora", &token("nora", 60))).await;
    assert_eq!((nora.mechanism(), nora.carrier()), (Mechanism::Token, Carrier::Basic));
    fixture.refused(&basic("bob", &token("nora", 60))).await;
    fixture.refused(&basic("nora", &token("nora", 0))).await;
    let mut off = config();
    off.tokens.basic = false;
    fixture_of(off, CompatMode::Off).refused(&basic("nora", &token("nora", 60))).await;
}

#[tokio::test]
async fn api_keys() {
    let fixture = fixture();
    let robot = fixture.principal(&with("Bearer tw_abc")).await;
    assert_eq!((robot.id(), robot.roles()), ("robot", &["feeds".to_owned()][..]));
    assert_eq!(robot.properties(), &doc! { "_id": "robot" });
    fixture.refused(&with("Bearer tw_other")).await;
    for (expiry, expected) in [(now(), false), (now() + Duration::from_secs(1), true)] {
        fixture.keys.set(&key_hash("tw_abc"), Some(key(Some(expiry))));
        assert_eq!(fixture.ask(&with("Bearer tw_abc")).await.is_ok(), expected);
    }
    let mut off = config();
    off.api_keys = None;
    fixture_of(off, CompatMode::Off).refused(&with("Bearer tw_abc")).await;
}

#[tokio::test]
async fn tickets() {
    let fixture = fixture();
    let ttl = Duration::from_secs(30);
    let tickets = fixture.authenticator.tickets();
    let ticket = |head: &str, ticket: &str| request(&format!("GET {head}?ticket={ticket}"), &[]);
    for head in [
        basic("nora", "w1nter:ü"),
        with("Bearer tw_abc"),
        with(&format!("Bearer {}", token("nora", 60))),
    ] {
        let before = fixture.principal(&head).await;
        let issued = tickets.issue("/a/b", Some(&before), ttl, now()).unwrap();
        for _ in 0..2 {
            let after = fixture.principal(&ticket("/a/b", &issued.text)).await;
            assert_eq!(after.carrier(), Carrier::Ticket);
            assert_eq!(
                (after.id(), after.roles(), after.properties(), after.expires_at(), after.tenant()),
                (
                    before.id(),
                    before.roles(),
                    before.properties(),
                    before.expires_at(),
                    before.tenant()
                )
            );
        }
        fixture.refused(&ticket("/a/c", &issued.text)).await;
    }
    let nora = fixture.principal(&basic("nora", "w1nter:ü")).await;
    let issued = tickets.issue("/a/b", Some(&nora), ttl, now()).unwrap();
    fixture.users.set("nora", Some(user("w1nter:ü", &["reader"])));
    fixture.refused(&ticket("/a/b", &issued.text)).await;
    fixture.users.set("nora", None);
    fixture.refused(&ticket("/a/b", &issued.text)).await;
}

#[tokio::test]
async fn challenges_can_be_declined() {
    let fixture = fixture();
    let check = |line: &str, headers: &[(&str, &str)], expected: bool| {
        let challenges = fixture.authenticator.challenges(&request(line, headers));
        assert_eq!(challenges == [REALM], expected, "{line} {headers:?}");
    };
    check("GET /a", &[], true);
    check("GET /a", &[("No-Auth-Challenge", "")], false);
    check("GET /a?noauthchallenge", &[], false);
    check("GET /a?noauthchallenge=true", &[], false);
    let mut bearer_only = config();
    bearer_only.tokens.basic = false;
    let realms = Realms::default();
    let only = Authenticator::new(bearer_only, realms, TicketKey::random(), CompatMode::Off);
    assert_eq!(only.challenges(&request("GET /a", &[])), [""; 0]);
    let refused = fixture.ask(&request("GET /a?noauthchallenge", &[("authorization", "x")])).await;
    assert_eq!(refused, Err(Refusal::Unauthorized { challenges: Vec::new() }));
}

#[tokio::test]
async fn restheart_takes_a_bad_credential_for_none() {
    let fixture = fixture_of(config(), CompatMode::Restheart);
    assert_eq!(fixture.ask(&basic("nora", "wrong")).await, Ok(Caller::Anonymous));
    assert_eq!(fixture.ask(&with("Bearer x")).await, Ok(Caller::Anonymous));
    fixture.principal(&basic("nora", "w1nter:ü")).await;
    fixture.users.is_down.store(true, Ordering::Relaxed);
    assert_eq!(fixture.ask(&basic("nora", "w1nter:ü")).await, Ok(Caller::Anonymous));
}

#[tokio::test]
async fn when_users_cannot_be_read_nobody_is_blamed() {
    let fixture = fixture();
    fixture.users.is_down.store(true, Ordering::Relaxed);
    fixture.keys.is_down.store(true, Ordering::Relaxed);
    for head in [basic("nora", "w1nter:ü"), with("Bearer tw_abc")] {
        let answer = fixture.ask(&head).await.unwrap_err();
        assert_eq!((answer.status(), answer.retry_after()), (503, Some(super::RETRY_AFTER)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_sixth_attempt_is_turned_away() {
    let mut config = config();
    config.guard = Some(GuardConfig { failures: 5, window: Duration::from_secs(10) });
    let fixture = fixture_of(config, CompatMode::Off);
    let late = with(&format!("Bearer {}", token("nora", 0)));
    for _ in 0..20 {
        fixture.refused(&late).await;
        assert!(fixture.ask(&request("GET /a", &[])).await.is_ok());
    }
    for _ in 0..5 {
        fixture.refused(&with("Bearer x")).await;
    }
    let right = basic("nora", "w1nter:ü");
    assert_eq!(fixture.ask(&right).await.unwrap_err().status(), 429);
    assert_eq!(fixture.ask(&request("GET /a", &[])).await, Ok(Caller::Anonymous));
    let preflight = request("OPTIONS /a", &[("authorization", "Bearer x")]);
    assert_eq!(fixture.ask(&preflight).await.unwrap_err().status(), 401);
    tokio::time::advance(Duration::from_secs(11)).await;
    fixture.principal(&right).await;
}

#[tokio::test]
async fn guessing_does_not_lock_out_who_was_in() {
    let mut config = config();
    config.guard = Some(GuardConfig { failures: 1, window: Duration::from_secs(600) });
    let fixture = fixture_of(config, CompatMode::Off);
    fixture.principal(&basic("nora", "w1nter:ü")).await;
    for _ in 0..10 {
        fixture.authenticator.note_failure_for_tests("nora");
    }
    fixture.principal(&basic("nora", "w1nter:ü")).await;
    assert_eq!(fixture.ask(&basic("nora", "guess")).await.unwrap_err().status(), 429);
}

impl Authenticator {
    fn note_failure_for_tests(&self, user: &str) {
        let key = super::Key::User(user.to_owned());
        self.guard.as_ref().unwrap().failed(key, super::Instant::now());
    }
}

#[tokio::test]
async fn open_sessions_are_held_against_what_is_stored() {
    let fixture = fixture();
    let recheck =
        async |principal: &super::Principal| fixture.authenticator.recheck(principal, now()).await;
    let nora = fixture.principal(&basic("nora", "w1nter:ü")).await;
    assert_eq!(recheck(&nora).await, Standing::Same);
    let stored = fixture.users.entries.lock().unwrap()["nora"].clone();
    fixture.users.set("nora", Some(User { roles: vec!["ops".into()], ..(*stored).clone() }));
    let Standing::Changed(changed) = recheck(&nora).await else { panic!("not changed") };
    assert_eq!((changed.roles(), changed.carrier()), (&["ops".to_owned()][..], Carrier::Basic));
    fixture.users.is_down.store(true, Ordering::Relaxed);
    assert_eq!(recheck(&nora).await, Standing::Unknown);
    fixture.users.is_down.store(false, Ordering::Relaxed);
    fixture.users.set("nora", Some(user("w1nter:ü", &["reader"])));
    assert_eq!(recheck(&nora).await, Standing::Ended);
    fixture.users.set("nora", None);
    assert_eq!(recheck(&nora).await, Standing::Ended);
    let token = fixture.principal(&with(&format!("Bearer {}", token("nora", 60)))).await;
    assert_eq!(recheck(&token).await, Standing::Same);
    let later = now() + Duration::from_secs(60);
    assert_eq!(fixture.authenticator.recheck(&token, later).await, Standing::Ended);
    let robot = fixture.principal(&with("Bearer tw_abc")).await;
    assert_eq!(recheck(&robot).await, Standing::Same);
    fixture.keys.set(&key_hash("tw_abc"), None);
    assert_eq!(recheck(&robot).await, Standing::Ended);
}

#[tokio::test]
async fn shows_no_secret() {
    let fixture = fixture();
    let nora = fixture.principal(&basic("nora", "w1nter:ü")).await;
    let shown = format!("{:?} {nora:?}", fixture.authenticator);
    assert!(!shown.contains("w1nter") && !shown.contains("secret of") && !shown.contains("acme"));
}
