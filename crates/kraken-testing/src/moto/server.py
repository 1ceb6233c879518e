"""The moto server, which also answers RPC with CBOR: the only protocol of the SDK of CloudWatch, and one that moto does not know.

A call of this protocol is passed to moto as JSON, and its answer is passed back as CBOR.
"""

import io
import json
import re
import sys

import cbor2
from moto import server
from moto.moto_server import werkzeug_app

# The name of each service in the protocol json, by its name in RPC with CBOR, which is the end of this one.
OPERATION = re.compile(r"^/service/(?P<service>\w+)/operation/(?P<operation>\w+)$")
TIMESTAMP = 1


class Cbor:
    """Translates requests for an application, and its answers."""

    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        call = OPERATION.match(environ.get("PATH_INFO", ""))
        if call is None or environ.get("HTTP_SMITHY_PROTOCOL") != "rpc-v2-cbor":
            return self.application(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        request = json.dumps(cbor2.loads(body) if body else {}).encode()
        as_json = {
            **environ,
            "PATH_INFO": "/",
            "REQUEST_URI": "/",
            "RAW_URI": "/",
            "CONTENT_TYPE": "application/x-amz-json-1.0",
            "CONTENT_LENGTH": str(len(request)),
            "HTTP_X_AMZ_TARGET": f"{call['service']}.{call['operation']}",
            "wsgi.input": io.BytesIO(request),
        }
        answer = {}

        def note(status, headers, _=None):
            answer.update(status=status, headers=headers)

        text = b"".join(self.application(as_json, note))
        content = cbor2.dumps(with_timestamps(json.loads(text or b"{}")))
        kept = [(name, value) for name, value in answer["headers"] if name.lower().startswith("x-amzn-requestid")]
        start_response(
            answer["status"],
            [
                *kept,
                ("Content-Type", "application/cbor"),
                ("Content-Length", str(len(content))),
                ("smithy-protocol", "rpc-v2-cbor"),
            ],
        )
        return [content]


def with_timestamps(value, name=""):
    """A value of JSON, where times are numbers, as one of CBOR, where they have a tag."""
    if isinstance(value, dict):
        return {key: with_timestamps(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [with_timestamps(one, name) for one in value]
    if name.endswith("Timestamp") and isinstance(value, (int, float)):
        return cbor2.CBORTag(TIMESTAMP, float(value))
    return value


class Application(werkzeug_app.DomainDispatcherApplication):
    def __call__(self, environ, start_response):
        return Cbor(super().__call__)(environ, start_response)


server.DomainDispatcherApplication = Application

if __name__ == "__main__":
    sys.exit(server.main())
