use std::sync::Arc;

use object::{Object, Value};
use runtime::Tasks;
use serde_json::json;
use tokio::time::Instant;

use super::{Heard, PLACE, Webhook, document::read_answer, read_all, settings::LONGEST_TIMEOUT};
use crate::cycle::TURN;

fn binding() -> Object {
    Object::from_value(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7"},
    }))
    .unwrap()
}

fn answer(answer: Value) -> String {
    match read_answer(answer.to_string().as_bytes(), &binding()) {
        Ok(told) => format!("{told:?}"),
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn an_answer_says_who_is_refused_and_how_good_the_others_are() {
    let said = answer(json!({"response": {"uid": "u@7", "clusters": [
        {"name": "m1", "allowed": false, "reason": "coal"}, {"name": "m2", "score": 80}, {"name": "m3"},
    ]}}));
    for part in [
        "\"m1\": Opinion { refusal: Some(\"coal\"), score: 0 }",
        "\"m2\": Opinion { refusal: None, score: 80 }",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(answer(json!({"response": {}})), "Told { by_cluster: {} }");
}

#[test]
fn an_answer_that_makes_no_sense_is_refused_with_its_field() {
    let cluster =
        |cluster: Value| answer(json!({"response": {"clusters": [{"name": "m1"}, cluster]}}));
    assert_eq!(answer(json!([])), "response: expected an object");
    assert_eq!(
        answer(json!({"response": {"uid": "other"}})),
        "response.uid: it answers another question (\"other\")"
    );
    assert_eq!(
        cluster(json!({"score": 1})),
        "response.clusters[1].name: expected the name of a cluster"
    );
    for score in [json!(101), json!(-1), json!(1.5), json!("9")] {
        assert_eq!(
            cluster(json!({"name": "m2", "score": score})),
            "response.clusters[1].score: expected a whole number from 0 to 100"
        );
    }
    assert_eq!(
        cluster(json!({"name": "m2", "allowed": "no"})),
        "response.clusters[1].allowed: expected true or false"
    );
    assert_eq!(
        cluster(json!({"name": "m1", "allowed": false})),
        "response.clusters[1].name: expected each cluster once"
    );
    let torn = read_answer(b"{\"response\":", &binding()).unwrap_err();
    assert_eq!(torn.to_string(), "it is not JSON");
}

#[test]
fn a_file_says_which_webhooks_there_are() {
    let file = json!({"webhooks": [
        {"name": "Carbon", "url": "https://carbon.example.com:8443/review?v=1", "points": ["Score"], "timeout": "500ms",
         "failurePolicy": "Ignore"},
        {"name": "Cost", "url": "https://cost.example.com"},
    ]});
    let all = read_all(&file).unwrap();
    assert_eq!(all[0].url(), "https://carbon.example.com:8443/review?v=1");
    assert_eq!(
        (all[0].filters, all[0].scores, all[0].timeout.as_millis()),
        (false, true, 500)
    );
    assert_eq!(all[1].url(), "https://cost.example.com/");
    assert_eq!(
        (all[1].filters, all[1].scores, all[1].timeout.as_millis()),
        (true, true, 1000)
    );
}

#[test]
fn a_mistake_in_the_file_is_named() {
    let check = |webhook: Value, expected: &str| {
        let mut whole = json!({"name": "A", "url": "https://a"});
        for (name, value) in webhook.as_object().unwrap() {
            whole[name.as_str()] = value.clone();
        }
        let problem = read_all(&json!({"webhooks": [whole]})).unwrap_err();
        assert_eq!(problem.to_string(), expected);
    };
    check(json!({"name": ""}), "webhooks[0].name: is required");
    check(
        json!({"name": "-A"}),
        "webhooks[0].name: must not begin with a minus sign nor contain a comma, a star or a blank",
    );
    let url = "webhooks[0].url: expected https://host[:port]/path";
    check(json!({"url": "http://a"}), url);
    check(json!({"url": "a b"}), url);
    let points = "webhooks[0].points: expected a list of Filter and Score";
    check(json!({"points": ["Select"]}), points);
    check(json!({"points": []}), points);
    let timeout = "webhooks[0].timeout: expected 1ms to 30s, such as 500ms";
    for wrong in ["0s", "31s", "5", "fast"] {
        check(json!({"timeout": wrong}), timeout);
    }
    let authority = "webhooks[0].certificateAuthority: ";
    let pem = |inside: &str| {
        format!("-----BEGIN CERTIFICATE-----\n{inside}\n-----END CERTIFICATE-----\n")
    };
    for (wrong, said) in [
        ("hello", "expected certificates in PEM"),
        (&pem("hello?"), "expected certificates in PEM"),
        (&pem("aGVsbG8="), "one of the certificates cannot be read"),
    ] {
        let expected = format!("{authority}{said}");
        check(json!({"certificateAuthority": wrong}), &expected);
    }
    check(
        json!({"failurePolicy": "Retry"}),
        "webhooks[0].failurePolicy: expected Fail or Ignore",
    );
    check(
        json!({"fallback": 1}),
        "webhooks[0].fallback: there is no such field",
    );
    let twice =
        json!({"webhooks": [{"name": "A", "url": "https://a"}, {"name": "A", "url": "https://b"}]});
    assert_eq!(
        read_all(&twice).unwrap_err().to_string(),
        "webhooks[1].name: \"A\" is there twice"
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_place_ends_long_before_the_attempt_does() {
    let file = json!({"webhooks": [{"name": "Carbon", "url": "https://127.0.0.1:1"}]});
    let webhook = Webhook::new(read_all(&file).unwrap().remove(0));
    let all = webhook.places.available_permits().try_into().unwrap();
    let _taken = webhook.places.acquire_many(all).await.unwrap();
    let (begun, tasks) = (Instant::now(), Tasks::new());
    let heard = webhook
        .ask(&Arc::new(binding()), &[], &tasks.spawner())
        .await;
    let Heard::Nothing(unheard) = heard else {
        panic!("nobody was asked")
    };
    let expected = "webhook https://127.0.0.1:1/: too many others wait for its answers";
    assert_eq!(&*unheard.why, expected);
    assert_eq!(begun.elapsed(), PLACE);
    assert!(PLACE + LONGEST_TIMEOUT <= TURN / 2);
}
