"""Run by a Python of its own beside a client that was generated: address, UDI-DI and a change to wait for come in."""

import json
import sys

from client import AuthenticatedClient, Client
from client.api.account import me, trial
from client.api.register import read_device, search
from client.api.watches import add_watch, list_events, list_watches
from client.models import DeviceNotFound, ServedDevice, TrialRequest, WatchRequest

given = json.load(sys.stdin)
anybody = Client(base_url=given["url"])
found = search.sync(client=anybody, q=given["udi"])
device = read_device.sync(given["udi"], client=anybody)
missing = read_device.sync("04012345678901", client=anybody)
assert isinstance(device, ServedDevice)
assert isinstance(missing, DeviceNotFound)
opened = trial.sync(client=anybody, body=TrialRequest(email=given["email"], password="correct horse"))
owner = AuthenticatedClient(base_url=given["url"], token=opened.api_key, prefix="", auth_header_name="X-API-Key")
added = add_watch.sync(client=owner, body=WatchRequest(subject=given["udi"]), idempotency_key="once")
again = add_watch.sync(client=owner, body=WatchRequest(subject=given["udi"]), idempotency_key="once")
print(
    json.dumps(
        {
            "results": [each.udi for each in found.results],
            "device": device.udi,
            "read": device.read_at.isoformat(),
            "missing": missing.error,
            "email": me.sync(client=owner).email,
            "same": added.to_dict() == again.to_dict(),
            "watched": [each.subject for each in list_watches.sync(client=owner).watches],
            "since": added.watch.created_at.year,
            "events": [each.summary for each in list_events.sync(client=owner).events],
        }
    )
)
