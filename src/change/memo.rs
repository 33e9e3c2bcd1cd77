//! What somebody makes of an event, kept with the event so that it is made once for everybody.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Things of any type. They live as long as the event does.
#[derive(Default)]
pub struct Memo(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Memo {
    /// The thing that `is` recognises, made by whoever asks first. `make` must not look into the
    /// memo itself: it is held meanwhile, so that a second one waits instead of making it again.
    pub fn recall<T: Any + Send + Sync>(
        &self,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_type = known.iter().filter_map(|thing| thing.clone().downcast::<T>().ok());
        if let Some(found) = of_type.into_iter().find(|thing| is(thing)) {
            return found;
        }
        let made = Arc::new(make());
        known.push(made.clone());
        made
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_for_each_question() {
        let memo = Memo::default();
        let recall = |n: u8| memo.recall(|(known, _): &(u8, &str)| *known == n, || (n, "made"));
        let (one, again, two) = (recall(1), recall(1), recall(2));
        assert!(Arc::ptr_eq(&one, &again));
        assert_eq!((one.0, two.0), (1, 2));
        assert_eq!(*memo.recall(|_: &u64| true, || 7), 7);
    }
}
