//! Reads raw BSON element by element, straight from its bytes.
//!
//! `bson`'s own iterator refuses a string that is not UTF-8 and with it the rest of the document.
//! A raw client can store such a string, so here text stays bytes until it is written.

/// Why BSON could not be written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// A length runs past the bytes that are there.
    #[error("malformed BSON: {0} runs past the end of its document")]
    Truncated(&'static str),
    /// A length or terminator contradicts the format.
    #[error("malformed BSON: {0}")]
    Malformed(&'static str),
    /// An element type that BSON does not define; what follows it cannot be found.
    #[error("malformed BSON: unknown element type 0x{0:02x}")]
    UnknownType(u8),
    /// Documents and arrays nest beyond [`MAX_DEPTH`](super::MAX_DEPTH), more than MongoDB stores.
    #[error("document nests deeper than {} levels", super::MAX_DEPTH)]
    TooDeep,
    /// The text is longer than the operator allows; the bound is in bytes.
    #[error("the text is longer than {0} bytes")]
    TooLarge(usize),
}

impl JsonError {
    /// What readers are told of an event that has no JSON text.
    pub fn notice(self) -> &'static str {
        match self {
            Self::TooLarge(_) => "the event is larger than the service delivers",
            _ => "the event is malformed",
        }
    }
}

/// The elements of one document or array; ends after the first error.
pub(super) struct Elements<'a> {
    rest: Bytes<'a>,
}

/// A key and its value.
pub(super) type Element<'a> = (&'a [u8], RawValue<'a>);

