//! JSON strings out of bytes that may hold anything.

/// Appends `bytes` as a quoted JSON string; invalid UTF-8 becomes U+FFFD.
///
/// The result holds no control character and no line separator (U+2028, U+2029), so that a value
/// can neither end a line of an event stream nor break a script.
pub(super) fn write_text(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    write_escaped(bytes, out);
    out.push(b'"');
}

/// [`write_text`] without the quotes.
pub(super) fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    if std::str::from_utf8(bytes).is_ok() {
        return escape(bytes, out);
    }
    for chunk in bytes.utf8_chunks() {
        escape(chunk.valid().as_bytes(), out);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// Copies runs of ordinary bytes whole; only a byte of [`SUSPECT`] costs a closer look.
fn escape(utf8: &[u8], out: &mut Vec<u8>) {
    let mut rest = utf8;
    while let Some(at) = rest.iter().position(|byte| SUSPECT[usize::from(*byte)]) {
        let (ordinary, suspect) = rest.split_at(at);
        out.extend_from_slice(ordinary);
        rest = write_suspect(suspect, out);
    }
    out.extend_from_slice(rest);
}

/// Writes the character that `utf8` begins with, or its first byte when that is harmless, and
/// returns what follows.
fn write_suspect<'a>(utf8: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    match utf8 {
        [byte @ (0..=0x1F | b'"' | b'\\' | 0x7F), rest @ ..] => {
            write_escape(*byte, out);
            rest
        }
        [0xC2, byte @ 0x80..=0x9F, rest @ ..] => {
            write_unicode(u16::from(*byte), out);
            rest
        }
        [0xE2, 0x80, byte @ 0xA8..=0xA9, rest @ ..] => {
            write_unicode(0x2000 | u16::from(byte & 0x3F), out);
            rest
        }
        [byte, rest @ ..] => {
            out.push(*byte);
            rest
        }
        [] => utf8,
    }
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => return write_unicode(u16::from(byte), out),
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends `\uXXXX`.
pub(super) fn write_unicode(code: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u");
    write_hex(&code.to_be_bytes(), out);
}

/// Appends two lower-case hex digits for each byte.
pub(super) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 0x0F)]);
    }
}

/// Bytes that must be escaped, or with which a character that must be escaped begins.
static SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[0x7F] = true;
    table[0xC2] = true;
    table[0xE2] = true;
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], wanted: &str) {
        let mut out = Vec::new();
        write_text(bytes, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), wanted, "{bytes:x?}");
    }

    #[test]
    fn only_what_could_harm_is_escaped() {
        check(b"", r#""""#);
        check(b"plain / 'text'", r#""plain / 'text'""#);
        check(b"\"\\\x08\x0c\n\r\t", r#""\"\\\b\f\n\r\t""#);
        check(b"\0\x01\x1f\x7f", r#""\u0000\u0001\u001f\u007f""#);
        check("\u{80}\u{85}\u{9f}\u{a0}".as_bytes(), "\"\\u0080\\u0085\\u009f\u{a0}\"");
        check(
            "a\u{2028}\u{2029}b\u{2027}\u{202A}".as_bytes(),
            "\"a\\u2028\\u2029b\u{2027}\u{202A}\"",
        );
        check("Zoë Ωμέγα 水 €“”".as_bytes(), "\"Zoë Ωμέγα 水 €“”\"");
        check("😀\u{FFFF}\u{FEFF}".as_bytes(), "\"😀\u{FFFF}\u{FEFF}\"");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        check(b"a\xFFb", "\"a\u{FFFD}b\"");
        check(b"\xED\xA0\x80!", "\"\u{FFFD}\u{FFFD}\u{FFFD}!\"");
        check(b"\xC2", "\"\u{FFFD}\"");
        check(b"\xE2\x80\"", "\"\u{FFFD}\\\"\"");
        check(
            b"\xC0\x8A\xF4\x90\x80\x80\n",
            "\"\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\\n\"",
        );
    }
}
