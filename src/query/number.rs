//! Numbers of all four types, compared by their exact mathematical value.

use std::cmp::Ordering;

use super::decimal::{Decimal, Finite};
use super::wide::Wide;

/// int32 and int64 are one case: they never compare differently.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Int(i64),
    Double(f64),
    Decimal(Decimal),
}

/// What a number is once its type is forgotten.
enum Exact {
    NaN,
    Infinite {
        negative: bool,
    },
    /// `± coefficient · 10^exponent`
    Decimal(Finite),
    /// `± mantissa · 2^exponent`
    Binary {
        negative: bool,
        mantissa: u64,
        exponent: i32,
    },
}

impl Number {
    /// The total order inside objects, arrays and `$in`: `NaN` equals itself and precedes all.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => one.cmp(&two),
            (Self::Double(one), Self::Double(two)) => order_doubles(one, two),
            (Self::Int(one), Self::Double(two)) => order_int_double(one, two),
            (Self::Double(one), Self::Int(two)) => order_int_double(two, one).reverse(),
            _ => order_exact(&self.exact(), &other.exact()),
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        match self {
            Self::Int(_) => false,
            Self::Double(value) => value.is_nan(),
            Self::Decimal(value) => value == Decimal::NaN,
        }
    }

    /// The value without its fraction, or nothing when it leaves int64 or is no number at all.
    pub(crate) fn truncated(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Double(value) => truncate_double(value),
            Self::Decimal(Decimal::Finite(value)) => i64::try_from(value.truncated()?).ok(),
            Self::Decimal(_) => None,
        }
    }

    /// The value without its fraction, clamped to int64; nothing for `NaN`.
    pub(crate) fn saturated(self) -> Option<i64> {
        let negative = match self {
            _ if self.is_nan() => return None,
            Self::Int(value) => value < 0,
            Self::Double(value) => value.is_sign_negative(),
            Self::Decimal(Decimal::Finite(value)) => value.negative,
            Self::Decimal(Decimal::Infinite { negative }) => negative,
            Self::Decimal(Decimal::NaN) => return None,
        };
        Some(self.truncated().unwrap_or(if negative { i64::MIN } else { i64::MAX }))
    }

    fn exact(self) -> Exact {
        match self {
            Self::Int(value) => Exact::Decimal(Finite {
                negative: value < 0,
                coefficient: u128::from(value.unsigned_abs()),
                exponent: 0,
            }),
            Self::Double(value) => exact_double(value),
            Self::Decimal(Decimal::NaN) => Exact::NaN,
            Self::Decimal(Decimal::Infinite { negative }) => Exact::Infinite { negative },
            Self::Decimal(Decimal::Finite(value)) => Exact::Decimal(value),
        }
    }
}

impl Exact {
    /// -2 for negative infinity to 2 for positive; -3 for `NaN`, which precedes all.
    fn rank(&self) -> i8 {
        let sign = |negative: bool| if negative { -1 } else { 1 };
        match self {
            Self::NaN => -3,
            Self::Infinite { negative } => 2 * sign(*negative),
            Self::Decimal(Finite { coefficient: 0, .. }) | Self::Binary { mantissa: 0, .. } => 0,
            Self::Decimal(Finite { negative, .. }) | Self::Binary { negative, .. } => {
                sign(*negative)
            }
        }
    }
}

fn order_exact(one: &Exact, two: &Exact) -> Ordering {
    let rank = one.rank();
    let by_rank = rank.cmp(&two.rank());
    if by_rank.is_ne() || !matches!(rank, -1 | 1) {
        return by_rank;
    }
    let magnitudes = order_magnitudes(one, two);
    if rank < 0 { magnitudes.reverse() } else { magnitudes }
}

fn order_magnitudes(one: &Exact, two: &Exact) -> Ordering {
    match (one, two) {
        (Exact::Decimal(one), Exact::Decimal(two)) => order_decimals(one, two),
        (Exact::Decimal(one), Exact::Binary { mantissa, exponent, .. }) => {
            order_mixed(one, *mantissa, *exponent)
        }
        (Exact::Binary { mantissa, exponent, .. }, Exact::Decimal(two)) => {
            order_mixed(two, *mantissa, *exponent).reverse()
        }
        // Two doubles never come here: their own order is exact.
        _ => Ordering::Equal,
    }
}

/// Neither is zero, so both have a leading digit: first its place, then the aligned coefficients,
/// which have at most 34 digits and so never overflow.
fn order_decimals(one: &Finite, two: &Finite) -> Ordering {
    let place = |value: &Finite| value.digits() + value.exponent;
    let aligned = |value: &Finite| {
        value.coefficient * 10_u128.pow((34 - value.digits()).clamp(0, 34).unsigned_abs())
    };
    place(one).cmp(&place(two)).then_with(|| aligned(one).cmp(&aligned(two)))
}

