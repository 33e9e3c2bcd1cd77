//! Instants as text.

use bson::DateTime;

/// `2019-09-12T13:42:49.260Z`: always three digits of a second, so that texts sort as instants do.
/// `None` outside the years 0 to 9999, for which RFC 3339 has no text.
pub fn rfc3339(time: DateTime) -> Option<String> {
    let millis = time.timestamp_millis();
    // The crate brings other years into this range instead of refusing them.
    let text = YEARS.contains(&millis).then(|| time.try_to_rfc3339_string().ok())??;
    let seconds = text.split(['.', 'Z']).next()?;
    Some(format!("{seconds}.{:03}Z", millis.rem_euclid(1000)))
}

/// The years 0 to 9999, in milliseconds.
const YEARS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_three_digits_of_a_second_or_no_text() {
        for (millis, expected) in [
            (0, Some("1970-01-01T00:00:00.000Z")),
            (1_568_295_769_260, Some("2019-09-12T13:42:49.260Z")),
            (-1, Some("1969-12-31T23:59:59.999Z")),
            (253_402_300_799_999, Some("9999-12-31T23:59:59.999Z")),
            (253_402_300_800_000, None),
            (-62_167_219_200_000, Some("0000-01-01T00:00:00.000Z")),
            (-62_167_219_200_001, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            assert_eq!(rfc3339(DateTime::from_millis(millis)).as_deref(), expected, "{millis}");
        }
    }
}
