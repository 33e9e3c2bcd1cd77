//! A natural number wide enough to compare any double with any decimal128 exactly.

use std::cmp::Ordering;

/// 2,624 bits on the stack. The widest use is 10^34 · 5^309 · 2^(309 + 1074), below 2^2215.
const LIMBS: usize = 41;

/// Little-endian limbs; those from `length` on are zero.
#[derive(Debug, Clone)]
pub(super) struct Wide {
    limbs: [u64; LIMBS],
    length: usize,
}

impl Wide {
    pub(super) fn new(value: u128) -> Self {
        let mut limbs = [0; LIMBS];
        let [low, high, ..] = &mut limbs;
        (*low, *high) = (low_half(value), low_half(value >> 64));
        Self { limbs, length: 2 }
    }

    pub(super) fn times_power_of_five(mut self, mut power: u32) -> Option<Self> {
        /// The largest power of five in 64 bits.
        const STEP: u32 = 27;
        while power > 0 {
            let step = power.min(STEP);
            self.multiply(5_u64.checked_pow(step)?)?;
            power -= step;
        }
        Some(self)
    }

    pub(super) fn times_power_of_two(mut self, power: u32) -> Option<Self> {
        let whole = usize::try_from(power / 64).ok()?;
        let end = self.length + whole;
        if end > LIMBS {
            return None;
        }
        self.limbs.copy_within(..self.length, whole);
        self.limbs.get_mut(..whole)?.fill(0);
        self.length = end;
        self.multiply(1 << (power % 64))?;
        Some(self)
    }

    fn multiply(&mut self, factor: u64) -> Option<()> {
        let mut carry = 0;
        for limb in self.limbs.iter_mut().take(self.length) {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            (*limb, carry) = (low_half(product), product >> 64);
        }
        if carry != 0 {
            *self.limbs.get_mut(self.length)? = low_half(carry);
            self.length += 1;
        }
        Some(())
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.limbs.iter().rev().cmp(other.limbs.iter().rev())
    }
}

fn low_half(value: u128) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_and_compares() {
        let million = Wide::new(1).times_power_of_five(6).unwrap().times_power_of_two(6).unwrap();
        assert_eq!(million.compare(&Wide::new(1_000_000)), Ordering::Equal);
        assert_eq!(million.compare(&Wide::new(1_000_001)), Ordering::Less);
        let widest = Wide::new(10_u128.pow(34)).times_power_of_five(309).unwrap();
        assert!(widest.clone().times_power_of_two(1383).is_some());
        assert!(widest.times_power_of_two(2000).is_none());
    }
}
