//! The promises of a document: no field that this version does not know is lost, and every refusal names the field.

use crate::document::*;

#[derive(Debug, Serialize, Deserialize)]
struct Sample {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
}

#[test]
fn a_wrong_value_deep_inside_is_named_by_its_path() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Deep {
        #[serde(default)]
        parts: Vec<Sample>,
    }
    let cases = [
        (r#"{"parts": [{"name": "a"}, {"name": "b", "count": -1}]}"#, "parts[1].count: invalid value"),
        (r#"{"x": "]}{", "parts": [{"name": "a"}, {"count": 1}]}"#, "parts[1]: missing field `name`"),
        (r#"{"parts": 7}"#, "parts: invalid type: integer `7`"),
        (r#"{"parts": [{"name": {"z": 1}}]}"#, "parts[0].name: invalid type: map"),
    ];
    for (text, expected) in cases {
        let error = Document::<Deep>::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say {expected}");
    }
}

fn parse(text: &str) -> Result<Document<Sample>> {
    Document::parse(text.as_bytes())
}

#[test]
fn a_list_of_the_fields_is_no_document_and_no_line() {
    assert!(json::<Sample>(br#"{"name":"a","count":1}"#).is_some());
    assert!(json::<Sample>(br#"["a",1]"#).is_none() && json::<Sample>(br#"{"name":"a"} {}"#).is_none());
    assert!(json::<Sample>(b"{\"name\":\"a\",\"unknown\":\"\xff\"}").is_none(), "not UTF-8");
    assert!(parse(r#"["a",1]"#).unwrap_err().to_string().contains("expected a JSON object"));
}

#[test]
fn a_byte_order_mark_is_skipped_and_not_written_again() {
    let document = parse("\u{feff}{\"name\": \"a\"}").unwrap();
    assert_eq!(document.to_bytes(), parse(r#"{"name": "a"}"#).unwrap().to_bytes());
    assert!(json::<Sample>("\u{feff}{\"name\":\"a\",\"count\":1}".as_bytes()).is_some());
    assert!(parse("\u{feff}\u{feff}{}").is_err(), "one mark is the mark of an editor");
}

#[test]
fn unknown_fields_survive_a_rewrite_to_the_digit() {
    let mut document =
        parse(r#"{"x": 1.10000000000000000000000001, "name": "a", "y": {"b": 12345678901234567890123456, "a": [1 , 2]}}"#).unwrap();
    document.typed.count = Some(3);
    document.update().unwrap();
    let text = String::from_utf8(document.to_bytes()).unwrap();
    assert!(text.contains("1.10000000000000000000000001") && text.contains("12345678901234567890123456") && text.contains("[1 , 2]"));
    assert!(text.contains(r#""count": 3"#));
    assert_eq!(parse(&text).unwrap().typed.count, Some(3));
}

#[test]
fn unknown_fields_inside_an_unchanged_field_survive_too() {
    #[derive(Serialize, Deserialize)]
    struct Outer {
        list: Vec<Sample>,
        #[serde(default)]
        n: u32,
    }
    let mut document = Document::<Outer>::parse(br#"{"list":[{"name":"a","mine":[1.0]}]}"#).unwrap();
    document.typed.n = 2;
    document.update().unwrap();
    assert_eq!(document.field("list"), Some(r#"[{"name":"a","mine":[1.0]}]"#));
    document.typed.list[0].name = "b".into();
    document.update().unwrap();
    assert_eq!(document.field("list"), Some(r#"[{"name":"b"}]"#));
}

#[test]
fn a_field_that_is_set_by_its_name_outlives_the_next_change() {
    let mut document = parse(r#"{"name": "a", "count": 1}"#).unwrap();
    document.set_field("mine", &2).unwrap();
    document.set_field("count", &3).unwrap();
    document.typed.name = "b".into();
    document.update().unwrap();
    assert_eq!(["name", "count", "mine"].map(|name| document.field(name)), [Some(r#""b""#), Some("3"), Some("2")]);
    document.typed.count = None;
    document.update().unwrap();
    assert_eq!(document.names().collect::<Vec<_>>(), ["name", "mine"]);
}

#[test]
fn fields_keep_their_order_and_the_spelling_of_their_names() {
    let text = "{\n  \"q\\\\\": \"}],:\\\\\\\"{\",\n  \"name\": \"a\",\n  \"caf\\u00e9\": {},\n  \"\": null\n}\n";
    let mut document = parse(text).unwrap();
    document.update().unwrap();
    assert_eq!(String::from_utf8(document.to_bytes()).unwrap(), text);
    document.set_field("café", &1).unwrap();
    assert_eq!((document.field("café"), document.field("q\\")), (Some("1"), Some(r#""}],:\\\"{""#)));
    assert!(String::from_utf8(document.to_bytes()).unwrap().contains(r#""caf\u00e9": 1"#));
}

#[test]
fn hostile_json_is_refused_with_the_field_named() {
    let deep = format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        ("", "file: ends in the middle"),
        (r#"{"name": "a""#, "file: ends in the middle"),
        ("[1]", "file: invalid type"),
        ("7", "file: invalid type: integer `7`"),
        (r#"{"name": "a", "z": 1, "z": 2}"#, "z: is there twice"),
        (r#"{"name": "a", "zz": 1, "z\u007a": 2}"#, "zz: is there twice"),
        (r#"{"name": 5}"#, "name: invalid type: integer `5`, expected a string"),
        (r#"{"z": {"y": [1]}, "name": "a", "count": "b"}"#, "count: invalid type: string \"b\", expected a whole number from 0"),
        ("{\n\"name\": [\n\"a\"]}", "name: invalid type: sequence, expected a string"),
        (r#"{"count": 5}"#, "missing field `name`"),
        (r#"{"name": "a"} trailing"#, "file: trailing characters"),
        (deep.as_str(), "nests deeper"),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error} does not say {expected}");
        assert_eq!(error.exit_code(), 5);
    }
    assert!(Document::<Sample>::parse(b"{\"name\": \"\xff\"}").unwrap_err().to_string().contains("not valid UTF-8"));
}
