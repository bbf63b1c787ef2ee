//! A ServiceAccount, and the secrets it has.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, items, text};

const TOKEN: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    let secrets = facts.beside.all("secrets");
    let named = |name: &&str| match secrets {
        Ok(secrets) if !secrets.iter().any(|secret| secret.name() == *name) => {
            format!("{name} (not found)")
        }
        _ => (*name).to_owned(),
    };
    for (title, list) in [
        ("Image pull secrets", "imagePullSecrets"),
        ("Mountable secrets", "secrets"),
    ] {
        let listed = items(facts.at(list)).iter();
        let names = listed.map(|one: &Value| text(&one["name"]));
        let names: Vec<String> = names.map(|name| named(&name)).collect();
        sheet.list(0, title, &names);
    }
    let tokens = match secrets {
        Ok(secrets) => tokens(facts.object, secrets),
        Err(failure) => vec![format!("<unknown: {failure}>")],
    };
    sheet.list(0, "Tokens", &tokens);
}

/// The secrets that are tokens of an account.
fn tokens(account: &Object, secrets: &[Object]) -> Vec<String> {
    let is_token = |secret: &&Object| {
        text(field(secret, "type")) == TOKEN
            && secret.annotation(ACCOUNT) == Some(account.name())
            && secret.annotation(ACCOUNT_UID) == Some(account.uid())
    };
    let tokens = secrets.iter().filter(is_token);
    tokens.map(|secret| secret.name().to_owned()).collect()
}
