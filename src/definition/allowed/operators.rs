//! The lists: what MongoDB 6.0 and 7.0 evaluate inside a change stream without side effects, without
//! reading anything but the event, and with the same answer each time.

/// Every stage a definition may use.
pub(super) const STAGES: &[&str] = &[
    "$addFields",
    "$match",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$set",
    "$unset",
];

/// Stages that read or write other collections; refused in RESTHeart's words.
pub(super) const BLACKLISTED_STAGES: &[&str] =
    &["$graphLookup", "$lookup", "$merge", "$out", "$unionWith"];

/// Operators that run code; refused in RESTHeart's words.
pub(super) const BLACKLISTED_OPERATORS: &[&str] = &["$accumulator", "$function", "$where"];

/// Operators that exist but cannot be used, with the reason.
pub(super) const UNUSABLE: &[(&str, &str)] = &[
    ("$ifvar", "an optional stage stands only as an element of `stages`, not inside a stage"),
    ("$meta", "it needs a text or vector search, which change streams do not have"),
    ("$near", "it sorts by distance, which change streams cannot; use $geoWithin"),
    ("$nearSphere", "it sorts by distance, which change streams cannot; use $geoWithin"),
    ("$geoNear", "it sorts by distance, which change streams cannot; use $geoWithin"),
    ("$rand", "it gives another answer each time, so events could not be replayed"),
    ("$sampleRate", "it gives another answer each time, so events could not be replayed"),
    ("$text", "it needs a text index, which change streams do not have; use $regex"),
    ("$var", "it must be the only key of its document: {\"$var\": \"name\"}"),
];

/// Operators of `$match` that stand where a field name could.
pub(super) const LOGICAL: &[&str] = &["$and", "$comment", "$expr", "$jsonSchema", "$nor", "$or"];

/// Operators of `$match` on one field that a change stream answers as a read does. (`$comment` is known
/// only beside fields, not on one.)
pub(crate) const FIELD_OPERATORS: &[&str] = &[
    "$all",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$elemMatch",
    "$eq",
    "$exists",
    "$geoIntersects",
    "$geoWithin",
    "$gt",
    "$gte",
    "$in",
    "$lt",
    "$lte",
    "$mod",
    "$ne",
    "$nin",
    "$not",
    "$options",
    "$regex",
    "$size",
    "$type",
];

/// Keys starting with `$` that belong to a value of `$match`: shapes, and references to documents.
pub(super) const VALUE_KEYS: &[&str] =
    &["$box", "$center", "$centerSphere", "$db", "$geometry", "$id", "$polygon", "$ref"];

/// Aggregation expressions.
#[rustfmt::skip]
pub(super) const EXPRESSIONS: &[&str] = &[
    // arithmetic and trigonometry
    "$abs", "$add", "$ceil", "$divide", "$exp", "$floor", "$ln", "$log", "$log10", "$mod",
    "$multiply", "$pow", "$round", "$sqrt", "$subtract", "$trunc", "$acos", "$acosh", "$asin",
    "$asinh", "$atan", "$atan2", "$atanh", "$cos", "$cosh", "$degreesToRadians",
    "$radiansToDegrees", "$sin", "$sinh", "$tan", "$tanh",
    // bits
    "$bitAnd", "$bitNot", "$bitOr", "$bitXor",
    // logic, comparison, conditions
    "$and", "$not", "$or", "$cmp", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne", "$cond", "$ifNull",
    "$switch", "$let", "$literal",
    // arrays and sets
    "$arrayElemAt", "$arrayToObject", "$concatArrays", "$filter", "$first", "$firstN", "$in",
    "$indexOfArray", "$isArray", "$last", "$lastN", "$map", "$maxN", "$minN", "$objectToArray",
    "$range", "$reduce", "$reverseArray", "$size", "$slice", "$sortArray", "$zip",
    "$allElementsTrue", "$anyElementTrue", "$setDifference", "$setEquals", "$setIntersection",
    "$setIsSubset", "$setUnion",
    // numbers over arrays
    "$avg", "$max", "$median", "$min", "$percentile", "$stdDevPop", "$stdDevSamp", "$sum",
    // dates and timestamps
    "$dateAdd", "$dateDiff", "$dateFromParts", "$dateFromString", "$dateSubtract", "$dateToParts",
    "$dateToString", "$dateTrunc", "$dayOfMonth", "$dayOfWeek", "$dayOfYear", "$hour",
    "$isoDayOfWeek", "$isoWeek", "$isoWeekYear", "$millisecond", "$minute", "$month", "$second",
    "$toDate", "$week", "$year", "$tsIncrement", "$tsSecond",
    // strings
    "$concat", "$indexOfBytes", "$indexOfCP", "$ltrim", "$regexFind", "$regexFindAll",
    "$regexMatch", "$replaceAll", "$replaceOne", "$rtrim", "$split", "$strLenBytes", "$strLenCP",
    "$strcasecmp", "$substr", "$substrBytes", "$substrCP", "$toLower", "$toUpper", "$trim",
    // objects, types, sizes
    "$getField", "$mergeObjects", "$setField", "$unsetField", "$binarySize", "$bsonSize",
    "$convert", "$isNumber", "$toBool", "$toDecimal", "$toDouble", "$toInt", "$toLong",
    "$toObjectId", "$toString", "$type", "$toHashedIndexKey",
];

/// Stages MongoDB has that a change stream refuses, so that they are told from a misspelling.
#[rustfmt::skip]
pub(super) const OTHER_STAGES: &[&str] = &[
    "$bucket", "$bucketAuto", "$changeStream", "$collStats", "$count", "$currentOp", "$densify",
    "$documents", "$facet", "$fill", "$geoNear", "$group", "$indexStats", "$limit",
    "$listSessions", "$planCacheStats", "$sample", "$search", "$setWindowFields", "$skip", "$sort",
    "$sortByCount", "$unwind",
];
