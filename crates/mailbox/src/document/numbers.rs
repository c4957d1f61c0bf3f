//! The text of a number in the JSON that is written and hashed. `docs/dev/protocol.md` defines it. The text must not change with a library,
//! because hashes and signatures cover it.

use std::io;

use serde_json::Number;
use serde_json::ser::Formatter;

/// Compact JSON with numbers in the protocol's form.
pub(super) struct Compact;

impl Formatter for Compact {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(of_float(value).as_bytes())
    }
}

/// Returns a finite number of 64 bits with a decimal point or an exponent, in the fewest digits that tell it from every other. Zero has no
/// sign.
pub(super) fn of_float(number: f64) -> String {
    if number == 0.0 {
        return "0.0".into();
    }
    // Such as `-1.25e-7`: one digit, the others, and the power of ten.
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-5..16).contains(&exponent) {
        return text;
    }
    let digits = digits.replace('.', "");
    match usize::try_from(exponent + 1) {
        Ok(whole @ 1..) if whole < digits.len() => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
        Ok(whole @ 1..) => format!("{sign}{digits:0<whole$}.0"),
        _ => format!("{sign}0.{}{digits}", "0".repeat((-1 - exponent).unsigned_abs() as usize)),
    }
}

/// Returns the text that a number is read as, where a text is expected: without an exponent, and without a fraction that is zero. So it does not
/// matter how a program spells the number.
pub(crate) fn as_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        // Without the sign of a minus zero.
        Some(float) => (float + 0.0).to_string(),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text_whatever_its_size() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (1234.5, "1234.5"),
            (1e15, "1000000000000000.0"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1e16, "1e16"),
            (-1.5e16, "-1.5e16"),
            (1e21, "1e21"),
            (1e22, "1e22"),
            (1e-5, "0.00001"),
            (0.000_012_34, "0.00001234"),
            (1e-6, "1e-6"),
            (-1.25e-7, "-1.25e-7"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(of_float(number), text);
            assert_eq!(text.parse::<f64>().unwrap().abs().to_bits(), number.abs().to_bits());
        }
    }

    #[test]
    fn a_number_where_a_text_is_expected_is_read_in_one_way() {
        let read = |json: &str| as_text(&serde_json::from_str(json).unwrap());
        for (json, text) in [
            ("5", "5"),
            ("-5", "-5"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "18446744073709552000"),
            ("3.0", "3"),
            ("2.50", "2.5"),
            ("3e0", "3"),
            ("1e+16", "10000000000000000"),
            ("1e-7", "0.0000001"),
            ("0.0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
        ] {
            assert_eq!(read(json), text, "{json}");
        }
    }
}
