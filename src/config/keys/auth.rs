use crate::config::key::{Key, Kind};

const HOUR: u64 = 3_600_000;
const CACHED: Kind = Kind::Duration { min: 1, max: 24 * HOUR, off: true };
const CACHE_SIZE: Kind = Kind::Count { min: 1, max: 10_000_000, off: false };

/// The names of algorithms, the way `auth.jwt.algorithm` spells them.
const ALGORITHMS: Kind = Kind::Choice(&[
    "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256",
    "ES384", "EdDSA", "HMAC256", "HMAC384", "HMAC512", "RSA256", "RSA384", "RSA512",
]);

pub(crate) const KEYS: &[Key] = &[
    Key::new(
        "auth.insecure_no_auth",
        Kind::Flag,
        "Every caller may do everything. Only behind something else that decides, or on loopback.",
    )
    .default("false")
    .flag("--insecure-no-auth")
    .short("TAILWATER_INSECURE_NO_AUTH"),
    Key::new(
        "auth.tenant",
        Kind::Text,
        "User property or JWT claim that names the caller's tenant, a dotted path.",
    )
    .default("tenant"),
    Key::new("auth.realm", Kind::Text, "Realm named in the Basic challenge.")
        .default("RESTHeart Realm"),
    Key::new("auth.basic", Kind::Switch, "User name and password (HTTP Basic).").default("true"),
    Key::new(
        "auth.basic.file",
        Kind::Path,
        "File of users (`users:` with `userid`, `password`, `roles`) instead of a collection.",
    )
    .example("users.yaml"),
    Key::new("auth.basic.database", Kind::Text, "Database of the users.").default("restheart"),
    Key::new("auth.basic.collection", Kind::Text, "Collection of the users.").default("users"),
    Key::new("auth.basic.prop_id", Kind::Text, "Property that is the user name, a dotted path.")
        .default("_id"),
    Key::new("auth.basic.prop_password", Kind::Text, "Property that is the password.")
        .default("password"),
    Key::new("auth.basic.json_path_roles", Kind::Text, "JSON path of the list of roles.")
        .default("$.roles"),
    Key::new(
        "auth.basic.bcrypt_hashed_password",
        Kind::Flag,
        "Whether passwords are bcrypt hashes; false compares them as plain text.",
    )
    .default("true"),
    Key::new(
        "auth.basic.bcrypt_complexity",
        Kind::Count { min: 4, max: 20, off: false },
        "Cost of the hashes that Tailwater makes.",
    )
    .default("12"),
    Key::new("auth.basic.cache.ttl", CACHED, "How long a user read from MongoDB is remembered.")
        .default("off"),
    Key::new("auth.basic.cache.size", CACHE_SIZE, "Users remembered.").default("1000"),
    Key::new(
        "auth.basic.verified.ttl",
        CACHED,
        "How long a checked password, as a keyed digest, spares its next check.",
    )
    .default("20m"),
    Key::new("auth.basic.verified.size", CACHE_SIZE, "Checked passwords remembered.")
        .default("1000"),
    Key::new(
        "auth.basic.create_user",
        Kind::Switch,
        "A first user, inserted when the collection of users is empty.",
    )
    .default("false"),
    Key::new("auth.basic.create_user.id", Kind::Text, "Its name.").example("admin"),
    Key::new("auth.basic.create_user.password", Kind::Secret, "Its password, stored as a hash.")
        .example("change-me"),
    Key::new(
        "auth.basic.create_user.password_file",
        Kind::Path,
        "File that holds `auth.basic.create_user.password`.",
    )
    .example("/run/secrets/first_password"),
    Key::new("auth.basic.create_user.roles", Kind::List, "Its roles.").default("[admin]"),
    Key::new("auth.jwt", Kind::Switch, "Bearer tokens (JSON Web Tokens).").default("false"),
    Key::new(
        "auth.jwt.algorithm",
        ALGORITHMS,
        "The one algorithm accepted; `HMAC256` and `RSA256` are other names of `HS256` and `RS256`.",
    )
    .default("HS256"),
    Key::new(
        "auth.jwt.key",
        Kind::Secret,
        "For HS the shared secret, its bytes as written; else a public key or certificate, PEM or the base64 of DER.",
    )
    .example("a secret of at least 32 characters"),
    Key::new("auth.jwt.key_file", Kind::Path, "File that holds `auth.jwt.key`.")
        .example("/run/secrets/jwt_key"),
    Key::new(
        "auth.jwt.key_encoding",
        Kind::Choice(&["text", "base64"]),
        "Whether the bytes of a shared secret are its text as written, or what the text is the base64 of.",
    )
    .default("text"),
    Key::new(
        "auth.jwt.second_key",
        Kind::Secret,
        "A key of the same kind that holds as well: the one before or the one to come, while keys are changed.",
    )
    .example("another secret of at least 32 characters"),
    Key::new("auth.jwt.second_key_file", Kind::Path, "File that holds `auth.jwt.second_key`.")
        .example("/run/secrets/jwt_second_key"),
    Key::new("auth.jwt.jwks", Kind::Text, "URL of a JSON Web Key Set, instead of `auth.jwt.key`.")
        .example("https://login.example/.well-known/jwks.json"),
    Key::new("auth.jwt.jwks_file", Kind::Path, "File that is the key set, instead of a URL.")
        .example("jwks.json"),
    Key::new(
        "auth.jwt.jwks_ca_file",
        Kind::Path,
        "PEM file of the certificates to trust for that URL, in place of the machine's.",
    )
    .example("/etc/ssl/company-ca.pem"),
    Key::new(
        "auth.jwt.jwks_refresh",
        Kind::Duration { min: 1000, max: 24 * HOUR, off: false },
        "How often the key set is read again; an unknown key id reads it at once.",
    )
    .default("10m"),
    Key::new("auth.jwt.issuer", Kind::Text, "Required `iss`; absent: not checked.")
        .nullable()
        .example("app.example"),
    Key::new(
        "auth.jwt.audience",
        Kind::List,
        "One or several names of which `aud` must hold one; absent: not checked.",
    )
    .nullable()
    .example("[app]"),
    Key::new("auth.jwt.username_claim", Kind::Text, "Claim that is the user name.").default("sub"),
    Key::new("auth.jwt.roles_claim", Kind::Text, "Claim that is the list of roles.")
        .default("roles")
        .nullable(),
    Key::new("auth.jwt.fixed_roles", Kind::List, "Roles that every token gets besides.")
        .default("[]"),
    Key::new(
        "auth.jwt.base64_encoded",
        Kind::Flag,
        "Whether the whole token is base64url-encoded once more.",
    )
    .default("false"),
    Key::new(
        "auth.tokens.basic",
        Kind::Flag,
        "Whether a token is accepted as the password of its own user in HTTP Basic.",
    )
    .default("true"),
    Key::new(
        "auth.tokens.ttl",
        Kind::Duration { min: 1000, max: 366 * 24 * HOUR, off: false },
        "Life of a token made by `tailwater token`.",
    )
    .default("15m"),
    Key::new(
        "auth.tickets.ttl",
        Kind::Duration { min: 1000, max: HOUR, off: false },
        "Time in which a ticket of `/_/tickets` must be used.",
    )
    .default("30s"),
    Key::new(
        "auth.expiry_notice",
        Kind::Duration { min: 1000, max: HOUR, off: true },
        "How long before its token ends an open connection says `expiring`.",
    )
    .default("60s"),
    Key::new(
        "auth.cookie",
        Kind::Switch,
        "Credentials in a cookie, taken when there is no `Authorization` header.",
    )
    .default("true"),
    Key::new("auth.cookie.name", Kind::Text, "Name of the cookie.").default("rh_auth"),
    Key::new("auth.api_keys", Kind::Switch, "Bearer keys kept in a collection.").default("false"),
    Key::new("auth.api_keys.prefix", Kind::Text, "What every key starts with; required.")
        .example("tw_"),
    Key::new("auth.api_keys.database", Kind::Text, "Database of the keys.").default("restheart"),
    Key::new("auth.api_keys.collection", Kind::Text, "Collection of the keys.").default("apiKeys"),
    Key::new("auth.api_keys.prop_hash", Kind::Text, "Property that is the SHA-256 of the key.")
        .default("hash"),
    Key::new("auth.api_keys.prop_principal", Kind::Text, "Property that is the user name.")
        .default("user"),
    Key::new("auth.api_keys.prop_roles", Kind::Text, "Property that is the list of roles.")
        .default("roles"),
    Key::new("auth.api_keys.prop_expires", Kind::Text, "Property that is the date of expiry.")
        .default("expiresAt"),
    Key::new("auth.api_keys.cache.ttl", CACHED, "How long a key is remembered.").default("60s"),
    Key::new("auth.api_keys.cache.size", CACHE_SIZE, "Keys remembered.").default("1000"),
    Key::new("auth.guard", Kind::Switch, "Answers `429` to an address that keeps failing.")
        .default("false"),
    Key::new(
        "auth.guard.failures",
        Kind::Count { min: 1, max: 1_000_000, off: false },
        "Credentials that did not hold within the window, which are tolerated.",
    )
    .default("5"),
    Key::new(
        "auth.guard.window",
        Kind::Duration { min: 100, max: HOUR, off: false },
        "Time over which they are counted.",
    )
    .default("10s"),
    Key::new(
        "auth.origins.allow",
        Kind::List,
        "Web origins (`scheme://host:port`) let in. With no list all are; cookies then need the same origin.",
    )
    .default("[]")
    .example("[https://app.example]"),
    Key::new("auth.origins.patterns", Kind::List, "The same, with `*` for any characters, else as in regular expressions.")
        .default("[]")
        .example(r#"["https://*.app.example"]"#),
    Key::new(
        "auth.origins.allow_missing",
        Kind::Flag,
        "Whether requests without an `Origin` header pass the lists.",
    )
    .default("true"),
    Key::new("auth.origins.ignore_paths", Kind::List, "Path templates the lists do not apply to.")
        .default("[]")
        .example(r#"["/public/{*}"]"#),
    Key::new("acl", Kind::Switch, "Permissions; without them nobody may do anything.")
        .default("true"),
    Key::new(
        "acl.file",
        Kind::Path,
        "File of permissions (`permissions:`) instead of a collection; `root_role` is then null by default.",
    )
    .example("acl.yaml"),
    Key::new("acl.database", Kind::Text, "Database of the permissions.").default("restheart"),
    Key::new("acl.collection", Kind::Text, "Collection of the permissions.").default("acl"),
    Key::new(
        "acl.also_file",
        Kind::Path,
        "File of permissions that are asked after those of the collection, when none of them matches.",
    )
    .example("more-permissions.yaml"),
    Key::new("acl.root_role", Kind::Text, "Role that may do everything, unfiltered.")
        .default("admin")
        .nullable(),
    Key::new(
        "acl.semantics",
        Kind::Choice(&["v9.12", "legacy"]),
        "Which of several matching permissions counts: `v9.12` the highest priority over all roles, `legacy` the \
         first role's.",
    )
    .default("v9.12"),
    Key::new("acl.cache.ttl", CACHED, "How often permissions are read again where MongoDB does not let them be watched.")
        .default("5s"),
    Key::new("acl.cache.size", CACHE_SIZE, "Accepted as RESTHeart's setting; all permissions are kept.")
        .default("1000"),
];
