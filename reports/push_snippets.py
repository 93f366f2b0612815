"""The lines that a person pastes to push telemetry; docs/push.md shows the same, and tests run them."""

_CURL = """\
curl --fail-with-body -H "Authorization: Bearer $IPD_TOKEN" \\
     --data-binary @metrics.jsonl \\
     "{address}/api/telemetry?name=metrics.jsonl&run=nightly-42&gpus=16"
"""

_PYTHON = '''\
import json, os, urllib.parse, urllib.request
class Pusher:
    """Keeps step rows and sends them every `every` steps; what could not be sent goes with the next."""
    def __init__(self, address, run, every=10, **details):
        query = {{"name": run + ".jsonl", "run": run, "format": "flat_metrics_jsonl", **details}}
        self.url = address + "/api/telemetry?" + urllib.parse.urlencode(query)
        self.rows, self.every = [], every
    def log(self, step, metrics):
        self.rows.append(json.dumps({{"step": step, **metrics}}, default=float))
        if len(self.rows) % self.every == 0: self.send()
    def send(self):
        if not self.rows: return
        head = {{"Authorization": "Bearer " + os.environ["IPD_TOKEN"]}}
        body = ("\\n".join(self.rows) + "\\n").encode()
        try:
            urllib.request.urlopen(urllib.request.Request(self.url, body, head), timeout=60).read()
            self.rows = []
        except OSError as error:
            print("Not pushed, training goes on:", error)
pusher = Pusher("{address}", "nightly-42", gpus=16)
'''


def curl_lines(address: str) -> str:
    """Return the command that sends one file to the server at `address`."""
    return _CURL.format(address=address.rstrip("/"))


def python_lines(address: str) -> str:
    """Return the class for a training loop; it needs the standard library only."""
    return _PYTHON.format(address=address.rstrip("/"))
