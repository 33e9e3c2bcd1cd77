//! ISO 8601 text as milliseconds since the epoch.

use bson::DateTime;

/// Reads `YYYY-MM-DD`, optionally with `THH:MM`, seconds, a fraction (cut to milliseconds) and an
/// offset; without an offset it is UTC.
pub(super) fn parse_iso(text: &str) -> Option<i64> {
    let mut text = Text(text);
    let year = text.digits(4)?;
    let month = text.after(&['-'])?.digits(2)?;
    let day = text.after(&['-'])?.digits(2)?;
    let date = DateTime::builder().year(year.into()).month(narrow(month)?).day(narrow(day)?);
    if text.0.is_empty() {
        return Some(date.build().ok()?.timestamp_millis());
    }
    let hour = text.after(&['T', 't', ' '])?.digits(2)?;
    let minute = text.after(&[':'])?.digits(2)?;
    let second = text.after(&[':']).map_or(Some(0), |text| text.digits(2))?;
    let millis = text.after(&['.']).map_or(Some(0), Text::fraction)?;
    let offset = text.offset()?;
    let date = date.hour(narrow(hour)?).minute(narrow(minute)?).second(narrow(second)?);
    let local = date.millisecond(millis).build().ok()?.timestamp_millis();
    text.0.is_empty().then_some(local - offset)
}

fn narrow(number: u16) -> Option<u8> {
    number.try_into().ok()
}

struct Text<'a>(&'a str);

impl Text<'_> {
    fn digits(&mut self, count: usize) -> Option<u16> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    /// Steps over one of the separators, or is `None` and stays.
    fn after(&mut self, separators: &[char]) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(separators)?;
        Some(self)
    }

    /// One digit or more; those after the third do not count.
    fn fraction(&mut self) -> Option<u16> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = self.0.strip_suffix(rest)?;
        self.0 = rest;
        let padded = format!("{digits:0<3}");
        (!digits.is_empty()).then(|| padded.get(..3)?.parse().ok())?
    }

    /// `Z`, nothing, `+02`, `+0200` or `+02:00`, in milliseconds.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.after(&['Z', 'z']).is_some() {
            return Some(0);
        }
        let sign = if self.after(&['-']).is_some() { -1 } else { self.after(&['+']).map(|_| 1)? };
        let hours = self.digits(2)?;
        let has_minutes = self.after(&[':']).is_some() || !self.0.is_empty();
        let minutes = if has_minutes { self.digits(2)? } else { 0 };
        let in_range = hours < 24 && minutes < 60;
        in_range.then(|| sign * (i64::from(hours) * 60 + i64::from(minutes)) * 60_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: Option<i64>) {
        assert_eq!(parse_iso(text), wanted, "{text:?}");
    }

    #[test]
    fn dates_are_read_with_and_without_their_optional_parts() {
        check("2019-09-12T13:42:49.26Z", Some(1_568_295_769_260));
        check("2019-09-12T13:42:49.260999Z", Some(1_568_295_769_260));
        check("2019-09-12t13:42:49z", Some(1_568_295_769_000));
        check("2019-09-12 13:42", Some(1_568_295_720_000));
        check("2019-09-12", Some(1_568_246_400_000));
        check("2019-09-12T15:42:49+02:00", Some(1_568_295_769_000));
        check("2019-09-12T11:12:49-0230", Some(1_568_295_769_000));
        check("2019-09-12T15:42:49.5+02", Some(1_568_295_769_500));
        check("1969-12-31T23:59:59.999Z", Some(-1));
        check("0000-01-01T00:00:00Z", Some(-62_167_219_200_000));
        check("9999-12-31T23:59:59.999Z", Some(253_402_300_799_999));
        check("2020-02-29", Some(1_582_934_400_000));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let texts = "|2019|2019-9-12|2019-13-01|2019-02-29|2019-00-10|2019-09-12T|2019-09-12T24:00Z\
            |2019-09-12T13|2019-09-12T13:42:|2019-09-12T13:42:60Z|2019-09-12T13:42:49.Z\
            |2019-09-12T13:42:49Zx|2019-09-12T13:42:49+24:00|2019-09-12T13:42:49+02:60\
            |2019-09-12T13:42:49+2|2019-09-12T13:42:49+02:|+019-09-12|not a date|２０１９-09-12|20é9-09-12|2019-09-12é";
        for text in texts.split('|') {
            check(text, None);
        }
    }
}
