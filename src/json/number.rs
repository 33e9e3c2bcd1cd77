//! Numbers as text.

use std::io::Write;

/// Appends a finite double in its shortest form that reads back as the same double: `1.0`,
/// `0.001`, and from 1e7 on or below 1e-3 with an exponent, `1.0E+7`, `1.5E-4`.
///
/// It always holds a point, which tells a double from an integer; the text is the one that
/// RESTHeart's users see.
pub(super) fn write_double(double: f64, out: &mut Vec<u8>) {
    let size = double.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return write_display(format_args!("{double:?}"), out);
    }
    let text = format!("{double:E}");
    let Some((mantissa, exponent)) = text.split_once('E') else {
        return out.extend_from_slice(text.as_bytes());
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    write_display(format_args!("{mantissa}{point}E{sign}{exponent}"), out);
}

/// What JSON has no literal for.
pub(super) fn non_finite(double: f64) -> &'static str {
    if double.is_nan() {
        "NaN"
    } else if double > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

pub(super) fn write_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Writing into a vector cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(double: f64, wanted: &str) {
        let mut out = Vec::new();
        write_double(double, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, wanted);
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), double.to_bits());
    }

    #[test]
    fn doubles_read_back_as_themselves() {
        check(0.0, "0.0");
        check(-0.0, "-0.0");
        check(1.0, "1.0");
        check(-1.5, "-1.5");
        check(0.1 + 0.2, "0.30000000000000004");
        check(0.001, "0.001");
        check(0.0001, "1.0E-4");
        check(0.00099, "9.9E-4");
        check(9_999_999.5, "9999999.5");
        check(1e7, "1.0E+7");
        check(-123_456_789.0, "-1.23456789E+8");
        check(9_007_199_254_740_993.0, "9.007199254740992E+15");
        check(5e-324, "5.0E-324");
        check(f64::MIN_POSITIVE, "2.2250738585072014E-308");
        check(f64::MAX, "1.7976931348623157E+308");
        check(f64::MIN, "-1.7976931348623157E+308");
    }
}
