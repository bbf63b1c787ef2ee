//! Volumes, by where what they hold comes from: of pods, and of the cluster.

use object::Value;

use super::containers::{FIELDS, LISTS, Within};
use super::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, items, plain, plain_or, text};

/// A title, the field of the source, and what is said if it says nothing.
type Part = (&'static str, &'static str, &'static str);
/// A source's field, what it is in words, and what is said of it.
type Source = (&'static str, &'static str, &'static [Part]);

const READ_ONLY: Part = ("ReadOnly", "readOnly", "false");
const FS_TYPE: Part = ("FSType", "fsType", "");

const SOURCES: [Source; 14] = [
    (
        "hostPath",
        "HostPath (bare host directory volume)",
        &[("Path", "path", ""), ("HostPathType", "type", "<none>")],
    ),
    (
        "emptyDir",
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        &[
            ("Medium", "medium", ""),
            ("SizeLimit", "sizeLimit", "<unset>"),
        ],
    ),
    (
        "configMap",
        "ConfigMap (a volume populated by a ConfigMap)",
        &[("Name", "name", ""), ("Optional", "optional", "false")],
    ),
    (
        "secret",
        "Secret (a volume populated by a Secret)",
        &[
            ("SecretName", "secretName", ""),
            ("Optional", "optional", "false"),
        ],
    ),
    (
        "nfs",
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        &[("Server", "server", ""), ("Path", "path", ""), READ_ONLY],
    ),
    (
        "persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        &[("ClaimName", "claimName", ""), READ_ONLY],
    ),
    (
        "downwardAPI",
        "DownwardAPI (a volume populated by information about the pod)",
        &[],
    ),
    (
        "projected",
        "Projected (a volume that contains injected data from multiple sources)",
        &[],
    ),
    (
        "csi",
        "CSI (a Container Storage Interface (CSI) volume source)",
        &[("Driver", "driver", ""), FS_TYPE],
    ),
    (
        "ephemeral",
        "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
        &[],
    ),
    (
        "image",
        "Image (a container image or OCI artifact)",
        &[
            ("Reference", "reference", ""),
            ("PullPolicy", "pullPolicy", ""),
        ],
    ),
    (
        "local",
        "LocalVolume (a persistent volume backed by local storage on a node)",
        &[("Path", "path", "")],
    ),
    (
        "iscsi",
        "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        &[
            ("TargetPortal", "targetPortal", ""),
            ("IQN", "iqn", ""),
            ("Lun", "lun", ""),
            ("ISCSIInterface", "iscsiInterface", ""),
            FS_TYPE,
            READ_ONLY,
        ],
    ),
    (
        "flexVolume",
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        &[("Driver", "driver", ""), FS_TYPE, READ_ONLY],
    ),
];

/// The volumes of a pod.
pub(in crate::describe) fn write(sheet: &mut Sheet, volumes: &Value, within: &Within<'_>) {
    let volumes = items(volumes);
    if volumes.is_empty() {
        return sheet.field(within.title(), "Volumes", "<none>");
    }
    sheet.title(within.title(), "Volumes");
    for volume in volumes {
        sheet.title(within.name(), text(&volume["name"]));
        source(sheet, volume);
    }
}

/// Where what a volume holds comes from.
pub(in crate::describe) fn source(sheet: &mut Sheet, volume: &Value) {
    let known = SOURCES
        .iter()
        .find(|(field, ..)| volume[*field].is_object());
    let Some((field, words, parts)) = known else {
        return sheet.text(2, "<unknown>");
    };
    let source = &volume[*field];
    sheet.field(FIELDS, "Type", words);
    for (title, field, nothing) in *parts {
        sheet.field(FIELDS, title, plain_or(&source[*field], nothing));
    }
    match *field {
        "downwardAPI" => downward(sheet, source),
        "projected" => projected(sheet, source),
        "csi" => driver(sheet, source),
        "ephemeral" => claim(sheet, &source["volumeClaimTemplate"]),
        _ => {}
    }
}

fn downward(sheet: &mut Sheet, source: &Value) {
    sheet.title(FIELDS, "Items");
    for item in items(&source["items"]) {
        let field = match item["fieldRef"].is_object() {
            true => text(&item["fieldRef"]["fieldPath"]),
            false => text(&item["resourceFieldRef"]["resource"]),
        };
        sheet.text(LISTS, &format!("{field} -> {}", text(&item["path"])));
    }
}

fn projected(sheet: &mut Sheet, source: &Value) {
    for one in items(&source["sources"]) {
        let (secret, map) = (&one["secret"], &one["configMap"]);
        let token = &one["serviceAccountToken"];
        if secret.is_object() {
            sheet.field(FIELDS, "SecretName", text(&secret["name"]));
            let optional = plain_or(&secret["optional"], "<nil>");
            sheet.field(FIELDS, "SecretOptionalName", optional);
        } else if one["downwardAPI"].is_object() {
            sheet.field(FIELDS, "DownwardAPI", "true");
        } else if map.is_object() {
            sheet.field(FIELDS, "ConfigMapName", text(&map["name"]));
            let optional = plain_or(&map["optional"], "<nil>");
            sheet.field(FIELDS, "ConfigMapOptional", optional);
        } else if token.is_object() {
            let seconds = plain(&token["expirationSeconds"]);
            sheet.field(FIELDS, "TokenExpirationSeconds", seconds);
        }
    }
}

fn driver(sheet: &mut Sheet, source: &Value) {
    sheet.field_if(FIELDS, "VolumeHandle", text(&source["volumeHandle"]));
    let read_only = plain_or(&source["readOnly"], "false");
    sheet.field(FIELDS, "ReadOnly", read_only);
    let attributes: Vec<String> = entries(&source["volumeAttributes"])
        .into_iter()
        .map(|(key, value)| format!("    {key}={}", text(value)))
        .collect();
    sheet.list(FIELDS, "VolumeAttributes", &attributes);
}

/// What is claimed, as far as pages about claims say it too.
pub(in crate::describe) fn claim(sheet: &mut Sheet, claim: &Value) {
    let spec = &claim["spec"];
    sheet.field(FIELDS, "StorageClass", text(&spec["storageClassName"]));
    sheet.field(FIELDS, "Volume", text(&spec["volumeName"]));
    metadata::labels(sheet, FIELDS, "Labels", &claim["metadata"]["labels"]);
    let notes = &claim["metadata"]["annotations"];
    metadata::written(sheet, FIELDS, "Annotations", notes);
    let size = plain(&spec["resources"]["requests"]["storage"]);
    sheet.field(FIELDS, "Capacity", size);
    sheet.field(FIELDS, "Access Modes", modes(&spec["accessModes"]));
    sheet.field_if(FIELDS, "VolumeMode", text(&spec["volumeMode"]));
}

/// How a volume may be used, in letters.
pub(in crate::describe) fn modes(modes: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| items(modes).iter().any(|one| one == mode);
    let short: Vec<&str> = known
        .into_iter()
        .filter_map(|(mode, short)| has(mode).then_some(short))
        .collect();
    short.join(",")
}
