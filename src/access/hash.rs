use bcrypt::Version;

/// The highest cost that is computed: one step more doubles the time, and at this one a check takes
/// seconds already.
pub const MAX_COST: u32 = 16;

/// bcrypt looks at no more bytes of a password.
const MAX_BYTES: usize = 72;

/// Why a password cannot be hashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    #[error("the password is empty")]
    Empty,
    #[error("the password holds a NUL character, which ends it for bcrypt")]
    Nul,
    #[error("the password is longer than {MAX_BYTES} bytes, of which bcrypt sees no more")]
    TooLong,
    #[error("the cost {0} is not between 4 and {MAX_COST}")]
    Cost(u32),
    #[error("the password cannot be hashed: {0}")]
    Bcrypt(String),
}

/// The bcrypt hash of a password, in the form that RESTHeart reads too (`$2a$`).
///
/// # Errors
/// [`HashError`] for a password of which bcrypt would ignore a part, and for an unusable cost.
pub fn hash_password(password: &str, cost: u32) -> Result<String, HashError> {
    match password {
        "" => return Err(HashError::Empty),
        _ if password.contains('\0') => return Err(HashError::Nul),
        _ if password.len() > MAX_BYTES => return Err(HashError::TooLong),
        _ if !(4..=MAX_COST).contains(&cost) => return Err(HashError::Cost(cost)),
        _ => {}
    }
    let salt: [u8; 16] = rand::random();
    let parts = bcrypt::hash_with_salt(password, cost, salt)
        .map_err(|error| HashError::Bcrypt(error.to_string()))?;
    Ok(parts.format_for_version(Version::TwoA))
}

/// The cost of a text that is a bcrypt hash which can be computed here.
pub(super) fn cost_of(hash: &str) -> Option<u32> {
    let rest = ["$2a$", "$2b$", "$2y$"].iter().find_map(|prefix| hash.strip_prefix(prefix))?;
    let (cost, digest) = rest.split_once('$')?;
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'/';
    let fits = cost.len() == 2 && digest.len() == 53 && digest.bytes().all(is_digit);
    let cost = cost.parse().ok().filter(|cost| (4..=MAX_COST).contains(cost));
    cost.filter(|_| fits)
}

/// Whether the password is the one that was hashed. Slow by design: not for the async threads.
pub(super) fn verify(password: &str, hash: &str) -> bool {
    !password.contains('\0') && bcrypt::verify(password, hash).unwrap_or(false)
}

/// A hash that no password has and that costs as much to check as one that some has.
pub(super) fn decoy(cost: u32) -> String {
    format!("$2b${:02}${}", cost.clamp(4, MAX_COST), ".".repeat(53))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hashed_verifies() {
        let hash = hash_password("w1nter:ü", 4).unwrap();
        assert!(hash.starts_with("$2a$04$"), "{hash}");
        assert!(verify("w1nter:ü", &hash));
        assert!(!verify("w1nter:u", &hash));
        assert_eq!(cost_of(&hash), Some(4));
        for prefix in ["$2b$", "$2y$"] {
            assert!(verify("w1nter:ü", &hash.replace("$2a$", prefix)));
        }
    }

    #[test]
    fn what_bcrypt_would_cut_is_refused() {
        let check = |password: &str, cost, expected| {
            assert_eq!(hash_password(password, cost), Err(expected));
        };
        check("", 4, HashError::Empty);
        check("a\0b", 4, HashError::Nul);
        check(&"a".repeat(73), 4, HashError::TooLong);
        check("a", 3, HashError::Cost(3));
        check("a", 31, HashError::Cost(31));
    }

    #[test]
    fn long_passwords_are_cut_as_they_were_when_hashed() {
        let hash = bcrypt::hash_with_salt("a".repeat(80), 4, [7; 16]).unwrap().to_string();
        assert!(verify(&"a".repeat(80), &hash));
        assert!(!verify("a\0", &hash));
    }

    #[test]
    fn other_texts_are_no_hashes() {
        let digest = ".".repeat(53);
        for text in ["", "secret", "$2a$", "$2a$04$short"] {
            assert_eq!(cost_of(text), None, "{text}");
        }
        for (head, cost) in
            [("$2a$17$", None), ("$2x$10$", None), ("$2a$03$", None), ("$2y$16$", Some(16))]
        {
            assert_eq!(cost_of(&format!("{head}{digest}")), cost, "{head}");
        }
        assert_eq!(cost_of(&decoy(4)), Some(4));
        assert!(!verify("", &decoy(4)));
    }
}
