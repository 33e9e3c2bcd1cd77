use super::{Kind, Node, parse, read};

fn shown(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(value) => value.to_string(),
        Kind::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Kind::Map(entries) => {
            let pair = |entry: &super::Entry| {
                format!("{}@{}:{}={}", entry.key, entry.mark.0, entry.mark.1, shown(&entry.value))
            };
            format!("{{{}}}", entries.iter().map(pair).collect::<Vec<_>>().join(" "))
        }
    }
}

fn check(text: &str, expected: &str) {
    let read = match parse(text) {
        Ok(node) => shown(&node),
        Err(((line, column), reason)) => format!("{line}:{column} {reason}"),
    };
    assert!(read.contains(expected), "{text:?}: {read}");
}

/// What stands in a file is kept with its place, and what BSON cannot hold is refused with a remedy.
#[test]
fn values_have_places_and_limits() {
    check("a: 1\nb: [x, 2.5, null, true]\n", r#"{a@1:1=1 b@2:1=["x" 2.5 null true]}"#);
    check(r#"{"a": {"b": "c"}}"#, r#"{a@1:2={b@1:8="c"}}"#);
    check("a: yes", r#""yes""#);
    check("a: 9223372036854775807", "9223372036854775807");
    check("a: 9223372036854775808", "does not fit 64 bits; write {$numberDecimal");
    check("a: .inf", "write {$numberDouble: \"inf\"}");
    check("a: .nan", "write {$numberDouble");
    check("\"a\\0b\": 1", "a field name cannot hold a NUL character");
    check("a: [1", "1:");
}

/// A file that cannot be read does not hide the others, nor the others it.
#[test]
fn each_file_of_a_folder_is_read_or_named() {
    let folder =
        std::env::temp_dir().join(format!("tailwater-yaml-{:016x}", rand::random::<u64>()));
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("b.yaml", b"b: 1");
    write("a.json", b"{}");
    write("bad.yml", &[0xff]);
    write(".b.yaml", b"an editor's");
    write("notes.txt", b"no declaration");
    let (texts, notes) = read(&folder);
    let names: Vec<_> = texts.iter().filter_map(|(file, _)| file.file_name()).collect();
    assert_eq!(names, ["a.json", "b.yaml"]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].to_string().contains("bad.yml: cannot be read"), "{}", notes[0]);
    let (texts, notes) = read(&folder.join("none"));
    assert!(texts.is_empty() && notes[0].to_string().contains("none: cannot be read"));
    std::fs::remove_dir_all(&folder).unwrap();
}