/// Compares `c · 10^q` with `m · 2^e` as `c · 5^q · 2^(q-e)` with `m`, factors of a negative power
/// moved to the other side.
fn order_mixed(decimal: &Finite, mantissa: u64, exponent: i32) -> Ordering {
    match decimal.digits() + decimal.exponent {
        310.. => return Ordering::Greater,
        ..=-324 => return Ordering::Less,
        _ => {}
    }
    let mut sides = (Wide::new(decimal.coefficient), Wide::new(u128::from(mantissa)));
    let (power, shift) = (decimal.exponent, decimal.exponent - exponent);
    let grown = (|| {
        sides = match power >= 0 {
            true => (sides.0.times_power_of_five(power.unsigned_abs())?, sides.1),
            false => (sides.0, sides.1.times_power_of_five(power.unsigned_abs())?),
        };
        sides = match shift >= 0 {
            true => (sides.0.times_power_of_two(shift.unsigned_abs())?, sides.1),
            false => (sides.0, sides.1.times_power_of_two(shift.unsigned_abs())?),
        };
        Some(sides.0.compare(&sides.1))
    })();
    // The bounds above keep every product within the width, so this arm is never taken.
    grown.unwrap_or(Ordering::Less)
}

fn order_doubles(one: f64, two: f64) -> Ordering {
    one.partial_cmp(&two).unwrap_or_else(|| two.is_nan().cmp(&one.is_nan()))
}

fn order_int_double(int: i64, double: f64) -> Ordering {
    if double.is_nan() {
        return Ordering::Greater;
    }
    if double >= TWO_POW_63 {
        return Ordering::Less;
    }
    if double < -TWO_POW_63 {
        return Ordering::Greater;
    }
    let whole = double.trunc();
    int.cmp(&(whole as i64)).then_with(|| order_doubles(0.0, double - whole))
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

fn truncate_double(value: f64) -> Option<i64> {
    (-TWO_POW_63..TWO_POW_63).contains(&value).then_some(value as i64)
}

fn exact_double(value: f64) -> Exact {
    let bits = value.to_bits();
    let negative = bits >> 63 == 1;
    let biased = i32::try_from((bits >> 52) & 0x7ff).unwrap_or_default();
    let fraction = bits & ((1 << 52) - 1);
    match (biased, fraction) {
        (0x7ff, 0) => Exact::Infinite { negative },
        (0x7ff, _) => Exact::NaN,
        (0, mantissa) => Exact::Binary { negative, mantissa, exponent: -1074 },
        (_, fraction) => {
            Exact::Binary { negative, mantissa: fraction | (1 << 52), exponent: biased - 1075 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Number {
        let bytes = text.parse::<bson::Decimal128>().unwrap().bytes();
        Number::Decimal(Decimal::from_bytes(bytes))
    }

    fn check(one: Number, expected: Ordering, two: Number) {
        assert_eq!(one.order(two), expected, "{one:?} {two:?}");
        assert_eq!(two.order(one), expected.reverse(), "{two:?} {one:?}");
    }

    #[test]
    fn orders_exactly_across_types() {
        use Number::{Double, Int};
        use Ordering::{Equal, Greater, Less};
        check(Int(1), Equal, Double(1.0));
        check(Int((1 << 53) + 1), Greater, Double(9_007_199_254_740_992.0));
        check(Int(i64::MAX), Less, Double(TWO_POW_63));
        check(Int(i64::MIN), Equal, Double(-TWO_POW_63));
        check(Int(-1), Greater, Double(-1.5));
        check(Int(0), Equal, Double(-0.0));
        check(Double(0.0), Equal, decimal("-0E+6111"));
        check(Double(0.1), Greater, decimal("0.1"));
        check(Double(0.1), Greater, decimal("0.1000000000000000055511151231257827"));
        check(Double(0.1), Less, decimal("0.1000000000000000055511151231257828"));
        check(Double(0.5), Equal, decimal("0.50"));
        check(Double(-0.5), Equal, decimal("-5E-1"));
        check(Double(5e-324), Less, decimal("5E-324"));
        check(Double(5e-324), Greater, decimal("4.94E-324"));
        check(Double(5e-324), Greater, decimal("1E-6176"));
        check(Double(f64::MAX), Less, decimal("1.797693134862315708145274237317044E+308"));
        check(Double(f64::MAX), Greater, decimal("1.797693134862315708145274237317043E+308"));
        check(Double(f64::MAX), Less, decimal("9E+6111"));
        check(
            Double(f64::MIN_POSITIVE),
            Greater,
            decimal("1000000000000000000000000000000000E-350"),
        );
        check(decimal("1E+2"), Equal, decimal("100.000"));
        check(decimal("-1E+2"), Less, Int(-99));
        check(decimal("9223372036854775807"), Equal, Int(i64::MAX));
        check(decimal("9223372036854775807.1"), Greater, Int(i64::MAX));
        check(Double(f64::INFINITY), Equal, decimal("Infinity"));
        check(Double(f64::NEG_INFINITY), Less, decimal("-9E+6111"));
        check(Double(f64::NAN), Equal, decimal("NaN"));
        check(Double(f64::NAN), Less, Double(f64::NEG_INFINITY));
        check(decimal("NaN"), Less, Int(i64::MIN));
    }

    #[test]
    fn truncates_and_saturates() {
        assert_eq!(Number::Double(-1.9).truncated(), Some(-1));
        assert_eq!(Number::Double(TWO_POW_63).truncated(), None);
        assert_eq!(Number::Double(-TWO_POW_63).truncated(), Some(i64::MIN));
        assert_eq!(decimal("9223372036854775807.9").truncated(), Some(i64::MAX));
        assert_eq!(decimal("1E+400").saturated(), Some(i64::MAX));
        assert_eq!(Number::Double(f64::NEG_INFINITY).saturated(), Some(i64::MIN));
        assert_eq!(Number::Double(f64::NAN).saturated(), None);
    }
}
