/// Reads `64MiB`, `8MB`, `512 KiB` or a bare number of bytes. Units may be in any case.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| {
        format!("is `{text}`, which is not a size; write it like 64MiB, 8MB or a number of bytes")
    })
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let amount: u64 = text.get(..digits)?.parse().ok()?;
    let unit: u64 = match text.get(digits..)?.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "kib" => 1 << 10,
        "mb" => 1_000_000,
        "mib" => 1 << 20,
        "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        _ => return None,
    };
    amount.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let check = |text: &str, expected: u64| {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        };
        check("64MiB", 67_108_864);
        check("8MB", 8_000_000);
        check("8mib", 8_388_608);
        check("512 KiB", 524_288);
        check("1GiB", 1_073_741_824);
        check("3GB", 3_000_000_000);
        check("2kb", 2_000);
        check("100B", 100);
        check("100", 100);
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "MiB", "8M", "8m", "1.5MiB", "-1", "8 M B", "99999999999GiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
