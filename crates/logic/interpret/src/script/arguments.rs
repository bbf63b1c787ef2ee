//! Values on their way into a machine.
//!
//! Copied once, table by table: a table of the machine is made with room for all its fields and filled in one go.

use api::work::{ResourceHealth, v1alpha2::AggregatedStatusItem};
use mlua::{IntoLua, Lua, Value as LuaValue};
use object::{Map, Object, Value};

/// What a function of a script is called with.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// An object.
    Object(&'a Object),
    /// A number of replicas.
    Number(i32),
    /// What members reported.
    Items(&'a [AggregatedStatusItem]),
}

/// A value of a document on its way in.
struct Json<'a>(&'a Value);

/// The fields of an object on their way in.
struct Fields<'a>(&'a Map);

/// A member's report on its way in.
struct Item<'a>(&'a AggregatedStatusItem);

/// Puts a document into the machine.
pub(super) fn put(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Json(value).into_lua(lua)
}

impl<'a> Argument<'a> {
    /// The object, if it is one.
    pub(super) fn object(&self) -> Option<&'a Object> {
        match self {
            Self::Object(object) => Some(object),
            Self::Number(_) | Self::Items(_) => None,
        }
    }
}

impl IntoLua for Argument<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        match self {
            Self::Object(object) => Fields(object.fields()).into_lua(lua),
            Self::Number(number) => Ok(LuaValue::Number(f64::from(number))),
            Self::Items(items) => {
                let items = items.iter().map(Item);
                lua.create_sequence_from(items).map(LuaValue::Table)
            }
        }
    }
}

impl IntoLua for Json<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        match self.0 {
            Value::Null => Ok(LuaValue::Nil),
            Value::Bool(truth) => Ok(LuaValue::Boolean(*truth)),
            Value::Number(number) => Ok(LuaValue::Number(number.as_f64().unwrap_or_default())),
            Value::String(text) => lua.create_string(text).map(LuaValue::String),
            Value::Array(elements) => {
                // A hole would end the list early, so nothing is no element.
                let elements = elements.iter().filter(|element| !element.is_null());
                lua.create_sequence_from(elements.map(Json))
                    .map(LuaValue::Table)
            }
            Value::Object(fields) => Fields(fields).into_lua(lua),
        }
    }
}

impl IntoLua for Fields<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        let fields = self
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), Json(value)));
        lua.create_table_from(fields).map(LuaValue::Table)
    }
}

impl IntoLua for Item<'_> {
    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaValue> {
        let item = self.0;
        let table = lua.create_table_with_capacity(0, 5)?;
        table.raw_set("clusterName", item.cluster_name.as_str())?;
        if let Some(status) = &item.status {
            table.raw_set("status", Json(status))?;
        }
        if item.applied {
            table.raw_set("applied", true)?;
        }
        if !item.applied_message.is_empty() {
            table.raw_set("appliedMessage", item.applied_message.as_str())?;
        }
        if let Some(health) = item.health {
            let health = match health {
                ResourceHealth::Healthy => "Healthy",
                ResourceHealth::Unhealthy => "Unhealthy",
                ResourceHealth::Unknown => "Unknown",
            };
            table.raw_set("health", health)?;
        }
        Ok(LuaValue::Table(table))
    }
}
