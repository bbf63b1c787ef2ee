//! The multi-cluster kinds' own admission: what they are filled up with, and what is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use access::names;
use api::admission::{
    self, AdmissionRules, Allowed, Looks, Operation, Reach, Refusal, Request, StatusWrite,
};
use api::registry;
use api::well_known::feature_gates::FeatureGates;
use api::work::placing;
use bytes::Bytes;
use http::{Method, StatusCode, header};
use http_body_util::Full;
use object::time::Time;
use object::{GroupVersionKind, Map, Object, ObjectKey, ResourceType, Value};
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::record::Record;
use serve::server::{Server, Surroundings};
use serve::status::{Cause, Details, Status, Subject};

/// Calls the rules of `api` for every multi-cluster kind, and protects what must not be deleted.
pub(crate) struct MultiClusterAdmission {
    gates: RwLock<Arc<FeatureGates>>,
    /// Whether policies may put taints on clusters that drive workloads away.
    allows_no_execute: AtomicBool,
    surroundings: Arc<dyn Surroundings>,
    /// Where related objects are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    /// Takes what has to be written along with an object; it holds this admission, so it is not held by it.
    server: OnceLock<Weak<Server>>,
}

/// How often a write is judged anew because somebody else charged the same quota meanwhile.
const JUDGEMENTS: usize = 16;

