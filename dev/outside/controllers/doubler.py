"""An operator in kopf: doubles the size of every widget into its status, and cleans up behind a finalizer."""

import kopf


@kopf.on.startup()
def configure(settings, **_):
    settings.networking.error_backoffs = [0.2, 0.5, 1]
    settings.watching.reconnect_backoff = 0.5
    settings.posting.enabled = True


@kopf.on.create("test.io", "v1", "widgets")
@kopf.on.update("test.io", "v1", "widgets")
def double(spec, **_):
    return {"size": spec["size"] * 2}


@kopf.on.delete("test.io", "v1", "widgets")
def clean(**_):
    pass
