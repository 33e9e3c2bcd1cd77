//! Any text as a permission's predicate: read or refused, and what is read decides any request, for strangers
//! and without a panic or unbounded time.
#![no_main]

use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use tailwater::access::{Caller, Predicate, RawRequest, RequestHead};

fuzz_target!(|input: (&str, &str, &str)| {
    let (predicate, path, query) = input;
    let Ok(predicate) = Predicate::parse(predicate) else { return };
    let request = RawRequest {
        method: "GET".to_owned(),
        path: format!("/{path}"),
        query: Some(query.to_owned()),
        headers: vec![("x-a".to_owned(), query.to_owned())],
        ..RawRequest::default()
    };
    let Ok(head) = RequestHead::new(request, SystemTime::UNIX_EPOCH) else { return };
    let first = predicate.matches(&head, &Caller::Anonymous);
    assert_eq!(first, predicate.matches(&head, &Caller::Anonymous));
});
