"""Which servers are measured? The control plane, and the least that could answer at all."""

CONTROL_PLANE = """
import sys
from controlplane import main, settings
overrides = {
    "server": {"port": int(sys.argv[2]) if len(sys.argv) > 2 else 0},
    "store": {"url": sys.argv[1]},
    "engine": {"mode": "control", "allocator": sys.argv[3], "speculator": sys.argv[4]},
    "log": {"level": "error"},
}
main.serve(settings.load(None, overrides), on_start=lambda url: print(url.rpartition(":")[2], flush=True))
"""
"""Arguments: store URL, port (0 for any), allocator, speculator."""

ECHO = """
import socket, uvicorn
from controlplane.wire.envelope import SyncReply, decode_request, encode_reply

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message["body"]
        more = message.get("more_body", False)
    request = decode_request(body)
    reply = encode_reply(SyncReply(1, 1, request.sequence, 1, 100, "control"))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(reply)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(app, loop="uvloop", http="httptools", access_log=False, lifespan="off",
                        server_header=False, date_header=False, log_level="error", timeout_keep_alive=75)
uvicorn.Server(config).run(sockets=[listener])
"""
"""uvicorn and msgspec without anything behind them."""
