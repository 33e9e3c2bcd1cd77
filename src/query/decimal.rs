//! IEEE 754-2008 decimal128 in its binary-integer encoding, decoded exactly.

/// A decimal128 as MongoDB reads it; `NaN`s are all one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimal {
    Finite(Finite),
    Infinite { negative: bool },
    NaN,
}

/// `± coefficient · 10^exponent`, the coefficient below 10^34.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finite {
    pub(crate) negative: bool,
    pub(crate) coefficient: u128,
    pub(crate) exponent: i32,
}

const MAX_COEFFICIENT: u128 = 10_u128.pow(34) - 1;
const BIAS: i32 = 6176;

impl Decimal {
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let bits = u128::from_le_bytes(bytes);
        let negative = bits >> 127 == 1;
        match (bits >> 122) & 0b1_1111 {
            0b1_1111 => Self::NaN,
            0b1_1110 => Self::Infinite { negative },
            // Both leading bits set: the coefficient would exceed 34 digits, so it reads as zero.
            top if top >> 3 == 0b11 => Self::finite(negative, 0, bits >> 111),
            _ => Self::finite(negative, bits & ((1 << 113) - 1), bits >> 113),
        }
    }

    fn finite(negative: bool, coefficient: u128, biased: u128) -> Self {
        let coefficient = if coefficient > MAX_COEFFICIENT { 0 } else { coefficient };
        let biased = i32::try_from(biased & 0x3fff).unwrap_or_default();
        Self::Finite(Finite { negative, coefficient, exponent: biased - BIAS })
    }
}

impl Finite {
    /// Decimal digits of the coefficient; none for zero.
    pub(crate) fn digits(&self) -> i32 {
        self.coefficient.checked_ilog10().map_or(0, |log| log.cast_signed() + 1)
    }

    /// The value without its fraction, when it fits.
    pub(crate) fn truncated(&self) -> Option<i128> {
        if self.coefficient == 0 || self.digits() + self.exponent <= 0 {
            return Some(0);
        }
        let scale = 10_u128.checked_pow(self.exponent.unsigned_abs())?;
        let magnitude = match self.exponent >= 0 {
            true => self.coefficient.checked_mul(scale)?,
            false => self.coefficient / scale,
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<i128>) {
        let bytes = text.parse::<bson::Decimal128>().unwrap().bytes();
        let truncated = match Decimal::from_bytes(bytes) {
            Decimal::Finite(finite) => finite.truncated(),
            _ => None,
        };
        assert_eq!(truncated, expected, "{text}");
    }

    #[test]
    fn truncates() {
        check("0", Some(0));
        check("-0.9", Some(0));
        check("-1.9", Some(-1));
        check("123456789.99", Some(123_456_789));
        check("1E+3", Some(1000));
        check("1E-6176", Some(0));
        check("0E+6111", Some(0));
        check("9999999999999999999999999999999999E-33", Some(9));
        check("1E+400", None);
        check("NaN", None);
        check("-Infinity", None);
    }

    #[test]
    fn reads_non_canonical_coefficients_as_zero() {
        let zero = |bits: u128| Decimal::from_bytes(bits.to_le_bytes());
        let too_long = (0x3040_u128 << 112) | ((1 << 113) - 1);
        assert!(matches!(zero(too_long), Decimal::Finite(Finite { coefficient: 0, .. })));
        let wide = (0x6c10_u128 << 112) | 5;
        assert!(matches!(zero(wide), Decimal::Finite(Finite { coefficient: 0, .. })));
    }
}
