//! Questions about permissions.

use std::sync::Arc;

use super::{Outcome, Row};
use crate::authorizer::{Check, Decision, Question};
use crate::evaluate::{Fault, Meter};
use crate::ty::Opaque;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (&["Authorizer.path(string) PathCheck"], path),
    (&["Authorizer.group(string) GroupCheck"], group),
    (
        &["Authorizer.serviceAccount(string, string) Authorizer"],
        service_account,
    ),
    (&["GroupCheck.resource(string) ResourceCheck"], resource),
    (
        &["ResourceCheck.subresource(string) ResourceCheck"],
        subresource,
    ),
    (
        &["ResourceCheck.namespace(string) ResourceCheck"],
        namespace,
    ),
    (&["ResourceCheck.name(string) ResourceCheck"], name),
    (
        &["ResourceCheck.fieldSelector(string) ResourceCheck"],
        field_selector,
    ),
    (
        &["ResourceCheck.labelSelector(string) ResourceCheck"],
        label_selector,
    ),
    (
        &[
            "PathCheck.check(string) Decision",
            "ResourceCheck.check(string) Decision",
        ],
        check,
    ),
    (&["Decision.allowed() bool"], allowed),
    (&["Decision.reason() string"], reason),
    (&["Decision.errored() bool"], errored),
    (&["Decision.error() string"], error),
];

/// What a question to the roles costs, as upstream has it.
const CHECK_COST: u64 = 350_000;

fn said<'a>(
    args: &[Value<'a>],
    from: Opaque,
    to: Opaque,
    say: impl FnOnce(&mut Question, Arc<str>),
) -> Outcome<'a> {
    let [Value::Check(check), Value::String(text)] = args else {
        return Err(Fault::no_overload());
    };
    let text: Arc<str> = Arc::from(&**text);
    let next: Check<'a> = check.with(from, to, |question| say(question, text))?;
    Ok(Value::Check(Arc::new(next)))
}

fn path<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(
        args,
        Opaque::Authorizer,
        Opaque::PathCheck,
        |question, text| {
            question.path = Some(text);
        },
    )
}

fn group<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(
        args,
        Opaque::Authorizer,
        Opaque::GroupCheck,
        |question, text| {
            question.group = text;
        },
    )
}

fn service_account<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [
        Value::Check(check),
        Value::String(namespace),
        Value::String(name),
    ] = args
    else {
        return Err(Fault::no_overload());
    };
    let account = (Arc::from(&**namespace), Arc::from(&**name));
    let next: Check<'a> = check.with(Opaque::Authorizer, Opaque::Authorizer, |question| {
        question.service_account = Some(account);
    })?;
    Ok(Value::Check(Arc::new(next)))
}

const ABOUT: Opaque = Opaque::ResourceCheck;

fn resource<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, Opaque::GroupCheck, ABOUT, |question, text| {
        question.resource = text
    })
}

fn subresource<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, ABOUT, ABOUT, |question, text| {
        question.subresource = text
    })
}

fn namespace<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, ABOUT, ABOUT, |question, text| {
        question.namespace = text
    })
}

fn name<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, ABOUT, ABOUT, |question, text| question.name = text)
}

fn field_selector<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, ABOUT, ABOUT, |question, text| {
        question.field_selector = text
    })
}

fn label_selector<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    said(args, ABOUT, ABOUT, |question, text| {
        question.label_selector = text
    })
}

fn check<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Check(check), Value::String(verb)] = args else {
        return Err(Fault::no_overload());
    };
    if !matches!(check.stage, Opaque::PathCheck | Opaque::ResourceCheck) {
        return Err(Fault::no_overload());
    }
    meter.pay(CHECK_COST)?;
    Ok(Value::Decision(Arc::new(check.decide(verb))))
}

fn decision<'v>(args: &'v [Value<'_>]) -> Result<&'v Decision, Fault> {
    match args {
        [Value::Decision(decision)] => Ok(decision),
        _ => Err(Fault::no_overload()),
    }
}

fn allowed<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(decision(args)?.allowed))
}

fn reason<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(decision(args)?.reason.clone().into())
}

fn errored<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(decision(args)?.error.is_some()))
}

fn error<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(decision(args)?.error.clone().unwrap_or_default().into())
}
