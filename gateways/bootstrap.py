"""The composition root: joins log, views, workers and transports into one running service."""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path

import msgspec
import structlog
from eventsourcing.application import Application
from faststream.nats import NatsBroker
from faststream.security import SASLPlaintext
from filelock import FileLock, Timeout

from domain.envelope import Envelope
from domain.errors import AlreadyRunningError, InvalidInputError
from domain.ports import Embedder
from domain.settings import Reaches, Settings
from gateways.api import Api
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.factory import share
from gateways.jetstream.keeping import keep, let_go
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.leases import Leases
from gateways.jetstream.log import Log
from gateways.jetstream.master_keys import MasterKeys
from gateways.jetstream.principals import Principals, hash_of
from gateways.jetstream.schedules import Schedules
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import StreamState, ensure_streams
from gateways.jetstream.tls import Tls
from gateways.jetstream.turns import TurnStore
from gateways.jetstream.users import ANSWER, SERVICE, users_config, users_for
from gateways.managed import ManagedClient, ManagedSettings
from gateways.models.judges.sameness import Sameness
from gateways.models.meter import Meter
from gateways.models.minilm import MiniLMEmbedder
from gateways.providing import local_models
from gateways.service.administration import Administration
from gateways.service.backups import Backups
from gateways.service.consolidating import ConsolidationPass
from gateways.service.context import Core
from gateways.service.daily import DailyPasses, utc_now
from gateways.service.embedding import EmbeddingWorker
from gateways.service.erasure_worker import ErasureWorker
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher
from gateways.service.following import FollowingWorker
from gateways.service.forwarding import following
from gateways.service.guarding import Guard, check_log
from gateways.service.importing import held
from gateways.service.key_rotation import KeyRotation
from gateways.service.models import Models
from gateways.service.past_views import clear_past
from gateways.service.positions import Positions
from gateways.service.profiles import ProfileRoom, Profiles
from gateways.service.reader import Reader
from gateways.service.rebuilding import Rebuilds
from gateways.service.reflection_pass import ReflectionPass
from gateways.service.refusals import PolicyRefusals
from gateways.service.rounds import ProfileWorker
from gateways.service.service import Service
from gateways.service.sharing import Shares
from gateways.service.thinking import Thinking
from gateways.service.tombstones import destroy_recorded
from gateways.service.usage import Usages
from projections.directory import Directory

__all__ = ["LOOPBACK", "Runtime", "authorization", "lock_of", "running", "tls_of"]

_log = structlog.get_logger(__name__)
_CANCEL_AGAIN = 2.0
_FILES = 16_384
_RECONNECT_WAIT = 1
LOOPBACK = "127.0.0.1"


class Runtime(msgspec.Struct, frozen=True):
    """A running service: where it listens, and the parts that a supervisor looks at."""

    url: str
    service: Service
    api: Api
    tasks: list[asyncio.Task[None]]
    principals: Principals


