//! How a long text is looked for in another.
//!
//! The machine's own search begins anew at every place where the first byte fits. Of two texts that repeat themselves that
//! takes as many steps as both are long, multiplied, and nobody can stop it; this takes as many as both are long, added.

use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value as LuaValue};

/// Without any of these a pattern is a text.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Puts the functions into the table that the prelude is given.
pub(super) fn install(lua: &Lua, native: &Table) -> mlua::Result<()> {
    native.raw_set(
        "isPattern",
        lua.create_function(|_, pattern: LuaString| {
            let bytes = pattern.as_bytes();
            Ok(bytes.iter().any(|byte| SPECIAL.contains(byte)))
        })?,
    )?;
    native.raw_set(
        "find",
        lua.create_function(
            |lua,
             (text, sought, first): (LuaString, LuaString, Option<f64>)|
             -> mlua::Result<MultiValue> {
                match find(&text.as_bytes(), &sought.as_bytes(), first.unwrap_or(1.0)) {
                    Some(places) => places.into_lua_multi(lua),
                    None => LuaValue::Nil.into_lua_multi(lua),
                }
            },
        )?,
    )
}

/// The first and the last place of a text in another, counted from 1, from the place `first` on; one before the first is
/// counted from the end.
fn find(text: &[u8], sought: &[u8], first: f64) -> Option<(usize, usize)> {
    let end = text.len() as f64 + 1.0;
    let first = first.trunc();
    let first = if first < 0.0 { end + first } else { first };
    // A place that is none is the first one, and what lies beyond the end is found nowhere.
    let skipped = (first.clamp(1.0, end + 1.0) as usize).saturating_sub(1);
    let rest = text.get(skipped..)?;
    // Every byte is a letter, so that texts can be searched, which the language does in a time that both add up to.
    let letters = |bytes: &[u8]| -> String { bytes.iter().copied().map(char::from).collect() };
    let (rest, sought) = (letters(rest), letters(sought));
    let at = rest.find(&sought)?;
    let before = skipped + rest.get(..at)?.chars().count();
    Some((before + 1, before + sought.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_where_the_machine_finds_them() {
        let lua = Lua::new();
        let theirs: mlua::Function = lua.load("string.find").eval().unwrap();
        let places = [-9.0, -3.0, -1.0, 0.0, 1.0, 1.9, 2.0, 4.0, 5.0, 6.0, 9.0];
        for (text, sought) in [
            (&b"abab"[..], &b"ab"[..]),
            (b"abab", b"b"),
            (b"abab", b""),
            (b"abab", b"ba"),
            (b"abab", b"c"),
            (b"abab", b"ababa"),
            (b"", b""),
            (b"", b"a"),
            (b"\xff\x00\xc3\xa9", b"\xa9"),
            (b"\xff\x00\xc3\xa9", b"\x00\xc3"),
        ] {
            for first in places {
                let of = |bytes: &[u8]| lua.create_string(bytes).unwrap();
                let expected: (Option<usize>, Option<usize>) =
                    theirs.call((of(text), of(sought), first, true)).unwrap();
                let found = find(text, sought, first);
                assert_eq!(
                    (found.map(|(from, _)| from), found.map(|(_, to)| to)),
                    expected,
                    "{text:?} {sought:?} {first}"
                );
            }
        }
    }
}
