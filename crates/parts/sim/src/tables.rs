//! What every member serves: made once for the process and shared by all members.

use std::sync::OnceLock;

use serve::resource::Table;

use crate::parts;

/// Kubernetes' built-in kinds and what is measured. Copies share their resources.
pub(crate) fn base() -> &'static Table {
    static BASE: OnceLock<Table> = OnceLock::new();
    BASE.get_or_init(|| {
        let mut table = Table::default();
        table.keep_secret("", "secrets");
        let measured = parts::metrics_resources();
        for resource in kinds::builtin_resources().into_iter().chain(measured) {
            table.insert(resource);
        }
        table
    })
}

/// Whether a kind is served without any definition.
pub(crate) fn is_built_in(group: &str, plural: &str) -> bool {
    base()
        .iter()
        .any(|known| &*known.group == group && &*known.plural == plural)
}
