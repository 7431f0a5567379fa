"""Questions about contacts: who is one person, who there is, and how the profile is set.

A group is every contact that can be reached over links; it is resolved in the snapshot that uses it, so a link
or its end counts at once, and no memory or message changes with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

import msgspec

from domain.settings import ProfileSettings
from projections.ledger import rows
from projections.ledger.records import AsOf, ContactRecord, micros
from projections.ledger.store import Store

__all__ = ["ContactQueries", "group_of", "grouped", "shadowed"]

_GROUP = """
WITH RECURSIVE one (contact) AS (
    VALUES (?) UNION SELECT l.other FROM one JOIN contact_links l ON l.contact = one.contact)
SELECT contact FROM one WHERE contact <> ? ORDER BY contact
"""
_GROUP_THEN = """
WITH RECURSIVE links (contact, other) AS (
    SELECT contact, other FROM contact_links WHERE position <= ?2
    UNION SELECT contact, other FROM past_links WHERE from_position <= ?2 AND to_position > ?2),
one (contact) AS (
    VALUES (?1) UNION SELECT l.other FROM one JOIN links l ON l.contact = one.contact)
SELECT contact FROM one WHERE contact <> ?1 ORDER BY contact
"""
_CONTACTS = """
WITH page (contact) AS (
    SELECT contact FROM conversations WHERE contact > ?1
    UNION SELECT scope FROM memories WHERE scope > ?1 AND status <> 'forgotten'
    UNION SELECT contact FROM contact_links WHERE contact > ?1
    ORDER BY 1 LIMIT ?2)
SELECT p.contact,
    (SELECT count(*) FROM conversations c WHERE c.contact = p.contact),
    (SELECT count(*) FROM memories m WHERE m.scope = p.contact AND m.status = 'live'
        AND (m.expires_at IS NULL OR m.expires_at > ?3)),
    (SELECT json_group_array(channel) FROM (SELECT DISTINCT channel FROM conversations c
        WHERE c.contact = p.contact AND c.channel <> '' ORDER BY channel)),
    (SELECT json_group_array(other) FROM (SELECT other FROM contact_links l
        WHERE l.contact = p.contact ORDER BY other))
FROM page p ORDER BY p.contact
"""
_SHADOWED = """
SELECT m.id FROM memories m
WHERE m.id IN (SELECT value FROM json_each(?)) AND m.folded_key <> ''
    AND m.scope IN (SELECT value FROM json_each(?))
    AND EXISTS (SELECT 1 FROM memories n WHERE n.folded_key = m.folded_key AND n.folded_key <> '' AND n.kind = m.kind
        AND n.scope <> m.scope AND n.scope IN (SELECT value FROM json_each(?))
        AND n.status = 'live' AND (n.expires_at IS NULL OR n.expires_at > ?)
        AND (n.author_type = 'person', n.position) > (m.author_type = 'person', m.position))
"""
_SET = "SELECT settings FROM settings WHERE position <= coalesce(?1, position) ORDER BY position DESC LIMIT 1"
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_SETTINGS = msgspec.json.Decoder(ProfileSettings)


def group_of(
    db: sqlite3.Connection, contact: str, within: frozenset[str] | None = None, as_of: AsOf | None = None
) -> tuple[str, ...]:
    """Return a contact and, after it, everyone it is linked with, directly or through others.

    Of the others only those ``within`` are returned, where it is given: a link widens nobody's grant, nor does one
    of the past.
    """
    if not contact or within == frozenset():
        return (contact,)
    found = (
        db.execute(_GROUP, (contact, contact)) if as_of is None else db.execute(_GROUP_THEN, (contact, as_of.position))
    )
    others = (row[0] for row in found)
    return (contact, *(one for one in others if within is None or one in within))


def grouped(
    db: sqlite3.Connection,
    scopes: Iterable[str | None],
    within: frozenset[str] | None = None,
    as_of: AsOf | None = None,
) -> dict[str | None, int]:
    """Return every scope that some are read with, and the place of the first one that brought it in."""
    places: dict[str | None, int] = {}
    for place, scope in enumerate(scopes):
        for member in (None,) if scope is None else group_of(db, scope, within, as_of):
            places.setdefault(member, place)
    return places


class ContactQueries:
    """Reads of contacts and settings; part of `Ledger`."""

    _store: Store

    def linked(self, contact: str, *, within: frozenset[str] | None = None) -> tuple[str, ...]:
        """Return a contact and, after it, everyone it is linked with (those ``within``), directly or through others."""
        with self._store.read() as db:
            return group_of(db, contact, within)

    def links(self, contact: str) -> list[str]:
        """Return the contacts that one is linked to directly."""
        with self._store.read() as db:
            found = db.execute("SELECT other FROM contact_links WHERE contact = ? ORDER BY other", (contact,))
            return [row[0] for row in found]

    def contacts(self, *, now: datetime, after: str = "", limit: int = 100) -> list[ContactRecord]:
        """Return contacts by name, those behind ``after``; counts are of each as written."""
        with self._store.read() as db:
            found = db.execute(_CONTACTS, (after, limit, micros(now))).fetchall()
            return [
                ContactRecord(
                    contact=contact,
                    conversations=conversations,
                    memories=memories,
                    channels=_NAMES.decode(channels),
                    links=_NAMES.decode(links),
                    group=group_of(db, contact)[1:] if links != "[]" else (),
                )
                for contact, conversations, memories, channels, links in found
            ]

    def settings(self, *, as_of: AsOf | None = None) -> ProfileSettings:
        """Return the profile's settings, those of now or of then; those never set have their defaults."""
        with self._store.read() as db:
            row = db.execute(_SET, (as_of and as_of.position,)).fetchone()
        return ProfileSettings() if row is None else _SETTINGS.decode(row[0])


def shadowed(db: sqlite3.Connection, ids: str, group: Iterable[str], now: datetime) -> set[str]:
    """Return those of these memories (a JSON array of ids) that another contact of the group has a newer answer to.

    Two linked contacts may each have a memory under one key: the one that a person stated counts, then the newer.
    """
    scopes = rows.array(group)
    found = db.execute(_SHADOWED, (ids, scopes, scopes, micros(now)))
    return {row[0] for row in found}