@asynccontextmanager
async def running(
    data: Path,
    *,
    port: int | None = None,
    nats: str | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    embedder_reaches: Reaches = "local",
    managed: ManagedSettings | None = None,
    bind: str = LOOPBACK,
    tls: Tls | None = None,
    tls_ca: Path | None = None,
    models: Models | None = None,
    meter: Meter | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> AsyncIterator[Runtime]:
    """Run the service on a data directory until the context ends.

    Without ``nats`` an embedded server is started on the loopback interface, or on ``bind`` with ``tls``; ``tls_ca``
    is what a server of one's own is trusted by. ``models`` think about what is written, where the settings say so; by
    default those that need no network. ``embedder_reaches`` says where texts go that the embedder is given,
    ``managed`` where the managed memory is, None for nowhere; ``clock`` tells which daily passes are due.

    Raises AlreadyRunningError when another process serves the directory or the port is taken, MismatchError when the
    streams are not configured as they must be.
    """
    settings = settings or Settings()
    _raise_file_limit()
    async with AsyncExitStack() as stack:
        stack.callback(lock_of(data).release)
        principals = Principals(Secrets(data / "secrets"))
        server = NatsServer(
            data,
            port=port or 0,
            principals=principals.active(),
            hashes=principals.hashes(),
            nkeys=principals.nkeys(),
            bind=bind,
            tls=tls,
        )
        if nats is None:
            await server.start()
            stack.push_async_callback(server.stop)
        url, context = nats or server.url, _trust(tls, tls_ca)
        connection = await connect(url, SERVICE, server.password(SERVICE), name="umbriel-service", tls=context)
        stack.push_async_callback(connection.close)
        state = await ensure_streams(connection.js, num_replicas=settings.replicas, max_bytes=settings.log_max_bytes)
        model = embedder if embedder is not None else await asyncio.to_thread(MiniLMEmbedder)
        client = _managed(stack, managed)
        core = await _core(
            stack, data, connection, state, server, settings, embedder=model, reaches=embedder_reaches, client=client
        )
        administration = Administration(principals, _applying(server, principals))
        stack.push_async_callback(administration.close)
        rotation = KeyRotation(core.events.keys, MasterKeys(server.secrets))
        service = Service(core, administration, rotation)
        core.models = models or local_models()
        core.models.refused = core.policy_refusals.note
        thinking = Thinking(core, core.models) if settings.thinking else None
        core.granted = principals.granted
        recalls, caches = service.handed_out.recalls, (service.answered.forget, core.analyses.forget)
        core.erasures = erasure = ErasureWorker(core, flush=recalls.flush, forget=caches)
        counted = (service.handed_out.accesses, service.handed_out.recalls)
        flushers = (*counted, service.records, core.policy_refusals, Usages(core.events, meter or Meter()))
        consolidation = ConsolidationPass(core, core.models, Sameness())
        core.consolidate = consolidation.ask
        reflection = ReflectionPass(core, core.models)
        core.reflect_day = reflection.ask
        daily = DailyPasses(core, (reflection, consolidation), Schedules(connection), clock=clock)
        guard = Guard(core, state, data, server.secrets)
        stack.push_async_callback(guard.close)
        core.backups = Backups(data, connection, core.events.keys, core.positions, settings.backup, clock)
        stack.push_async_callback(core.backups.close)
        leases, names = Leases(connection, replicas=settings.replicas), core.directory.names
        core.shares = Shares(leases if nats else None, names, works="worker" in settings.roles)
        stack.push_async_callback(core.shares.close)
        also = {**guard.work(), "keys": rotation.run(), **core.shares.work()}
        if not nats:
            also["server"] = keep(server)
        tasks = _start_workers(stack, core, flushers, thinking, daily, erasure, also)
        await core.rebuilds.take_up(core.directory.names())
        stack.push_async_callback(core.rebuilds.close)
        api = await _start_api(stack, service, principals, url, server.password(ANSWER), context)
        yield Runtime(url, service, api, tasks, principals)


def _managed(stack: AsyncExitStack, settings: ManagedSettings | None) -> ManagedClient | None:
    """Return the client of the managed memory, None where none or no key is configured."""
    if settings is None or not settings.key:
        return None
    client = ManagedClient(settings)
    stack.push_async_callback(client.close)
    return client


def _raise_file_limit() -> None:
    """Allow as many open files as the system lets us: an open profile holds about thirty, and 1,024 are few."""
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        _log.warning("file_limit_kept", reason=str(error))


def lock_of(data: Path) -> FileLock:
    """Return the lock of a data directory, held; raises AlreadyRunningError while another process has it."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = FileLock(data / "lock")
    try:
        held.acquire(timeout=0)
    except Timeout:
        raise AlreadyRunningError(
            f"another process serves {data}; use it, or stop it first", expected="a free data directory", found="a lock"
        ) from None
    return held


async def _core(
    stack: AsyncExitStack,
    data: Path,
    connection: Connection,
    state: StreamState,
    server: NatsServer,
    settings: Settings,
    *,
    embedder: Embedder,
    reaches: Reaches,
    client: ManagedClient | None,
) -> Core:
    directory = Directory(data / "directory.sqlite")
    stack.callback(directory.close)
    log = Log(connection)
    standing = await check_log(log, state, directory, data, server.secrets)
    master, old = MasterKeys(server.secrets).present()
    keys = KeyRing(connection, master, old=old)
    await keys.check()
    events = EventReader(log, keys, lost=standing.lost)
    # Before anything is read: a backup may have brought back what was erased, a crash may have come between.
    await destroy_recorded(events)
    room = ProfileRoom(profiles=settings.open_profiles, bytes=settings.open_profile_bytes, growth=settings.vectors)
    profiles = Profiles(data, events, embedder, room)
    stack.push_async_callback(profiles.close)
    refusals = PolicyRefusals(events)
    worker = EmbeddingWorker(
        events, profiles, embedder, batch=settings.embedding_batch, reaches=reaches, refused=refusals.note
    )
    core = Core(
        settings=settings,
        events=events,
        application=Application(share(log, keys, Bridge(asyncio.get_running_loop()))),
        profiles=profiles,
        reader=Reader(events, profiles, directory, batch=settings.reader_batch),
        worker=worker,
        rebuilds=Rebuilds(events, profiles, worker, embedder),
        directory=directory,
        embedder=embedder,
        positions=Positions(standing.stream, standing.incarnation),
        refusals=refusals,
        turns=TurnStore(connection, keys),
        embedder_reaches=reaches,
        managed=client,
    )
    await asyncio.to_thread(clear_past, data / "profiles")
    stack.push_async_callback(core.past.close)
    # On a thread: commands that still run need the loop to end.
    stack.push_async_callback(asyncio.to_thread, core.close)
    return core


def _start_workers(
    stack: AsyncExitStack,
    core: Core,
    flushers: Sequence[Flusher],
    thinking: Thinking | None,
    daily: DailyPasses,
    erasure: ErasureWorker,
    also: dict[str, Coroutine[None, None, None]],
) -> list[asyncio.Task[None]]:
    def wake(envelopes: list[Envelope]) -> None:
        for profile in {envelope.profile for envelope in envelopes if envelope.data.category() in _EMBEDDED}:
            core.worker.wake(profile)

    core.reader.listeners.append(wake)
    names = core.directory.names()
    for name in names:
        core.worker.wake(name)
    work: dict[str, Coroutine[None, None, None]] = {
        "reader": core.reader.run(),
        "feeds": core.feeds.run(),
        "embedding": core.worker.run(),
        "past": core.past.run(),
        **also,
    }
    for flusher in flushers:
        stack.push_async_callback(flusher.flush)
        work[flusher.actor.principal] = flusher.run(core.settings.flush_seconds)
    following_up = FollowingWorker(core)
    core.reader.listeners.append(following_up.look)
    core.rebuilds.switched.append(following_up.wake)
    for name in names:
        following_up.wake(name)
    work["forgetting"] = following_up.run()
    core.reader.listeners.append(erasure.look)
    erasure.take_up()
    work["erasure"] = erasure.run()
    if thinking is not None:
        core.thinking = thinking
        core.reader.listeners.append(thinking.wake)
        core.rebuilds.switched.append(thinking.look_again)
        for name in names:
            thinking.look_again(name)
        work |= thinking.work()
    core.daily = daily
    core.reader.listeners.append(daily.look_at_new)
    work |= daily.work()
    if core.backups is not None:
        work["backups"] = core.backups.run()
    if core.managed is not None:
        work["forwarding"] = following(core, core.managed).run()
    _hold(core, thinking, following_up, daily)
    tasks = [asyncio.create_task(coroutine, name=name) for name, coroutine in work.items()]
    stack.push_async_callback(_cancel, tasks)
    return tasks


def _hold(core: Core, thinking: Thinking | None, *others: ProfileWorker) -> None:
    """Let nobody think about half an import, nor about what another instance works for."""
    for worker in (core.worker, *others, *(thinking.workers if thinking is not None else ())):
        worker.held = held(core)
    core.shares.share((core.worker, *(thinking.shared if thinking is not None else ())))


#: Categories whose events may leave something to embed.
_EMBEDDED = frozenset({"message", "memory", "profile"})


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """End the workers; one that an arriving message made miss its cancellation is told again."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_AGAIN)


def _trust(tls: Tls | None, authority: Path | None) -> ssl.SSLContext | None:
    """Return how the service trusts its NATS server: its own by its certificate, another's by an authority."""
    if tls is not None:
        return tls.own_context()
    return None if authority is None else ssl.create_default_context(cafile=str(authority))


def _applying(server: NatsServer, principals: Principals) -> Callable[[], Awaitable[bool]]:
    async def apply() -> bool:
        if server.running:
            await server.reload(principals.active(), principals.hashes(), principals.nkeys())
        return server.running

    return apply


def tls_of(certificate: Path | None, key: Path | None, authority: Path | None) -> Tls | None:
    """Return the TLS files of an embedded server, None without any; half of a pair is an InvalidInputError."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InvalidInputError(
            "a certificate and its key belong together", expected="--tls-cert and --tls-key", found="one of them"
        )
    return Tls(certificate.absolute(), key.absolute(), authority.absolute() if authority else None)


def authorization(data: Path) -> str:
    """Return the ``authorization`` block for a NATS server of one's own; every password in it is a bcrypt hash."""
    files = Secrets(data / "secrets")
    principals = Principals(files)
    users, nkeys = users_for(principals.active()), principals.nkeys()
    hashes = dict(principals.hashes())
    for name in {user.name for user in users} - hashes.keys() - nkeys.keys():
        hashes[name] = hash_of(files.password(name))
    return users_config(users, hashes, nkeys)


async def _start_api(
    stack: AsyncExitStack,
    service: Service,
    principals: Principals,
    url: str,
    password: str,
    tls: ssl.SSLContext | None,
) -> Api:
    broker = NatsBroker(
        [part.strip() for part in url.split(",")],
        security=SASLPlaintext(username=ANSWER, password=password, use_ssl=tls is not None, ssl_context=tls),
        inbox_prefix=f"_INBOX_{ANSWER}",
        max_reconnect_attempts=-1,
        reconnect_time_wait=_RECONNECT_WAIT,
        logger=None,
        # Injected arguments take a turn in a thread each, with every request.
        apply_types=False,
    )
    api = Api(service, principals.get, principals.of_token, broker)
    await broker.start()
    stack.push_async_callback(let_go, broker.stop)
    stack.push_async_callback(api.close)
    return api
