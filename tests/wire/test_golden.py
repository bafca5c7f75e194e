"""Do Python and Java mean the same bytes? The golden files are read here and by the shim's own tests (WireTest)."""

import json
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from controlplane.model import facts, orders
from controlplane.wire.envelope import PROTOCOL, SyncReply, decode_request, encode_reply

pytestmark = pytest.mark.unit
GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def kinds(union: object) -> set[str]:
    return {info.tag for kind in union.__args__ if (info := msgspec.inspect.type_info(kind))}


def unknown_fields(sent: object, understood: object, path: str = "") -> list[str]:
    """Names that were sent and that decoding has dropped without a word."""
    if isinstance(sent, dict):
        assert isinstance(understood, dict)
        gone = [f"{path}.{name}" for name in sent if name not in understood]
        return gone + [
            each for name in sent if name in understood for each in unknown_fields(sent[name], understood[name], name)
        ]
    if isinstance(sent, list):
        return [each for one, other in zip(sent, understood, strict=True) for each in unknown_fields(one, other, path)]
    return []


def every_field(value: object) -> object:
    """A struct as JSON with its defaults, which the wire leaves out."""
    if isinstance(value, msgspec.Struct):
        fields = {name: every_field(getattr(value, name)) for name in value.__struct_fields__}
        tag = value.__struct_config__.tag
        return fields if tag is None else {"type": tag} | fields
    if isinstance(value, list | tuple):
        return [every_field(each) for each in value]
    return value


@pytest.mark.parametrize("name", ["request_spark.json", "request_progress.json", "request_yarn.json"])
def test_every_field_the_shim_sends_is_understood(name: str) -> None:
    sent = (GOLDEN / name).read_bytes()
    understood = decode_request(sent)
    assert understood.protocol == PROTOCOL
    assert unknown_fields(json.loads(sent), every_field(understood)) == []


def test_golden_requests_hold_every_kind_of_fact() -> None:
    requests = [decode_request((GOLDEN / name).read_bytes()) for name in ("request_spark.json", "request_yarn.json")]
    sent = {type(fact).__struct_config__.tag for request in requests for fact in request.facts}
    assert sent == kinds(facts.AnyFact)


def test_golden_reply_holds_every_kind_of_order() -> None:
    reply = msgspec.json.decode((GOLDEN / "reply_orders.json").read_bytes(), type=SyncReply)
    assert {type(order).__struct_config__.tag for order in reply.orders} == kinds(orders.AnyOrder)


@pytest.mark.parametrize("name", ["reply_orders.json", "reply_wait.json"])
def test_replies_are_encoded_as_the_shim_reads_them(name: str) -> None:
    golden = (GOLDEN / name).read_bytes()
    assert json.loads(encode_reply(msgspec.json.decode(golden, type=SyncReply))) == json.loads(golden)


def test_progress_columns_have_one_length() -> None:
    progress = decode_request((GOLDEN / "request_progress.json").read_bytes()).progress
    assert {len(getattr(progress, name)) for name in progress.__struct_fields__ if getattr(progress, name)} == {2}


@pytest.mark.parametrize(
    ("kind", "fits"),
    [("spark", True), ("yarn", True), ("spark\n", False), ("Spark", False), ("sparks", False), ("mesos", False)],
)
def test_a_kind_of_source_is_a_word_and_no_line(kind: str, fits: bool) -> None:
    """Python's `$` stands before a last line feed, too; one more source would have been let in under another name."""
    source = {"kind": kind, "id": "app-1", "epoch": 1}
    body = json.dumps({"protocol": 1, "source": source, "sequence": 1, "full": True}).encode()
    with nullcontext() if fits else pytest.raises(msgspec.ValidationError):
        decode_request(body)
