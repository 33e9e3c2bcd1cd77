//! Regular expressions in the shell's notation.

use super::text::{write_escaped, write_unicode};

/// Appends `/pattern/options` on one line.
pub(super) fn write_regex_literal(pattern: &[u8], options: &[u8], out: &mut Vec<u8>) {
    out.push(b'/');
    match pattern {
        // Two slashes would begin a comment.
        [] => out.extend_from_slice(b"(?:)"),
        _ => write_pattern(&String::from_utf8_lossy(pattern), out),
    }
    out.push(b'/');
    write_escaped(options, out);
}

/// A pattern keeps its own backslashes; a slash, which would end it, gains one.
fn write_pattern(pattern: &str, out: &mut Vec<u8>) {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => write_character(characters.next().unwrap_or('\\'), "\\", out),
            '/' => write_character('/', "\\", out),
            _ => write_character(character, "", out),
        }
    }
}

/// The escape of a control character takes the place of a backslash before it: both mean the
/// character itself.
fn write_character(character: char, backslash: &str, out: &mut Vec<u8>) {
    let breaks_lines = character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    match u16::try_from(u32::from(character)) {
        Ok(code) if breaks_lines => write_unicode(code, out),
        _ => {
            out.extend_from_slice(backslash.as_bytes());
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &[u8], options: &[u8], wanted: &str) {
        let mut out = Vec::new();
        write_regex_literal(pattern, options, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), wanted, "{pattern:x?}");
    }

    #[test]
    fn a_pattern_stays_inside_its_slashes() {
        check(b"", b"", "/(?:)/");
        check(b"^a.*\"$", b"im", "/^a.*\"$/im");
        check(b"a/b", b"", r"/a\/b/");
        check(br"a\/b\\/c", b"", r"/a\/b\\\/c/");
        check(br"ends\", b"", r"/ends\\/");
        check(br"\bword\d", b"", r"/\bword\d/");
    }

    #[test]
    fn a_pattern_stays_on_its_line() {
        check(b"a\nb\x08", b"i\r\n", r"/a\u000ab\u0008/i\r\n");
        check(b"a\\\nb", b"", r"/a\u000ab/");
        check("\u{2028}\u{85}é😀".as_bytes(), b"", r"/\u2028\u0085é😀/");
        check(b"\xFF", b"\xFF", "/\u{FFFD}/\u{FFFD}");
    }
}
