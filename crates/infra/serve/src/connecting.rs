//! Streams to what stands behind an object, as admission sees them: a shell in a pod, a call through a proxy.

use object::{Map, Value};

use crate::call::Call;
use crate::options::Params;

/// What a stream is asked for with, as a document; `None` if the call is for no stream.
pub(crate) fn options(call: &Call, params: &Params) -> Option<Value> {
    let target = &call.target;
    let (word, switches) = match target.subresource.as_str() {
        "exec" => ("Exec", &["stdin", "stdout", "stderr", "tty"][..]),
        "attach" => ("Attach", &["stdin", "stdout", "stderr", "tty"][..]),
        "portforward" => ("PortForward", &[][..]),
        "proxy" => ("Proxy", &[][..]),
        _ => return None,
    };
    let kind = format!("{}{word}Options", call.served.resource.kind);
    let mut options = Map::new();
    options.insert("kind".to_owned(), kind.into());
    let version = call.served.resource.api_version(&target.version);
    options.insert("apiVersion".to_owned(), version.into());
    for switch in switches {
        if params.flag(switch).unwrap_or_default() {
            options.insert((*switch).to_owned(), true.into());
        }
    }
    let mut insert = |name: &str, value: Value| drop(options.insert(name.to_owned(), value));
    match word {
        "Proxy" => insert("path", target.rest.as_str().into()),
        "PortForward" => {
            let ports = params
                .texts("ports")
                .iter()
                .flat_map(|list| list.split(','));
            let ports = ports.filter_map(|port| port.parse::<u16>().ok());
            insert("ports", ports.collect());
        }
        _ => {
            if !params.text("container").is_empty() {
                insert("container", params.text("container").into());
            }
            if word == "Exec" {
                insert("command", params.texts("command").iter().cloned().collect());
            }
        }
    }
    Some(Value::Object(options))
}
