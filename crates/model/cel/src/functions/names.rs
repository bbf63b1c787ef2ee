//! Named rules for texts: `format.dns1123Label().validate(name)`.

use object::names;

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (&["format.named(string) optional(Format)"], named),
    (&["format.dns1123Label() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1123Label))
    }),
    (&["format.dns1123Subdomain() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1123Subdomain))
    }),
    (&["format.dns1035Label() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1035Label))
    }),
    (&["format.qualifiedName() Format"], |_, _| {
        Ok(Value::Format(Format::QualifiedName))
    }),
    (&["format.dns1123LabelPrefix() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1123LabelPrefix))
    }),
    (&["format.dns1123SubdomainPrefix() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1123SubdomainPrefix))
    }),
    (&["format.dns1035LabelPrefix() Format"], |_, _| {
        Ok(Value::Format(Format::Dns1035LabelPrefix))
    }),
    (&["format.labelValue() Format"], |_, _| {
        Ok(Value::Format(Format::LabelValue))
    }),
    (&["format.uri() Format"], |_, _| {
        Ok(Value::Format(Format::Uri))
    }),
    (&["format.uuid() Format"], |_, _| {
        Ok(Value::Format(Format::Uuid))
    }),
    (&["format.byte() Format"], |_, _| {
        Ok(Value::Format(Format::Byte))
    }),
    (&["format.date() Format"], |_, _| {
        Ok(Value::Format(Format::Date))
    }),
    (&["format.datetime() Format"], |_, _| {
        Ok(Value::Format(Format::Datetime))
    }),
    (
        &["Format.validate(string) optional(list(string))"],
        validate,
    ),
];

/// A named rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A name in the DNS.
    Dns1123Label,
    /// Several of them with dots between.
    Dns1123Subdomain,
    /// A name in the DNS that begins with a letter.
    Dns1035Label,
    /// A label's key.
    QualifiedName,
    /// The beginning of a name.
    Dns1123LabelPrefix,
    /// The beginning of names with dots.
    Dns1123SubdomainPrefix,
    /// The beginning of a name that begins with a letter.
    Dns1035LabelPrefix,
    /// A label's value.
    LabelValue,
    /// An address of the web.
    Uri,
    /// A unique identifier.
    Uuid,
    /// Bytes in base64.
    Byte,
    /// A day.
    Date,
    /// A point in time.
    Datetime,
}

fn named<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(name)] = args else {
        return Err(Fault::no_overload());
    };
    let format = match &**name {
        "dns1123Label" => Format::Dns1123Label,
        "dns1123Subdomain" => Format::Dns1123Subdomain,
        "dns1035Label" => Format::Dns1035Label,
        "qualifiedName" => Format::QualifiedName,
        "dns1123LabelPrefix" => Format::Dns1123LabelPrefix,
        "dns1123SubdomainPrefix" => Format::Dns1123SubdomainPrefix,
        "dns1035LabelPrefix" => Format::Dns1035LabelPrefix,
        "labelValue" => Format::LabelValue,
        "uri" => Format::Uri,
        "uuid" => Format::Uuid,
        "byte" => Format::Byte,
        "date" => Format::Date,
        "datetime" => Format::Datetime,
        _ => return Ok(Value::Optional(None)),
    };
    Ok(Value::Format(format).some())
}

fn validate<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Format(format), Value::String(text)] = args else {
        return Err(Fault::no_overload());
    };
    meter.pay_for_bytes(text.len().saturating_mul(4))?;
    let problems = problems(*format, text);
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    let problems: Vec<Value<'a>> = problems.into_iter().map(Into::into).collect();
    Ok(Value::from(problems).some())
}

fn problems(format: Format, text: &str) -> Vec<String> {
    /// The beginning of a name may end where the name may not.
    fn completed(text: &str) -> String {
        match text.strip_suffix('-') {
            Some(rest) => format!("{rest}a"),
            None => text.to_owned(),
        }
    }
    let by_schema = |name: &str, refusal: &str| match schema::matches_format(name, text) {
        Some(true) | None => Vec::new(),
        Some(false) => vec![refusal.to_owned()],
    };
    match format {
        Format::Dns1123Label => names::check_dns1123_label(text),
        Format::Dns1123Subdomain => names::check_dns1123_subdomain(text),
        Format::Dns1035Label => names::check_dns1035_label(text),
        Format::QualifiedName => names::check_qualified_name(text),
        Format::Dns1123LabelPrefix => names::check_dns1123_label(&completed(text)),
        Format::Dns1123SubdomainPrefix => names::check_dns1123_subdomain(&completed(text)),
        Format::Dns1035LabelPrefix => names::check_dns1035_label(&completed(text)),
        Format::LabelValue => names::check_label_value(text),
        Format::Uri => by_schema("uri", "invalid URI"),
        Format::Uuid => by_schema("uuid", "does not match the UUID format"),
        Format::Byte => by_schema("byte", "invalid base64"),
        Format::Date => by_schema("date", "invalid date"),
        Format::Datetime => by_schema("date-time", "invalid datetime"),
    }
}
