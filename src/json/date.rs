//! Dates, which are milliseconds since the epoch, as ISO 8601 text in UTC.

use bson::DateTime;

/// The last millisecond of the year 9999, after which ISO 8601 needs an agreement.
const END_OF_9999: i64 = 253_402_300_799_999;

const START_OF_YEAR_0: i64 = -62_167_219_200_000;

/// `2019-09-12T13:42:49.26Z`: the fraction is trimmed, and left out when it is zero. `None`
/// outside the years 0 to 9999.
pub(super) fn iso(millis: i64) -> Option<String> {
    let in_range = (START_OF_YEAR_0..=END_OF_9999).contains(&millis);
    in_range.then(|| DateTime::from_millis(millis).try_to_rfc3339_string().ok())?
}

/// [`iso`] with always three digits of a second.
pub(super) fn iso_with_millis(millis: i64) -> Option<String> {
    let text = iso(millis)?;
    let seconds = text.split(['.', 'Z']).next()?;
    Some(format!("{seconds}.{:03}Z", millis.rem_euclid(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_exists_for_four_digit_years_only() {
        assert_eq!(iso(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(iso(1_568_295_769_260).unwrap(), "2019-09-12T13:42:49.26Z");
        assert_eq!(iso(-1).unwrap(), "1969-12-31T23:59:59.999Z");
        assert_eq!(iso(END_OF_9999).unwrap(), "9999-12-31T23:59:59.999Z");
        assert_eq!(iso_with_millis(0).unwrap(), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_with_millis(-999).unwrap(), "1969-12-31T23:59:59.001Z");
        for millis in [END_OF_9999 + 1, START_OF_YEAR_0 - 1, i64::MIN, i64::MAX] {
            assert_eq!(iso(millis), None);
        }
    }
}
