//! The functions of `require("kube")`: what scripts need to know of Kubernetes.
//!
//! Each returns its answer, or nothing and a problem, which the prelude raises at the line of the script that called.

use mlua::{Lua, MultiValue, Table, Value as LuaValue};
use object::{
    Value,
    quantity::{Format, Quantity},
};

use crate::{
    native::Options,
    pod,
    script::{answer::take, arguments::put},
};

/// Where pods are that say nothing else.
const DEFAULT_NAMESPACE: &str = "default";

/// An answer, or a problem.
type Outcome = (LuaValue, Option<String>);

/// Puts the functions into the table that the prelude is given.
pub(super) fn install(lua: &Lua, native: &Table, options: Options) -> mlua::Result<()> {
    native.raw_set(
        "resourceAdd",
        lua.create_function(|lua, arguments| outcome(lua, add(lua, &arguments)))?,
    )?;
    native.raw_set(
        "getResourceQuantity",
        lua.create_function(|lua, arguments| outcome(lua, amount(&arguments)))?,
    )?;
    native.raw_set(
        "accuratePodRequirements",
        lua.create_function(move |lua, arguments| {
            outcome(lua, requirements(lua, &arguments, options))
        })?,
    )?;
    native.raw_set(
        "getPodDependencies",
        lua.create_function(|lua, arguments| outcome(lua, dependencies(lua, &arguments)))?,
    )
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "functions of a machine can fail, and these say so in their answer"
)]
fn outcome(_: &Lua, result: Result<LuaValue, String>) -> mlua::Result<Outcome> {
    Ok(match result {
        Ok(answer) => (answer, None),
        Err(problem) => (LuaValue::Nil, Some(problem)),
    })
}

/// The sum of amounts, as text.
fn add(lua: &Lua, arguments: &MultiValue) -> Result<LuaValue, String> {
    let mut sum = Quantity::from_units(0, Format::DecimalSI);
    for (position, argument) in arguments.iter().enumerate() {
        let amount = quantity("resourceAdd", position, argument)?;
        sum = sum
            .checked_add(amount)
            .ok_or("resourceAdd: the sum is too large")?;
    }
    lua.create_string(sum.to_string())
        .map(LuaValue::String)
        .map_err(|error| error.to_string())
}

/// An amount as a number.
fn amount(arguments: &MultiValue) -> Result<LuaValue, String> {
    let name = "getResourceQuantity";
    let [argument] = take_arguments(name, arguments)?;
    let number = quantity(name, 0, argument)?.to_f64();
    if number < 0.0 || !number.is_finite() {
        return Err(format!("{name}: {number} is no amount of a resource"));
    }
    Ok(LuaValue::Number(number))
}

/// What one pod of a template needs; nothing if it can run anywhere.
fn requirements(lua: &Lua, arguments: &MultiValue, options: Options) -> Result<LuaValue, String> {
    let name = "accuratePodRequirements";
    let [template] = take_arguments(name, arguments)?;
    let template = pod_template(name, template)?;
    let needs = pod::template_requirements(&template, options)
        .map_err(|error| format!("{name}: {error}"))?;
    let Some(needs) = needs else {
        return Ok(LuaValue::Nil);
    };
    give(lua, name, &needs)
}

/// What the pods of a template refer to.
fn dependencies(lua: &Lua, arguments: &MultiValue) -> Result<LuaValue, String> {
    let name = "getPodDependencies";
    let [template, namespace] = take_arguments(name, arguments)?;
    let namespace = match namespace {
        LuaValue::Nil => DEFAULT_NAMESPACE.to_owned(),
        LuaValue::String(text) => text.to_string_lossy(),
        LuaValue::Integer(number) => number.to_string(),
        LuaValue::Number(number) => number.to_string(),
        other => {
            return Err(format!(
                "{name} expects a namespace as its second argument, not {}",
                other.type_name()
            ));
        }
    };
    let template = pod_template(name, template)?;
    let references = pod::template_references(&template, &namespace)
        .map_err(|error| format!("{name}: {error}"))?;
    give(lua, name, &references)
}

/// Exactly so many arguments.
fn take_arguments<'a, const N: usize>(
    name: &str,
    arguments: &'a MultiValue,
) -> Result<[&'a LuaValue; N], String> {
    let given: Vec<&LuaValue> = arguments.iter().collect();
    given
        .try_into()
        .map_err(|given: Vec<_>| format!("{name} takes {N} arguments and got {}", given.len()))
}

fn quantity(name: &str, position: usize, argument: &LuaValue) -> Result<Quantity, String> {
    let text = match argument {
        LuaValue::Nil => return Ok(Quantity::from_units(0, Format::DecimalSI)),
        LuaValue::String(text) => text.to_string_lossy(),
        LuaValue::Integer(number) => number.to_string(),
        LuaValue::Number(number) => number.to_string(),
        other => {
            let found = other.type_name();
            let position = position + 1;
            return Err(format!(
                "{name} expects an amount as argument {position}, not {found}"
            ));
        }
    };
    text.parse()
        .map_err(|problem| format!("{name}: {text:?} is no amount of a resource: {problem}"))
}

fn pod_template(name: &'static str, argument: &LuaValue) -> Result<Value, String> {
    match argument {
        LuaValue::Table(_) => take(name, argument.clone()).map_err(|problem| problem.to_string()),
        other => Err(format!(
            "{name} expects a pod template, not {}",
            other.type_name()
        )),
    }
}

fn give(lua: &Lua, name: &str, answer: &impl serde::Serialize) -> Result<LuaValue, String> {
    let document = serde_json::to_value(answer).map_err(|error| format!("{name}: {error}"))?;
    put(lua, &document).map_err(|error| error.to_string())
}
