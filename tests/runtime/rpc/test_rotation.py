"""The secret and the certificates of a cluster are replaced while its processes talk to one another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.high_availability_errors import UntrustedEntryError
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.rpc import ClusterSecret, RpcConnectionError, TcpRpcService, accepted_state_keys, cluster_secret
from firesteel.runtime.rpc.rpc_errors import RpcAuthenticationError
from firesteel.runtime.rpc.secret import state_key
from firesteel.task.state_file import UnverifiedStateError, read_state_file, write_state_file
from firesteel.task.state_seal import StateSeal
from tests.rest.test_reload import replaced
from tests.runtime.rpc.test_internal_tls import certificates
from tests.runtime.rpc.test_tcp_rpc import Echo, EchoGateway

OLD, NEW = b"the old secret of the cluster", b"the new secret of the cluster"
Start = Callable[..., Awaitable[TcpRpcService]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    services: list[TcpRpcService] = []

    async def start(secret: bytes | ClusterSecret, tls: InternalTls | None = None) -> TcpRpcService:
        services.append(TcpRpcService(secret, tls=tls))
        await services[-1].start()
        return services[-1]

    yield start
    for service in services:
        await service.stop()


async def answer(server: TcpRpcService, client: TcpRpcService) -> object:
    gateway = await client.connect(server.address_of("echo"), EchoGateway)
    return await gateway.echo("there")


def text_of(path: str) -> str:
    return Path(path).read_text()


def files(directory: Path) -> dict[str, str]:
    return {
        "security.rpc.secret-file": str(directory / "secret"),
        "security.rpc.accepted-secret-file": str(directory / "accepted"),
    }


async def test_the_secret_is_replaced_without_a_restart(tmp_path: Path, start: Start) -> None:
    replaced(tmp_path / "secret", OLD.decode())
    server = await start(cluster_secret(files(tmp_path)))
    await Echo(server, "echo").start()
    assert await answer(server, await start(OLD)) == "there"
    with pytest.raises(RpcAuthenticationError):
        await answer(server, await start(NEW))
    replaced(tmp_path / "accepted", NEW.decode())  # the next one is known everywhere first,
    for secret in (OLD, NEW):
        assert await answer(server, await start(secret)) == "there"
    replaced(tmp_path / "secret", NEW.decode())  # then it is used,
    replaced(tmp_path / "accepted", OLD.decode())
    for secret in (OLD, NEW):
        assert await answer(server, await start(secret)) == "there"
    (tmp_path / "accepted").unlink()  # and then the former one is worth nothing
    assert await answer(server, await start(NEW)) == "there"
    with pytest.raises(RpcAuthenticationError, match="could not prove that it knows the secret"):
        await answer(server, await start(OLD))
    client = await start(cluster_secret(files(tmp_path)))  # proves the new one itself
    assert await answer(server, client) == "there"


async def test_certificates_of_the_cluster_are_replaced_without_a_restart(tmp_path: Path, start: Start) -> None:
    used, next_ones = certificates(tmp_path / "used"), certificates(tmp_path / "next")
    tls = InternalTls.of(used)
    server, client = await start(OLD, tls), await start(OLD, tls)
    await Echo(server, "echo").start()
    assert await answer(server, client) == "there"
    stranger = InternalTls.of(next_ones)
    with pytest.raises(RpcConnectionError):
        await answer(server, await start(OLD, stranger))
    for option in ("keystore", "truststore"):
        key = f"security.ssl.internal.{option}"
        replaced(Path(used[key]), text_of(next_ones[key]))
    assert await answer(server, await start(OLD, stranger)) == "there"
    assert await answer(server, await start(OLD, tls)) == "there"
    assert await answer(server, client) == "there"  # over the connection of before


def test_entries_and_state_of_the_former_secret_are_read_while_it_is_accepted(tmp_path: Path) -> None:
    replaced(tmp_path / "secret", OLD.decode())
    secret = cluster_secret(files(tmp_path))
    codec = EntryCodec(secret, "/default")
    entry = codec.sign("jobs", "a", b"graph")
    state = tmp_path / "1.full"
    write_state_file(state, [b"state"], seal=StateSeal(state_key(files(tmp_path))))

    replaced(tmp_path / "secret", NEW.decode())
    replaced(tmp_path / "accepted", OLD.decode())
    assert codec.verify("jobs", "a", entry) == b"graph"
    assert codec.sign("jobs", "a", b"graph") == EntryCodec(NEW, "/default").sign("jobs", "a", b"graph") != entry
    seal = StateSeal(state_key(files(tmp_path)), accepted=accepted_state_keys(files(tmp_path)))
    assert list(read_state_file(state, seal)) == [b"state"]

    (tmp_path / "accepted").unlink()
    with pytest.raises(UntrustedEntryError):
        codec.verify("jobs", "a", entry)
    with pytest.raises(UnverifiedStateError, match="signed with the secret of another cluster"):
        list(
            read_state_file(state, StateSeal(state_key(files(tmp_path)), accepted=accepted_state_keys(files(tmp_path))))
        )


def test_a_secret_that_others_may_read_does_not_replace_one_in_use(tmp_path: Path) -> None:
    replaced(tmp_path / "secret", OLD.decode())
    secret = cluster_secret(files(tmp_path))
    (tmp_path / "accepted").write_text(NEW.decode())
    (tmp_path / "accepted").chmod(0o644)
    assert secret.accepted == (OLD,)
    (tmp_path / "accepted").chmod(0o600)
    replaced(tmp_path / "accepted", NEW.decode())
    assert secret.accepted == (OLD, NEW)