impl MultiClusterAdmission {
    pub(crate) fn new(surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            gates: RwLock::default(),
            allows_no_execute: AtomicBool::new(false),
            surroundings,
            cache: OnceLock::new(),
            server: OnceLock::new(),
        }
    }

    /// From now on these features are on.
    pub(crate) fn switch(&self, gates: &FeatureGates) {
        let mut current = self.gates.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(gates.clone());
    }

    /// From now on policies may, or may not, put `NoExecute` taints on clusters.
    pub(crate) fn allow_no_execute(&self, allow: bool) {
        self.allows_no_execute.store(allow, Ordering::Relaxed);
    }

    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    pub(crate) fn write_through(&self, server: &Arc<Server>) {
        drop(self.server.set(Arc::downgrade(server)));
    }

    /// The rules for a call; none for kinds without rules, for writes to the status, and for versions objects are not
    /// stored in. A decision of the scheduler changes the object, whatever else it writes.
    fn rules(&self, call: &Call) -> Option<&'static dyn AdmissionRules> {
        let part = &*call.target.subresource;
        if !(part.is_empty() || part == placing::PART) || !call.served.is_stored_form() {
            return None;
        }
        let resource = &call.served.resource;
        admission::rules(&GroupVersionKind::new(
            &*resource.group,
            &*call.target.version,
            &*resource.kind,
        ))
    }

    fn with_request<T>(
        &self,
        call: &Call,
        is_new: bool,
        rules: &dyn AdmissionRules,
        then: impl FnOnce(&Request<'_>) -> T,
    ) -> T {
        let now: Time = self.surroundings.now();
        let gates = Arc::clone(&self.gates.read().unwrap_or_else(PoisonError::into_inner));
        let fresh_id = || self.surroundings.uid();
        let is_time_zone = |name: &str| jiff::tz::TimeZone::get(name).is_ok();
        let check_script =
            |text: &str| interpret::script::check(text).map_err(|error| error.to_string());
        let mut request = Request {
            operation: if is_new {
                Operation::Create
            } else {
                Operation::Update
            },
            namespace: &call.target.namespace,
            gates: &gates,
            allow_no_execute: self.allows_no_execute.load(Ordering::Relaxed),
            now,
            fresh_id: &fresh_id,
            is_time_zone: &is_time_zone,
            check_script: &check_script,
            related: &[],
        };
        let related = self.related(&request, rules);
        let related: Vec<&Object> = related.iter().collect();
        request.related = &related;
        then(&request)
    }

    fn related(&self, request: &Request<'_>, rules: &dyn AdmissionRules) -> Vec<Object> {
        let (Some(related), Some(cache)) = (rules.related(request), self.cache.get()) else {
            return Vec::new();
        };
        let collection = cache.collection(&cache::name_of(
            related.resource.group,
            related.resource.plural,
        ));
        let here =
            |namespace: &str| related.reach == Reach::Everywhere || namespace == request.namespace;
        let snapshot = collection.snapshot();
        let records = snapshot
            .objects
            .values()
            .filter(|record| here(record.head().namespace));
        records
            .filter_map(|record| Object::from_value(record.value()).ok())
            .collect()
    }

    fn change(&self, call: &Call, old: Option<&Value>, new: &mut Value) -> Result<(), Status> {
        let Some(rules) = self
            .rules(call)
            .filter(|_| call.target.subresource.is_empty())
        else {
            return Ok(());
        };
        let old = old.and_then(|old| Object::from_value(old.clone()).ok());
        let Ok(object) = Object::from_value(std::mem::take(new)) else {
            return Ok(());
        };
        let changed = self.with_request(call, old.is_none(), rules, |request| {
            rules
                .mutate(request, old.as_ref(), object)
                .and_then(|object| rules.finish(request, object))
        });
        *new = changed.map_err(refuse)?.into_value();
        Ok(())
    }

    fn judge(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Allowed, Status> {
        let Some(new) = new else {
            return self.judge_deletion(call, old).map_err(refuse);
        };
        let Some(rules) = self.rules(call) else {
            return Ok(Allowed::default());
        };
        let verdict = self.with_request(call, old.is_none(), rules, |request| {
            let looks = rules.looks_at(request);
            let stored = old.filter(|_| looks == Looks::Everything);
            let stored = stored.and_then(|old| copy(old, looks));
            match copy(new, looks) {
                Some(new) => rules.validate(request, stored.as_ref(), &new),
                None => Ok(Allowed::default()),
            }
        });
        verdict.map_err(refuse)
    }

    fn judge_deletion(&self, call: &Call, old: Option<&Value>) -> admission::Verdict {
        let Some(old) = old else {
            return Ok(Allowed::default());
        };
        if let Some(object) = copy(old, Looks::Metadata) {
            admission::check_deletion(&object)?;
        }
        let resource = &call.served.resource;
        let is_binding = [
            &registry::RESOURCE_BINDING,
            &registry::CLUSTER_RESOURCE_BINDING,
        ]
        .iter()
        .any(|known| *known.group == *resource.group && *known.plural == *resource.plural);
        let is_going = old.pointer("/metadata/deletionTimestamp").is_some();
        let template = (is_binding && !is_going).then(|| self.template_of(call, old));
        let Some((kind, template)) = template.flatten() else {
            return Ok(Allowed::default());
        };
        let head = template.head();
        let named = format!(
            "{kind} {}",
            ObjectKey::namespaced(head.namespace, head.name)
        );
        admission::check_binding_deletion(&named, |label| head.label(label))
    }

    /// The kind and the record of the template of a binding, if it is there to stay. A template that is going takes its
    /// binding along, and may wait for that.
    fn template_of(&self, call: &Call, binding: &Value) -> Option<(String, Arc<Record>)> {
        let named = binding.pointer("/spec/resource")?;
        let text = |field: &str| named.get(field).and_then(Value::as_str).unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind")).ok()?;
        let own = call.target.namespace.as_str();
        // Who may delete bindings in one namespace learns nothing of others.
        if !own.is_empty() && own != text("namespace") {
            return None;
        }
        let table = self.server.get()?.upgrade()?.table();
        let mut resources = table.iter();
        let resource =
            resources.find(|known| *known.group == *kind.group && *known.kind == *kind.kind)?;
        let templates = self.cache.get()?.collection(&resource.collection);
        let template = templates.find(&cache::object_key(text("namespace"), text("name")))?;
        let head = template.head();
        let is_meant = text("uid").is_empty() || text("uid") == head.uid;
        let is_there_to_stay = is_meant && !head.terminating;
        is_there_to_stay.then_some((kind.kind, template))
    }

    /// Writes what has to be written before the object is stored. Where somebody else was quicker the object is judged
    /// anew by what there is then.
    ///
    /// Upstream: what was written stays so if the object then is not stored; whoever counts takes it back.
    async fn charge(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
        mut allowed: Allowed,
    ) -> Result<Vec<String>, Status> {
        for _ in 0..JUDGEMENTS {
            let mut is_stale = false;
            for write in std::mem::take(&mut allowed.writes) {
                is_stale |= !self.write(write).await?;
            }
            if !is_stale {
                return Ok(Vec::new());
            }
            allowed = self.judge(call, old, new)?;
        }
        Err(Status::stale(call.subject()))
    }

    /// Writes a status; whether it was still as it was looked at.
    async fn write(&self, write: StatusWrite) -> Result<bool, Status> {
        let object = write.object;
        let kind = object.group_version_kind();
        let known = registry::find(&kind.group, &kind.kind);
        let (Some(known), Some(server)) = (known, self.server.get().and_then(Weak::upgrade)) else {
            return Err(unwritten(&object, "the server is stopping"));
        };
        let path = format!(
            "{}/status",
            ResourceType::from(known).object_path(&object.key())
        );
        let request = http::Request::builder()
            .method(Method::PUT)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::<Bytes>::from(
                Value::Object(object.fields().clone()).to_string(),
            ))
            .map_err(|error| unwritten(&object, &error.to_string()))?;
        let answer = server.answer(names::apiserver(), request).await;
        match answer.status() {
            StatusCode::CONFLICT | StatusCode::NOT_FOUND => Ok(false),
            code if code.is_success() => Ok(true),
            code => Err(unwritten(&object, &format!("the answer was {code}"))),
        }
    }
}

