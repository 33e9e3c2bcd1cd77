//! Any bytes as a document of permissions, and any text as a file of them: read or refused, and what is read
//! decides a request.
#![no_main]

use std::time::SystemTime;

use bson::Document;
use libfuzzer_sys::fuzz_target;
use tailwater::access::{Caller, Permissions, RawRequest, RequestHead, RequestKind};

fuzz_target!(|bytes: &[u8]| {
    let permissions = Permissions::new(None);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = permissions.replace_file(text);
    }
    if let Ok(document) = Document::from_reader(bytes) {
        permissions.replace(&[document]);
    }
    let request =
        RawRequest { method: "GET".to_owned(), path: "/a".to_owned(), ..RawRequest::default() };
    let Ok(head) = RequestHead::new(request, SystemTime::UNIX_EPOCH) else { return };
    permissions.decide(&Caller::Anonymous, &head, RequestKind::Stream);
});
