//! How many may be connected at once: in all, of one principal, of one address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{error::ApiError, target};
use crate::{
    config::{LimitsConfig, TrustedProxies},
    telemetry::{Cap, Telemetry},
};

/// Who is connected. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Caps(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connections: usize,
    per_principal: Option<usize>,
    per_address: Option<usize>,
    proxies: TrustedProxies,
    telemetry: Telemetry,
    /// Connections of sockets, and streams that are served over them.
    sockets: Table,
    streams: Table,
}

/// A place that is taken until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    caps: Caps,
    table: fn(&Shared) -> &Table,
    keys: Vec<Key>,
}

#[derive(Debug, Default)]
struct Table(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_key: HashMap<Key, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Principal(String),
    /// Somebody whom no credential names.
    Stranger(IpAddr),
    Address(IpAddr),
}

/// Put on requests of a connection that is one too many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crowded(pub(super) Cap);

impl Caps {
    /// Nobody is connected yet.
    pub fn new(limits: &LimitsConfig, proxies: TrustedProxies, telemetry: Telemetry) -> Self {
        Self(Arc::new(Shared {
            connections: limits.connections,
            per_principal: limits.per_principal,
            per_address: limits.per_address,
            proxies,
            telemetry,
            sockets: Table::default(),
            streams: Table::default(),
        }))
    }

    /// A socket was accepted. What a trusted proxy brings is counted by the addresses that it names.
    pub(super) fn connect(&self, address: IpAddr) -> Result<Seat, Cap> {
        let address = address.to_canonical();
        let keys =
            if self.0.proxies.contains(address) { vec![] } else { vec![Key::Address(address)] };
        self.take(|shared| &shared.sockets, keys)
    }

    /// A stream is about to be opened.
    pub(crate) fn open(
        &self,
        principal: Option<&str>,
        address: Option<IpAddr>,
    ) -> Result<Seat, ApiError> {
        let address = address.map(|address| address.to_canonical());
        let who = match (principal, address) {
            (Some(principal), _) => Some(Key::Principal(principal.to_owned())),
            (None, address) => address.map(Key::Stranger),
        };
        let keys = who.into_iter().chain(address.map(Key::Address)).collect();
        self.take(|shared| &shared.streams, keys).map_err(|cap| {
            self.0.telemetry.refused(cap);
            ApiError::Capped(cap)
        })
    }

    fn take(&self, table: fn(&Shared) -> &Table, keys: Vec<Key>) -> Result<Seat, Cap> {
        let mut taken = table(&self.0).lock();
        if taken.total >= self.0.connections {
            return Err(Cap::Connections);
        }
        let full = |key: &&Key| {
            let limit = self.0.limit(key);
            limit.is_some_and(|limit| taken.by_key.get(key).is_some_and(|count| *count >= limit))
        };
        if let Some(key) = keys.iter().find(full) {
            return Err(key.cap());
        }
        taken.total += 1;
        for key in &keys {
            *taken.by_key.entry(key.clone()).or_default() += 1;
        }
        drop(taken);
        Ok(Seat { caps: self.clone(), table, keys })
    }
}

impl Shared {
    fn limit(&self, key: &Key) -> Option<usize> {
        match key.cap() {
            Cap::Address => self.per_address,
            _ => self.per_principal,
        }
    }
}

impl Key {
    fn cap(&self) -> Cap {
        match self {
            Self::Principal(_) | Self::Stranger(_) => Cap::Principal,
            Self::Address(_) => Cap::Address,
        }
    }
}

impl Table {
    fn lock(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = (self.table)(&self.caps.0).lock();
        taken.total -= 1;
        for key in &self.keys {
            if let Some(count) = taken.by_key.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    taken.by_key.remove(key);
                }
            }
        }
    }
}

/// Answers requests of connections that are one too many, but for probes of health.
pub(super) async fn turn_away(
    axum::extract::State(caps): axum::extract::State<Caps>,
    request: Request,
    next: Next,
) -> Response {
    let crowded = request.extensions().get::<Crowded>().copied();
    match crowded {
        Some(Crowded(cap)) if !target::is_probe(request.uri().path()) => {
            caps.0.telemetry.refused(cap);
            let mut response = ApiError::Capped(cap).into_response();
            let close = axum::http::HeaderValue::from_static("close");
            response.headers_mut().insert(axum::http::header::CONNECTION, close);
            response
        }
        _ => next.run(request).await,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn caps(yaml: &str) -> Caps {
        let config = Config::from_yaml(Path::new("t.yaml"), yaml).unwrap();
        Caps::new(&config.limits, config.listen.trusted_proxies, Telemetry::default())
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Opens one after the other, holding all; gives what stood in the way of each.
    fn check(caps: &Caps, rows: &[(Option<&str>, &str, Option<Cap>)]) {
        let mut held = Vec::new();
        for (principal, address, expected) in rows {
            let seat = caps.open(*principal, Some(ip(address)));
            let refused = match seat {
                Ok(seat) => {
                    held.push(seat);
                    None
                }
                Err(ApiError::Capped(cap)) => Some(cap),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(refused, *expected, "{principal:?} {address}");
        }
    }

    #[test]
    fn each_cap_counts_its_own() {
        let principals = caps("limits: { per_principal: 2 }");
        // Twice: places are free again once they are left.
        for _ in 0..2 {
            check(
                &principals,
                &[
                    (Some("a"), "10.0.0.1", None),
                    (Some("a"), "10.0.0.2", None),
                    (Some("a"), "10.0.0.3", Some(Cap::Principal)),
                    (Some("b"), "10.0.0.3", None),
                    (None, "10.0.0.3", None),
                    (None, "::ffff:10.0.0.3", None),
                    (None, "10.0.0.3", Some(Cap::Principal)),
                    (None, "10.0.0.4", None),
                ],
            );
        }
        check(
            &caps("limits: { per_address: 1 }"),
            &[
                (Some("a"), "10.0.0.1", None),
                (Some("b"), "::ffff:10.0.0.1", Some(Cap::Address)),
                (Some("a"), "10.0.0.2", None),
            ],
        );
        check(
            &caps("limits: { connections: 1, per_principal: 1 }"),
            &[(Some("a"), "10.0.0.1", None), (Some("a"), "10.0.0.1", Some(Cap::Connections))],
        );
    }

    /// Sockets of a trusted proxy belong to many clients.
    #[test]
    fn a_trusted_proxy_is_no_client() {
        let caps = caps("limits: { per_address: 1 }\ntrusted_proxies: [10.0.0.0/8]");
        let proxy = [caps.connect(ip("10.0.0.1")), caps.connect(ip("::ffff:10.0.0.1"))];
        assert!(proxy.iter().all(Result::is_ok));
        let client = caps.connect(ip("192.0.2.1"));
        assert!(client.is_ok());
        assert_eq!(caps.connect(ip("192.0.2.1")).unwrap_err(), Cap::Address);
        drop(client);
        assert!(caps.connect(ip("192.0.2.1")).is_ok());
    }
}
