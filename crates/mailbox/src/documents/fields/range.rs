//! The numbers that are an answer to a question of type `number`.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, excerpt, one_line};

/// The bounds of a number, and what it counts. Each of them may be missing.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Range {
    /// The smallest number that is an answer.
    pub min: Option<f64>,
    /// The largest one.
    pub max: Option<f64>,
    /// The distance between two answers, counted from `min`, or from 0 where that is missing.
    pub step: Option<f64>,
    /// What is counted, such as `GB`. It is shown. A person may write it behind the number, and it is left out of the answer.
    pub unit: Option<String>,
}

impl Range {
    /// True if no bound, step or unit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses bounds that are infinite or in the wrong order, and a step that is not above 0. `field` is the name of the range in
    /// messages.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the bound, such as `range.step`.
    pub fn check(&self, field: &str) -> Result<()> {
        let wrong = |name: &str, problem: &str, fix: &str| Err(Error::invalid(format!("{field}.{name}"), problem, fix));
        if [self.min, self.max, self.step].into_iter().flatten().any(|bound| !bound.is_finite()) {
            return Err(Error::invalid(field, "has a bound that is too large", "write numbers of 64 bits"));
        }
        if self.step.is_some_and(|step| step <= 0.0) {
            return wrong("step", "is not above 0", "write the distance between two answers, or leave it out");
        }
        if self.min.zip(self.max).is_some_and(|(min, max)| min > max) { wrong("min", "is above max", "exchange them") } else { Ok(()) }
    }

    /// True if this number is an answer.
    pub fn holds(&self, number: f64) -> bool {
        let is_a_step = |step: f64| {
            let steps = (number - self.min.unwrap_or_default()) / step;
            // 0.3 counts as three steps of 0.1, although in binary it is not exactly three.
            (steps - steps.round()).abs() <= 1e-9 * steps.abs().max(1.0)
        };
        self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max) && self.step.is_none_or(is_a_step)
    }

    /// Returns a number without the unit behind it: `5` of `5 GB`. Another text stays as it is.
    pub fn without_unit<'a>(range: Option<&Self>, text: &'a str) -> &'a str {
        let text = text.trim();
        let unit = range.and_then(|range| range.unit.as_deref()).map_or("", str::trim);
        let number = text.strip_suffix(unit).map(str::trim_end).filter(|number| number.parse::<f64>().is_ok());
        // A unit may be `0` or `e5`, so a text that is a number is not cut.
        number.filter(|_| text.parse::<f64>().is_err()).unwrap_or(text)
    }

    /// Returns the range for a person: `a number from 1 to 9, in steps of 2, in GB`.
    pub fn words(&self) -> String {
        let bounds = match (self.min, self.max) {
            (Some(min), Some(max)) => Some(format!("from {min} to {max}")),
            (Some(min), None) => Some(format!("of at least {min}")),
            (None, Some(max)) => Some(format!("of at most {max}")),
            (None, None) => None,
        };
        let whole = if self.step == Some(1.0) && self.min.unwrap_or_default().fract() == 0.0 { "whole " } else { "" };
        let mut words = format!("a {whole}number");
        words.extend(bounds.map(|bounds| format!(" {bounds}")));
        words.extend(self.step.filter(|_| whole.is_empty()).map(|step| format!(", in steps of {step}")));
        words.extend(self.unit.as_deref().map(|unit| format!(", in {}", excerpt(&one_line(unit), 40))));
        words
    }
}

/// The reason why a text does not answer a question of type `number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberProblem {
    /// What is wrong, such as ``"`abc` is not a number"``.
    pub problem: String,
    /// The numbers that are an answer.
    pub wanted: String,
}

impl NumberProblem {
    /// Returns the problem with a text, or `None` if the text is a number that lies in the range, perhaps with its unit.
    pub fn of(text: &str, range: Option<&Range>) -> Option<Self> {
        let (text, wanted) =
            (Range::without_unit(range, text), range.map_or_else(|| "a number such as 42 or 0.5".to_owned(), Range::words));
        let problem = match text.parse::<f64>() {
            Ok(number) if number.is_finite() && range.is_none_or(|range| range.holds(number)) => return None,
            Ok(number) if number.is_finite() => format!("`{}` is not {wanted}", excerpt(text, 60)),
            _ => format!("`{}` is not a number", excerpt(text, 60)),
        };
        Some(Self { problem, wanted })
    }

    /// Returns the problem and the numbers that are an answer as one sentence.
    pub fn sentence(&self) -> String {
        let Self { problem, wanted } = self;
        if problem.ends_with(wanted) { problem.clone() } else { format!("{problem}; write {wanted}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(json: &str) -> Range {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_number_must_lie_between_the_bounds_and_on_a_step() {
        let tenths = range(r#"{"min":0.1,"max":0.9,"step":0.1}"#);
        assert!([0.1, 0.3, 0.7, 0.9].into_iter().all(|n| tenths.holds(n)));
        assert!(![0.0, 0.15, 1.0].into_iter().any(|n| tenths.holds(n)));
        let odd = range(r#"{"min":1,"step":2}"#);
        assert!(odd.holds(7.0) && !odd.holds(8.0) && !odd.holds(-1.0));
        assert!(range(r#"{"step":5}"#).holds(-10.0) && range("{}").holds(f64::MAX));
    }

    #[test]
    fn bounds_without_a_number_between_them_are_refused() {
        for wrong in [r#"{"min":2,"max":1}"#, r#"{"step":0}"#, r#"{"step":-1}"#] {
            assert!(range(wrong).check("range").is_err(), "{wrong}");
        }
        assert!(range(r#"{"min":1,"max":1,"step":3}"#).check("range").is_ok());
    }

    #[test]
    fn bounds_are_told_in_words() {
        assert_eq!(range(r#"{"min":1,"max":16,"step":1,"unit":"processes"}"#).words(), "a whole number from 1 to 16, in processes");
        assert_eq!(range(r#"{"min":0.5,"step":0.5}"#).words(), "a number of at least 0.5, in steps of 0.5");
        assert_eq!(range(r#"{"max":9}"#).words(), "a number of at most 9");
    }

    #[test]
    fn a_wrong_number_is_told_with_what_is_expected() {
        let bounded = range(r#"{"min":1,"max":9}"#);
        let said = |text: &str, range: Option<&Range>| NumberProblem::of(text, range).map(|problem| problem.sentence());
        assert_eq!(said("abc", None).unwrap(), "`abc` is not a number; write a number such as 42 or 0.5");
        assert_eq!(said(" abc ", Some(&bounded)).unwrap(), "`abc` is not a number; write a number from 1 to 9");
        assert_eq!(said("10", Some(&bounded)).unwrap(), "`10` is not a number from 1 to 9");
        assert_eq!(said("inf", None).unwrap(), "`inf` is not a number; write a number such as 42 or 0.5");
        assert!(said(" 9 ", Some(&bounded)).is_none() && said("-0.5", None).is_none());
    }
}
