"""Copies every input ConfigMap with the official Python client: one list, then watches from where the last one ended."""

import sys
import time

from kubernetes import client, config, watch

NAMESPACE = "work"


def main():
    config.load_kube_config()
    core = client.CoreV1Api()
    revision = relist(core)
    while True:
        try:
            stream = watch.Watch().stream(
                core.list_namespaced_config_map,
                NAMESPACE,
                label_selector="role=input",
                resource_version=revision,
                allow_watch_bookmarks=True,
                timeout_seconds=600,
            )
            print(f"watching from {revision}", flush=True)
            for event in stream:
                found = event["object"]
                if event["type"] in ("ADDED", "MODIFIED"):
                    copy(core, found)
                # Only what was done is done: whatever fails before is told again.
                revision = found.metadata.resource_version
        except client.ApiException as problem:
            if problem.status == 410:
                print("gone", flush=True)
                revision = relist(core)
            else:
                print(f"refused {problem.status} {problem.reason}", flush=True)
                time.sleep(0.5)
        except Exception as problem:  # The server is away; it will be back.
            print(f"away {type(problem).__name__}", flush=True)
            time.sleep(0.5)


def relist(core):
    found = core.list_namespaced_config_map(NAMESPACE, label_selector="role=input")
    print(f"listed {len(found.items)}", flush=True)
    for item in found.items:
        copy(core, item)
    return found.metadata.resource_version


def copy(core, source):
    name = f"python-{source.metadata.name}"
    body = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name=name, labels={"role": "python"}), data=source.data
    )
    try:
        core.create_namespaced_config_map(NAMESPACE, body)
    except client.ApiException as problem:
        if problem.status != 409:
            raise
        core.replace_namespaced_config_map(name, NAMESPACE, body)


sys.exit(main())
