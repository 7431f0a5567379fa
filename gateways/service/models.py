"""Which model works for a profile: the best configured one that its data may be sent to, else the local one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import msgspec
import structlog

from domain.digest import Reflector
from domain.errors import DamagedError, UmbrielError, UnavailableError
from domain.merging import Worder
from domain.ports import Analyst, Extractor, Judge, Summariser, Synthesiser
from domain.settings import DataFlow, Reaches

__all__ = [
    "KEPT",
    "Models",
    "Provided",
    "Refused",
    "answered",
    "may_go",
    "passes",
    "unheard",
]

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_ORDER: tuple[Reaches, ...] = ("local", "own", "partner")

#: Why something was not sent.
KEPT = "kept by the data-flow policy"
#: told of content that was kept from a provider: profile, class of content, provider, what was expected and found
Refused = Callable[[str, str, str, str], None]


class Provided(msgspec.Struct, Generic[T], frozen=True):
    """An implementation of a port and where what it is given goes: nowhere, to an own endpoint, to a third party."""

    value: T
    name: str
    reaches: Reaches = "local"


def may_go(allowed: Reaches, reaches: Reaches) -> bool:
    """Whether content that may go as far as ``allowed`` may go to a provider of the class ``reaches``."""
    return _ORDER.index(reaches) <= _ORDER.index(allowed)


def passes(refused: Refused, profile: str, *, subject: str, provider: str, limit: Reaches, reaches: Reaches) -> bool:
    """Whether content of a class may go to a provider; that it may not is told to ``refused``."""
    if may_go(limit, reaches):
        return True
    refused(profile, subject, provider, f"expected at most {limit}, found {reaches}")
    return False


def unheard(profile: str, subject: str, provider: str, detail: str) -> None:
    """Tell nobody."""


async def answered(name: str, answer: Awaitable[T], *, seconds: float) -> T:
    """Return what a model answers within so many seconds; what else it raises than an error of ours is a DamagedError.

    A model that trips over one text must not take the worker with it, and the service after that.
    """
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except UmbrielError:
        raise
    except TimeoutError as error:
        raise UnavailableError(f"{name} does not answer", expected=f"within {seconds} s", found="nothing") from error
    except Exception as error:
        # Without a traceback: the lines of one may show what was said.
        _log.warning("model_failed", model=name, error=type(error).__name__)
        raise DamagedError(f"{name} failed", expected="an answer", found=type(error).__name__) from error


class Models:
    """The implementations of each port in order of preference; the last extractor and judge are local, always there."""

    def __init__(
        self,
        extractors: Sequence[Provided[Extractor]],
        judges: Sequence[Provided[Judge]],
        *,
        worders: Sequence[Provided[Worder]] = (),
        synthesisers: Sequence[Provided[Synthesiser]] = (),
        analysts: Sequence[Provided[Analyst]] = (),
        summarisers: Sequence[Provided[Summariser]] = (),
        reflectors: Sequence[Provided[Reflector]] = (),
        refused: Refused = unheard,
    ) -> None:
        self._extractors = extractors
        self._judges = judges
        #: of these there need be none
        self.synthesisers = synthesisers
        self.analysts = analysts
        self.worders = worders
        self._summarisers = summarisers
        #: the last of them is local, where there are any
        self._reflectors = reflectors
        self.refused = refused

    def extractor(self, profile: str, flow: DataFlow) -> Provided[Extractor]:
        """Return what reads this profile's messages."""
        return self._first(self._extractors, profile, "messages", flow.messages)

    def summariser(self, profile: str, flow: DataFlow) -> Summariser:
        """Return what makes summaries of this profile's messages."""
        return self._first(self._summarisers, profile, "messages", flow.messages).value

    @property
    def local_summariser(self) -> Summariser:
        """The summariser that is always there."""
        return self._summarisers[-1].value

    @property
    def reflects(self) -> bool:
        """Whether there is anything to think about days with."""
        return bool(self._reflectors)

    def reflector(self, profile: str, flow: DataFlow) -> Reflector:
        """Return what thinks about this profile's days: it is told of messages and of memories."""
        for one in self._reflectors:
            if self._passes(one, profile, "messages", flow.messages) and self._passes(
                one, profile, "memories", flow.memories
            ):
                return one.value
        raise AssertionError("the last implementation of a port is local")

    @property
    def local_reflector(self) -> Reflector:
        """The reflector that is always there."""
        return self._reflectors[-1].value

    def may_know(self, reader: Provided[Extractor], profile: str, flow: DataFlow) -> bool:
        """Whether what reads a profile's messages may be told of its memories as well."""
        return self._passes(reader, profile, "memories", flow.memories)

    def judge(self, profile: str, flow: DataFlow) -> Judge:
        """Return what holds this profile's memories against each other."""
        return self._first(self._judges, profile, "memories", flow.memories).value

    def worder(self, profile: str, flow: DataFlow) -> Worder | None:
        """Return what words several of this profile's memories as one, None where nothing may."""
        for one in self.worders:
            if self._passes(one, profile, "memories", flow.memories):
                return one.value
        return None

    @property
    def local_judge(self) -> Judge:
        """The judge that is always there."""
        return self._judges[-1].value

    def _first(self, provided: Sequence[Provided[T]], profile: str, subject: str, limit: Reaches) -> Provided[T]:
        for one in provided:
            if self._passes(one, profile, subject, limit):
                return one
        raise AssertionError("the last implementation of a port is local")

    def _passes(self, one: Provided[T], profile: str, subject: str, limit: Reaches) -> bool:
        return passes(self.refused, profile, subject=subject, provider=one.name, limit=limit, reaches=one.reaches)
