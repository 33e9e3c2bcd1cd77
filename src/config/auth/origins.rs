use crate::config::settings::Settings;

/// Which web origins may call. With neither list every origin may, except with a cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginsConfig {
    /// `scheme://host:port`, in lower case, without a slash at the end.
    pub allow: Vec<String>,
    /// The same, with `*` for any characters, else as in regular expressions.
    pub patterns: Vec<String>,
    /// Whether requests without an `Origin` header pass the lists.
    pub allow_missing: bool,
    /// Path templates the lists do not apply to.
    pub ignore_paths: Vec<String>,
}

impl OriginsConfig {
    pub(super) fn read(settings: &mut Settings) -> Self {
        Self {
            allow: origins(settings, "auth.origins.allow", false),
            patterns: origins(settings, "auth.origins.patterns", true),
            allow_missing: settings.flag("auth.origins.allow_missing"),
            ignore_paths: paths(settings, "auth.origins.ignore_paths"),
        }
    }
}

fn origins(settings: &mut Settings, key: &str, patterns: bool) -> Vec<String> {
    let mut origins = settings.list(key);
    for origin in &mut origins {
        *origin = origin.trim_end_matches('/').to_ascii_lowercase();
        // A browser sends no path, so that an origin with one would never match.
        let host = origin.split_once("://").map(|(_, host)| host);
        let usable = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
        if !usable || (!patterns && origin.contains('*')) {
            let remedy = if patterns { "https://*.app.example" } else { "https://app.example" };
            settings.refuse_set(key, format!("holds `{origin}`; write origins like {remedy}"));
        }
    }
    origins
}

fn paths(settings: &mut Settings, key: &str) -> Vec<String> {
    let paths = settings.list(key);
    for path in paths.iter().filter(|path| !path.starts_with('/')) {
        settings.refuse_set(key, format!("holds `{path}`; paths start with a slash"));
    }
    paths
}
