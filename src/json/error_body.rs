//! The body of an error response, as RESTHeart's clients expect it.

use super::mode::JsonMode;
use super::number::write_display;
use super::text::write_text;

/// `{"http status code": 404, "http status description": "Not Found", "message": "…"}`, the keys
/// always in this order.
///
/// In `message` a double quote becomes a single one and a tab two spaces. The code is written as
/// `mode` writes a 32-bit integer.
pub fn error_body(status: u16, description: &str, message: &str, mode: JsonMode) -> String {
    let message = message.replace('"', "'").replace('\t', "  ");
    let mut out = Vec::with_capacity(96 + message.len());
    out.extend_from_slice(b"{\"http status code\": ");
    match mode {
        JsonMode::Extended => {
            write_display(format_args!("{{\"$numberInt\": \"{status}\"}}"), &mut out);
        }
        _ => write_display(status, &mut out),
    }
    out.extend_from_slice(b", \"http status description\": ");
    write_text(description.as_bytes(), &mut out);
    out.extend_from_slice(b", \"message\": ");
    write_text(message.as_bytes(), &mut out);
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order() {
        let body = error_body(404, "Not Found", "no such stream", JsonMode::Default);
        let wanted = "{\"http status code\": 404, \"http status description\": \"Not Found\", \
                      \"message\": \"no such stream\"}";
        assert_eq!(body, wanted);
    }

    #[test]
    fn the_code_follows_the_mode() {
        let modes = [JsonMode::Default, JsonMode::Relaxed, JsonMode::Strict, JsonMode::Shell];
        for mode in modes {
            let body = error_body(400, "Bad Request", "", mode);
            assert!(body.starts_with("{\"http status code\": 400, "), "{mode:?}");
        }
        let body = error_body(400, "Bad Request", "", JsonMode::Extended);
        assert!(body.starts_with("{\"http status code\": {\"$numberInt\": \"400\"}, "));
    }

    #[test]
    fn any_message_is_one_line_of_json() {
        let cases = [
            ("say \"x\"\tnow", "say 'x'  now"),
            ("a\r\nb\0", "a\r\nb\0"),
            ("\\ \u{2028} 😀", "\\ \u{2028} 😀"),
        ];
        for (message, wanted) in cases {
            let body = error_body(500, "Oops\n", message, JsonMode::Default);
            assert!(!body.contains(['\n', '\r', '\0', '\t', '\u{2028}']), "{body}");
            let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(parsed["message"], wanted);
        }
    }
}
