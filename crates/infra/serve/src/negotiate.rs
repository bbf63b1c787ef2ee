//! In which form an answer is wanted, and in which form a body came.

use std::fmt;

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use schema::wire::Tables;

use crate::status::Status;

/// In which form an answer goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The encoding.
    pub encoding: Encoding,
    /// Objects, or something made from them.
    pub shape: Shape,
}

/// How values become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/json` with line breaks, for people who read it raw.
    Pretty,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`, by these tables.
    Protobuf(Wire),
}

/// The messages of the kinds that can be sent in protobuf.
#[derive(Clone, Copy)]
pub struct Wire(pub &'static Tables);

/// What of a resource can be sent in protobuf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sendable {
    /// Its objects.
    pub objects: Option<Wire>,
    /// Their metadata, and answers that are no objects.
    pub metadata: Option<Wire>,
}

/// What a client wants to see of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of them.
    Whole,
    /// Rows and columns for people.
    Table,
    /// Their metadata alone.
    Metadata,
    /// For discovery: all groups in one document, which calls itself by one of its versions.
    Discovery(Aggregated),
}

/// The versions of the document with all groups. They say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregated {
    /// `apidiscovery.k8s.io/v2`.
    V2,
    /// `apidiscovery.k8s.io/v2beta1`, which kubectl asks for up to 1.29.
    V2Beta1,
}

/// How a body is encoded, or which kind of patch it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A JSON document.
    Json,
    /// A YAML document.
    Yaml,
    /// Kubernetes' protobuf envelope.
    Protobuf,
    /// RFC 6902.
    JsonPatch,
    /// RFC 7386.
    MergePatch,
    /// A merge that knows lists by their keys.
    StrategicMergePatch,
    /// Server-side apply.
    Apply,
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Encoding {
    /// The `Content-Type` of an answer.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::Pretty => JSON,
            Self::Yaml => YAML,
            Self::Protobuf(_) => PROTOBUF,
        }
    }
}

impl PartialEq for Wire {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Wire {}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

impl Sendable {
    /// Whether something is sent so in this shape. Tables and discovery are for JSON alone.
    fn by(self, shape: Shape) -> Option<Wire> {
        match shape {
            Shape::Whole => self.objects,
            Shape::Metadata => self.metadata,
            Shape::Table | Shape::Discovery(_) => None,
        }
    }
}

impl Answer {
    /// Plain JSON.
    pub const JSON: Self = Self {
        encoding: Encoding::Json,
        shape: Shape::Whole,
    };

    /// All media types there are.
    pub(crate) const PRODUCIBLE: [&str; 3] = [JSON, YAML, PROTOBUF];

    /// The best of what the client accepts, of what there is.
    pub fn negotiate(
        headers: &HeaderMap,
        pretty: bool,
        sendable: Sendable,
    ) -> Result<Self, Status> {
        let json = if pretty {
            Encoding::Pretty
        } else {
            Encoding::Json
        };
        let accepted: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let accepted = accepted.join(",");
        if accepted.trim().is_empty() {
            return Ok(Self {
                encoding: json,
                shape: Shape::Whole,
            });
        }
        let mut clauses: Vec<(f32, Clause<'_>)> = accepted
            .split(',')
            .map(Clause::parse)
            .map(|clause| (clause.quality, clause))
            .collect();
        // A stable sort: among equals the client's order counts.
        clauses.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        clauses
            .iter()
            .filter(|(quality, _)| *quality > 0.0)
            .find_map(|(_, clause)| {
                let shape = clause.shape()?;
                let encoding = match clause.media {
                    JSON | "application/*" | "*/*" => json,
                    YAML => Encoding::Yaml,
                    PROTOBUF => Encoding::Protobuf(sendable.by(shape)?),
                    _ => return None,
                };
                Some(Self { encoding, shape })
            })
            .ok_or_else(|| {
                let producible: &[&str] = match sendable.objects {
                    Some(_) => &[JSON, YAML, PROTOBUF],
                    None => &[JSON, YAML],
                };
                Status::not_acceptable(producible)
            })
    }
}

impl Content {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Json,
        Self::Yaml,
        Self::Protobuf,
        Self::JsonPatch,
        Self::MergePatch,
        Self::StrategicMergePatch,
        Self::Apply,
    ];

    /// How a body is encoded; JSON if nothing is said.
    pub fn of(headers: &HeaderMap, readable: &[Self]) -> Result<Self, Status> {
        let header = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let media = header
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let content = match media.as_str() {
            "" | JSON => Self::Json,
            YAML => Self::Yaml,
            PROTOBUF => Self::Protobuf,
            "application/json-patch+json" => Self::JsonPatch,
            "application/merge-patch+json" => Self::MergePatch,
            "application/strategic-merge-patch+json" => Self::StrategicMergePatch,
            "application/apply-patch+yaml" => Self::Apply,
            _ => return Err(Self::refuse(readable)),
        };
        if !readable.contains(&content) {
            return Err(Self::refuse(readable));
        }
        Ok(content)
    }

    /// Whether a body is a server-side apply.
    #[must_use]
    pub fn is_apply(headers: &HeaderMap) -> bool {
        Self::of(headers, &[Self::Apply]).is_ok_and(|content| content == Self::Apply)
    }

    pub(crate) fn refuse(readable: &[Self]) -> Status {
        Status::unsupported_media_type(
            &readable
                .iter()
                .map(|content| content.media_type())
                .collect::<Vec<_>>(),
        )
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Yaml => YAML,
            Self::Protobuf => PROTOBUF,
            Self::JsonPatch => "application/json-patch+json",
            Self::MergePatch => "application/merge-patch+json",
            Self::StrategicMergePatch => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// How objects may be encoded in bodies.
pub(crate) fn readable(wire: Option<Wire>) -> &'static [Content] {
    match wire {
        Some(_) => &[Content::Json, Content::Yaml, Content::Protobuf],
        None => &[Content::Json, Content::Yaml],
    }
}

/// One alternative of an `Accept` header.
struct Clause<'a> {
    media: &'a str,
    quality: f32,
    transform: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut clause = Self {
            media: parts.next().unwrap_or_default(),
            quality: 1.0,
            transform: "",
            group: "",
            version: "",
        };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key.trim() {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                "as" => clause.transform = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                _ => {}
            }
        }
        clause
    }

    /// What is asked for; `None` if it cannot be had in this group and version.
    fn shape(&self) -> Option<Shape> {
        match (self.transform, self.group, self.version) {
            ("", _, _) => Some(Shape::Whole),
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Table),
            (
                "PartialObjectMetadata" | "PartialObjectMetadataList",
                "meta.k8s.io",
                "v1" | "v1beta1",
            ) => Some(Shape::Metadata),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => {
                Some(Shape::Discovery(Aggregated::V2))
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => {
                Some(Shape::Discovery(Aggregated::V2Beta1))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn answer(accept: &'static str) -> Option<(Encoding, Shape)> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        Answer::negotiate(&headers, false, Sendable::default())
            .ok()
            .map(|answer| (answer.encoding, answer.shape))
    }

    #[test]
    fn the_best_accepted_form_is_chosen() {
        for (accept, expected) in [
            ("", Some((Encoding::Json, Shape::Whole))),
            ("*/*", Some((Encoding::Json, Shape::Whole))),
            ("application/yaml", Some((Encoding::Yaml, Shape::Whole))),
            (
                "text/html,application/json;q=0.5,application/yaml",
                Some((Encoding::Yaml, Shape::Whole)),
            ),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some((Encoding::Json, Shape::Whole)),
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some((Encoding::Json, Shape::Table)),
            ),
            (
                "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList",
                Some((Encoding::Json, Shape::Metadata)),
            ),
            (
                "application/json;as=Novel;v=v1;g=x,application/json",
                Some((Encoding::Json, Shape::Whole)),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                Some((Encoding::Json, Shape::Discovery(Aggregated::V2))),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
                Some((Encoding::Json, Shape::Discovery(Aggregated::V2Beta1))),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList",
                None,
            ),
            ("text/html", None),
            ("application/json;q=0", None),
        ] {
            assert_eq!(answer(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn protobuf_is_for_kinds_that_have_messages() {
        static TABLES: std::sync::LazyLock<Tables> = std::sync::LazyLock::new(Tables::default);
        let wire = Some(Wire(&TABLES));
        let protobuf = |shape| wire.map(|wire| (Encoding::Protobuf(wire), shape));
        let builtin = Sendable {
            objects: wire,
            metadata: wire,
        };
        let custom = Sendable {
            objects: None,
            metadata: wire,
        };
        let json = Some((Encoding::Json, Shape::Whole));
        for (accept, sendable, expected) in [
            (PROTOBUF, builtin, protobuf(Shape::Whole)),
            (PROTOBUF, custom, None),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                builtin,
                protobuf(Shape::Whole),
            ),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                custom,
                json,
            ),
            (
                "application/vnd.kubernetes.protobuf;q=0.5,application/json",
                builtin,
                json,
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                custom,
                protobuf(Shape::Metadata),
            ),
            (
                "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
                builtin,
                None,
            ),
            ("*/*", builtin, json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            let answer = Answer::negotiate(&headers, false, sendable)
                .ok()
                .map(|answer| (answer.encoding, answer.shape));
            assert_eq!(answer, expected, "{accept:?}");
        }
    }

    #[test]
    fn bodies_of_unknown_or_unfitting_types_are_refused() {
        let of = |media: &'static str, readable: &[Content]| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
            Content::of(&headers, readable).map_err(|status| status.code)
        };
        assert_eq!(
            of("application/json; charset=utf-8", &[Content::Json]),
            Ok(Content::Json)
        );
        assert_eq!(of("Application/JSON", &[Content::Json]), Ok(Content::Json));
        assert_eq!(
            of("application/merge-patch+json", &[Content::Json]),
            Err(415)
        );
        assert_eq!(of("text/plain", &[Content::Json]), Err(415));
    }
}
