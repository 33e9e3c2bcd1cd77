//! Who keeps asking for what it may not have, as a client does that reconnects without a pause: told to
//! wait before anything is looked up.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ahash::RandomState;
use axum::{extract::Request, http::header};
use tokio::time::Instant;

use super::head;
use crate::{
    access::{Memory, network},
    config::TrustedProxies,
};

/// Refusals are counted for this long from the first one.
const WINDOW: Duration = Duration::from_secs(60);

/// Sources remembered. Beyond, those that were quiet longest are forgotten.
const MOST_SOURCES: usize = 10_000;

/// What each source was refused lately. A source is an address with a credential, so that nobody
/// suffers for others behind the same address.
#[derive(Debug)]
pub struct Refusals {
    /// `None` sets no bound.
    most: Option<usize>,
    proxies: TrustedProxies,
    hasher: RandomState,
    seen: Mutex<Memory<u64, Count>>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    since: Instant,
    refused: usize,
}

impl Refusals {
    /// Nobody was refused yet.
    pub fn new(most: Option<usize>, proxies: TrustedProxies) -> Self {
        let (hasher, seen) = (RandomState::new(), Mutex::new(Memory::new(WINDOW, MOST_SOURCES)));
        Self { most, proxies, hasher, seen }
    }

    /// A stand-in for the source: neither address nor credential is kept.
    pub(super) fn source(&self, request: &Request) -> u64 {
        let mut state = self.hasher.build_hasher();
        let client = head::client(request.headers(), request.extensions(), &self.proxies);
        client.map(|client| network(client.ip())).hash(&mut state);
        for name in [header::AUTHORIZATION, header::COOKIE] {
            let values = request.headers().get_all(name);
            values.iter().for_each(|value| value.as_bytes().hash(&mut state));
        }
        state.finish()
    }

    pub(super) fn is_over(&self, source: u64, now: Instant) -> bool {
        let Some(most) = self.most else { return false };
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seen.get(&source, now).copied();
        count.is_some_and(|count| count.refused >= most && now < count.since + WINDOW)
    }

    pub(super) fn refused(&self, source: u64, now: Instant) {
        if self.most.is_none() {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seen.take(&source, now).filter(|count| now < count.since + WINDOW);
        let mut count = count.unwrap_or(Count { since: now, refused: 0 });
        count.refused += 1;
        seen.insert(source, count, now);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn refusals(most: Option<usize>) -> Refusals {
        Refusals::new(most, TrustedProxies::default())
    }

    #[test]
    fn a_source_is_over_for_the_rest_of_its_minute() {
        let (refusals, start) = (refusals(Some(3)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for seconds in [0, 20, 40] {
            assert!(!refusals.is_over(1, at(seconds)));
            refusals.refused(1, at(seconds));
        }
        assert!(refusals.is_over(1, at(40)) && refusals.is_over(1, at(59)));
        assert!(!refusals.is_over(2, at(40)) && !refusals.is_over(1, at(60)));
        refusals.refused(1, at(61));
        assert!(!refusals.is_over(1, at(61)), "counted anew");
    }

    #[test]
    fn without_a_bound_nothing_is_counted() {
        let (refusals, now) = (refusals(None), Instant::now());
        (0..10_000).for_each(|_| refusals.refused(1, now));
        assert!(!refusals.is_over(1, now));
    }

    #[test]
    fn a_source_is_an_address_with_a_credential() {
        let refusals = refusals(Some(1));
        let source = |address: &str, headers: &[(&str, &str)]| {
            let mut request = Request::builder().uri("/x");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let mut request = request.body(axum::body::Body::empty()).unwrap();
            let peer: IpAddr = address.parse().unwrap();
            request.extensions_mut().insert(crate::http::server::Peer((peer, 1).into()));
            refusals.source(&request)
        };
        let ann = [("authorization", "Basic YW5uOng=")];
        let same = [
            (source("192.0.2.1", &ann), source("::ffff:192.0.2.1", &ann)),
            (source("2001:db8::1", &[]), source("2001:db8::2", &[])),
            (source("192.0.2.1", &[("x-forwarded-for", "1.2.3.4")]), source("192.0.2.1", &[])),
        ];
        assert!(same.iter().all(|(one, other)| one == other));
        let (here, there) = (source("192.0.2.1", &ann), source("192.0.2.2", &ann));
        let (other, none) =
            (source("192.0.2.1", &[("cookie", "rh_auth=x")]), source("192.0.2.1", &[]));
        assert!(here != there && here != other && here != none && other != none);
    }
}