impl Admission for MultiClusterAdmission {
    fn changes(&self, call: &Call) -> bool {
        self.rules(call).is_some()
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let Some(new) = proposal.new else {
            return at_once(Ok(Vec::new()));
        };
        at_once(self.change(call, proposal.old, new).map(|()| Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        match self.judge(call, old, new) {
            Ok(allowed) if !allowed.writes.is_empty() && !call.options.dry_run => {
                Box::pin(self.charge(call, old, new, allowed))
            }
            verdict => {
                let warnings = || defines_built_in(call, new).into_iter().collect();
                at_once(verdict.map(|_| warnings()))
            }
        }
    }
}

/// What whoever writes a definition of a multi-cluster kind should know.
fn defines_built_in(call: &Call, new: Option<&Value>) -> Option<String> {
    let resource = &call.served.resource;
    let is_definition = &*resource.plural == "customresourcedefinitions"
        && &*resource.group == "apiextensions.k8s.io"
        && call.target.subresource.is_empty();
    let spec = new.filter(|_| is_definition)?.get("spec")?;
    let group = spec.get("group")?.as_str()?;
    let plural = spec.get("names")?.get("plural")?.as_str()?;
    let mut known = registry::RESOURCES.iter();
    known
        .any(|known| known.group == group && known.plural == plural)
        .then(|| format!("{plural}.{group} is built in: this definition changes nothing about how it is served"))
}

/// A copy of as much of an object as is looked at; `None` if it is no object.
fn copy(object: &Value, looks: Looks) -> Option<Object> {
    let is_looked_at = |name: &str| {
        looks == Looks::Everything || matches!(name, "apiVersion" | "kind" | "metadata")
    };
    let mut copied = Map::new();
    for (name, value) in object.as_object()? {
        if !is_looked_at(name) {
            continue;
        }
        let value = match value {
            // Nobody judges who owns which fields, and that is often half of an object.
            Value::Object(metadata) if name == "metadata" => {
                let fields = metadata.iter().filter(|(name, _)| *name != "managedFields");
                let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
                Value::Object(fields.collect())
            }
            value => value.clone(),
        };
        copied.insert(name.clone(), value);
    }
    Object::from_value(Value::Object(copied)).ok()
}

/// What the server says when something had to be written first and could not be.
fn unwritten(object: &Object, why: &str) -> Status {
    let (kind, key) = (object.kind(), object.key());
    Status::unavailable(format!("cannot charge {kind} {key}: {why}"), None)
}

/// A refusal in the server's words.
fn refuse(refusal: Refusal) -> Status {
    if let Refusal::Invalid { kind, name, errors } = &refusal {
        let subject = Subject {
            group: &kind.group,
            resource: &kind.kind,
            name,
        };
        return Status::invalid(subject, errors);
    }
    let causes = refusal.errors().iter().map(|error| Cause {
        reason: error.kind.reason().to_owned(),
        message: error.body(),
        field: error.path.to_string(),
    });
    let details = Box::new(Details {
        causes: causes.collect(),
        ..Details::default()
    });
    Status {
        code: refusal.code(),
        reason: refusal.reason().into(),
        message: refusal.to_string(),
        details,
        warnings: Vec::new(),
        cause: None,
    }
}