/// One BSON value. Text is bytes that may not be UTF-8; documents are whole, unread and unchecked.
pub(super) enum RawValue<'a> {
    Double(f64),
    Text(&'a [u8]),
    Document(&'a [u8]),
    Array(&'a [u8]),
    Binary { subtype: u8, data: &'a [u8] },
    Undefined,
    ObjectId(&'a [u8; 12]),
    Boolean(bool),
    DateTime(i64),
    Null,
    Regex { pattern: &'a [u8], options: &'a [u8] },
    DbPointer { namespace: &'a [u8], id: &'a [u8; 12] },
    Code(&'a [u8]),
    Symbol(&'a [u8]),
    CodeWithScope { code: &'a [u8], scope: &'a [u8] },
    Int32(i32),
    Timestamp { time: u32, increment: u32 },
    Int64(i64),
    Decimal128(&'a [u8; 16]),
    MinKey,
    MaxKey,
}

impl<'a> Elements<'a> {
    /// Checks the frame of `document`: its length and its terminator.
    pub(super) fn of(document: &'a [u8]) -> Result<Self, JsonError> {
        let mut bytes = Bytes(document);
        if bytes.size("a document")? != document.len() {
            return Err(JsonError::Malformed("a document's length is not its size"));
        }
        let Some((0, body)) = bytes.0.split_last() else {
            return Err(JsonError::Malformed("a document lacks its terminator"));
        };
        Ok(Self { rest: Bytes(body) })
    }

    fn read(&mut self) -> Result<Option<Element<'a>>, JsonError> {
        let Some((kind, rest)) = self.rest.0.split_first() else { return Ok(None) };
        self.rest = Bytes(rest);
        let key = self.rest.cstring("a key")?;
        Ok(Some((key, self.rest.value(*kind)?)))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.read();
        if element.is_err() {
            self.rest = Bytes(&[]);
        }
        element.transpose()
    }
}

/// Bytes not read yet. Every method takes from the front or fails.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn value(&mut self, kind: u8) -> Result<RawValue<'a>, JsonError> {
        Ok(match kind {
            0x01 => RawValue::Double(f64::from_le_bytes(*self.array("a double")?)),
            0x02 => RawValue::Text(self.string()?),
            0x03 => RawValue::Document(self.document()?),
            0x04 => RawValue::Array(self.document()?),
            0x05 => self.binary()?,
            0x06 => RawValue::Undefined,
            0x07 => RawValue::ObjectId(self.array("an ObjectId")?),
            // MongoDB takes any byte but zero for true, and so can such a byte be stored.
            0x08 => RawValue::Boolean(*self.array::<1>("a boolean")? != [0]),
            0x09 => RawValue::DateTime(i64::from_le_bytes(*self.array("a date")?)),
            0x0A => RawValue::Null,
            0x0B => RawValue::Regex {
                pattern: self.cstring("a pattern")?,
                options: self.cstring("a pattern's options")?,
            },
            0x0C => {
                RawValue::DbPointer { namespace: self.string()?, id: self.array("a DBPointer")? }
            }
            0x0D => RawValue::Code(self.string()?),
            0x0E => RawValue::Symbol(self.string()?),
            0x0F => self.code_with_scope()?,
            0x10 => RawValue::Int32(i32::from_le_bytes(*self.array("an int32")?)),
            0x11 => RawValue::Timestamp {
                increment: u32::from_le_bytes(*self.array("a timestamp")?),
                time: u32::from_le_bytes(*self.array("a timestamp")?),
            },
            0x12 => RawValue::Int64(i64::from_le_bytes(*self.array("an int64")?)),
            0x13 => RawValue::Decimal128(self.array("a decimal128")?),
            0x7F => RawValue::MaxKey,
            0xFF => RawValue::MinKey,
            unknown => return Err(JsonError::UnknownType(unknown)),
        })
    }

    fn string(&mut self) -> Result<&'a [u8], JsonError> {
        let size = self.size("a string")?;
        match self.take(size, "a string")?.split_last() {
            Some((0, text)) => Ok(text),
            _ => Err(JsonError::Malformed("a string lacks its terminator")),
        }
    }

    /// A document with its length, which is left in place for [`Elements::of`] to check.
    fn document(&mut self) -> Result<&'a [u8], JsonError> {
        let size = Bytes(self.0).size("a document")?;
        self.take(size, "a document")
    }

    fn binary(&mut self) -> Result<RawValue<'a>, JsonError> {
        let size = self.size("binary data")?;
        let [subtype] = *self.array("binary data")?;
        let data = self.take(size, "binary data")?;
        Ok(RawValue::Binary { subtype, data: without_inner_length(subtype, data) })
    }

    fn code_with_scope(&mut self) -> Result<RawValue<'a>, JsonError> {
        let size = self.document()?;
        let mut inner = Bytes(size.get(4..).unwrap_or_default());
        let value = RawValue::CodeWithScope { code: inner.string()?, scope: inner.document()? };
        match inner.0 {
            [] => Ok(value),
            _ => Err(JsonError::Malformed("code with scope is longer than its parts")),
        }
    }

    fn size(&mut self, what: &'static str) -> Result<usize, JsonError> {
        let size = i32::from_le_bytes(*self.array(what)?);
        usize::try_from(size).map_err(|_| JsonError::Malformed("a length is negative"))
    }

    fn cstring(&mut self, what: &'static str) -> Result<&'a [u8], JsonError> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(JsonError::Truncated(what))?;
        let text = self.take(end, what)?;
        self.take(1, what)?;
        Ok(text)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<&'a [u8; N], JsonError> {
        let (head, tail) = self.0.split_first_chunk().ok_or(JsonError::Truncated(what))?;
        self.0 = tail;
        Ok(head)
    }

    fn take(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], JsonError> {
        let (head, tail) = self.0.split_at_checked(size).ok_or(JsonError::Truncated(what))?;
        self.0 = tail;
        Ok(head)
    }
}

/// Subtype 2 repeats the length inside its data; drivers show the data alone.
fn without_inner_length(subtype: u8, data: &[u8]) -> &[u8] {
    match data.split_first_chunk() {
        Some((size, inner))
            if subtype == 2 && usize::try_from(i32::from_le_bytes(*size)) == Ok(inner.len()) =>
        {
            inner
        }
        _ => data,
    }
}
