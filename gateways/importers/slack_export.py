"""The files of Slack's export: which of them are days of channels, and the lists of people and channels beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from json import JSONDecodeError

from gateways.importers import slack
from gateways.importers.archive import Blob
from gateways.importers.conversation import BadValueError, Conversation
from gateways.importers.entries import Hints, Speakers
from gateways.importers.slack_text import Names

__all__ = ["is_slack", "read_folder"]

_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")


def is_slack(files: Sequence[Blob]) -> bool:
    """Return whether these are the files of an export: some are days of channels, and what one holds is messages."""
    days = (blob for blob in files if slack.name_of(blob.name))
    try:
        first = next(filter(None, map(_json, days)), None)
    except BadValueError:
        return True  # the name of a day, and broken: that is to be told
    return first is not None and slack.is_day(first)


def read_folder(files: Sequence[Blob], hints: Hints) -> Iterator[Conversation]:
    """Yield the conversations of each channel in turn, which is held in memory by itself."""
    by_name = {blob.name: blob for blob in files}
    beside = {blob.name.rpartition("/")[2]: blob for blob in files if not slack.name_of(blob.name)}
    people = slack.names_of(_json(beside["users.json"])) if "users.json" in beside else {}
    ids = slack.channels_of(_json(beside[name]) for name in _LISTS if name in beside)
    names = Names(people, {identity: name for name, identity in ids.items()})
    speakers = Speakers(hints.me)
    for channel, days in slack.grouped(by_name).items():
        read = (slack.Day(day, _json(by_name[day])) for day in days)
        yield from slack.read_channel(channel, read, names, ids.get(channel, channel), speakers)
    speakers.check()


def _json(blob: Blob) -> object:
    try:
        return json.loads(blob.text())
    except JSONDecodeError as error:
        raise BadValueError(
            "not JSON", expected=f"JSON ({error.msg}, line {error.lineno})", found="none", path=(blob.name,)
        ) from error
