//! Any request target and credential: the path that permissions see is one that nobody reads in two ways, and what
//! is presented is never shown.
#![no_main]

use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use tailwater::access::{RawRequest, RequestHead};

fuzz_target!(|input: (&str, Option<&str>, &str, &str)| {
    let (path, query, authorization, cookie) = input;
    let headers = [("Authorization", authorization), ("cookie", cookie), ("host", cookie)];
    let raw = RawRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.map(str::to_owned),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..RawRequest::default()
    };
    let Ok(head) = RequestHead::new(raw, SystemTime::now()) else { return };
    let plain =
        |segment: &str| segment != "." && segment != ".." && !segment.contains([';', '\\', '\0']);
    assert!(head.path().starts_with('/') && !head.path().contains("//"), "{}", head.path());
    assert!(head.path().split('/').all(plain), "{}", head.path());
    assert!(head.parameters("ticket").next().is_none(), "a ticket stays out of the query");
    drop((head.cookie("rh_auth"), head.server_name()));
    let later = head.presenting("Bearer x", SystemTime::now());
    assert_eq!(later.headers("authorization").collect::<Vec<_>>(), ["Bearer x"]);
});
