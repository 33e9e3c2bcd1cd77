use std::time::Duration;

/// The longest duration a setting may hold. It keeps arithmetic on instants far from overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads `20s`, `500ms`, `1m30s`, `2h`, `1d` or a bare number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let total = milliseconds(text).ok_or_else(|| {
        format!("is `{text}`, which is not a duration; write it like 20s, 500ms, 5m or 1m30s")
    })?;
    let duration = Duration::from_millis(total);
    if duration > LONGEST {
        return Err(format!("is `{text}`, which is longer than a year"));
    }
    Ok(duration)
}

/// Whether the text switches off what a duration or a cap controls.
pub(crate) fn is_off(text: &str) -> bool {
    text == "0" || text.eq_ignore_ascii_case("off") || text.eq_ignore_ascii_case("false")
}

fn milliseconds(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse::<u64>().ok()?.checked_mul(1000);
    }
    let (mut rest, mut total, mut previous) = (text, 0_u64, u64::MAX);
    while !rest.is_empty() {
        let (amount, unit, tail) = component(rest)?;
        // Units must shrink, so that `5s1m` and `1s1s` are seen as the slips they are.
        if unit >= previous {
            return None;
        }
        total = total.checked_add(amount.checked_mul(unit)?)?;
        (rest, previous) = (tail, unit);
    }
    (previous != u64::MAX).then_some(total)
}

fn component(text: &str) -> Option<(u64, u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let amount = text.get(..digits)?.parse().ok()?;
    let rest = text.get(digits..)?;
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let unit = match rest.get(..letters)? {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some((amount, unit, rest.get(letters..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let check = |text: &str, milliseconds: u64| {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        };
        check("20s", 20_000);
        check("500ms", 500);
        check("5m", 300_000);
        check("1m30s", 90_000);
        check("1h", 3_600_000);
        check("1d2h3m4s5ms", 93_784_005);
        check("7", 7_000);
        check("0", 0);
        check("0s", 0);
    }

    #[test]
    fn refuses_everything_else() {
        for text in
            ["", "s", "5x", "5 s", "1.5s", "-5s", "5s1m", "1s1s", "5sm", "1e3", "٣s", "500d", "5S"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("99999999999999999999s").is_err());
        assert!(parse_duration("18446744073709551615").is_err());
    }
}
