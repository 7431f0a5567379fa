"""Memories that are described instead of named, against the running service."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import ServiceProcess
from umbriel import GrantSpec, InvalidInputError, Message, NotFoundError, RefusedError, Umbriel


async def texts(client: Umbriel, at_least: str, contact: str = "") -> set[str]:
    """What the scope holds as live."""
    return {one.text for one in (await client.list(contact=contact, at_least=at_least)).entries}


async def test_what_is_described_is_what_a_preview_showed(person: Umbriel) -> None:
    """By key, by an identifier in another form, and by text; siblings stay, and the preview is exact."""
    for text, key in (
        ("Ana's email is ana@x.org", ""),
        ("Diana's email is diana@x.org", ""),
        ("Ring Ana on 020 7946 0018", ""),
        ("Ring the club on 020 7946 00181", ""),
        ("The gate code is 8812", "gate code"),
        ("Anabel plays the harp", ""),
        ("Ana plays the harp", ""),
    ):
        last = await person.remember(text, key=key)
    left = await texts(person, last.position)
    for description, by, gone in (
        ("Gate-Code", "key", "The gate code is 8812"),
        ("mailto:ANA@X.org", "identifier", "Ana's email is ana@x.org"),
        ("+44 20 7946 0018", "identifier", "Ring Ana on 020 7946 0018"),
        ("what Ana plays", "text", "Ana plays the harp"),
    ):
        preview = await person.forget(description=description, preview=True)
        assert await texts(person, preview.position) == left
        done = await person.forget(description=description)
        assert (done.touched, done.why) == (preview.touched, preview.why)
        assert [(one.by, one.text) for one in done.why] == [(by, gone)]
        left.remove(gone)
        assert await texts(person, done.position) == left
        with pytest.raises(NotFoundError):
            await person.forget(description=description)


async def test_a_compound_loses_only_the_part(client: Umbriel, person: Umbriel) -> None:
    """Source and trust stay, the change is on record, the forgotten part is gone from the history too."""
    stated = await client.remember("Ana lives in Lisbon and works at Acme", key="about ana")
    preview = await person.forget(description="works at Acme", preview=True)
    done = await person.forget(description="works at Acme")
    assert preview.why[0].left == done.why[0].left == "Ana lives in Lisbon"
    assert set(preview.touched) == set(done.touched) == {stated.memory.id, done.memory}
    for rebuilt in (False, True):
        if rebuilt:
            await person.rebuild()
        why = await person.why(done.memory, at_least=done.position)
        assert (why.memory.text, why.memory.source, why.memory.confidence) == ("Ana lives in Lisbon", "explicit", 0.9)
        assert [(one.status, one.text) for one in why.versions] == [("forgotten", ""), ("live", "Ana lives in Lisbon")]
        assert "part" in [one.detail.get("rule") for one in why.events]
    corrected = await person.correct(description="Ana lives in Lisbon", content="Ana lives in Faro and keeps bees")
    again = await person.correct(description="keeps bees", content="Ana keeps goats")
    assert await texts(person, again.position) == {"Ana lives in Faro and keeps goats"}
    retracted = await person.retract(description="Ana keeps goats")
    assert await texts(person, retracted.position) == {"Ana lives in Faro"}
    kept = (await person.why(corrected.memory, at_least=retracted.position)).versions
    assert "Ana lives in Faro and keeps goats" in {one.text for one in kept}
    await person.remember("Pia paints walls and bakes bread")
    with pytest.raises(RefusedError):
        await client.forget(description="Pia bakes bread")


async def test_what_is_not_clear_is_refused_with_the_candidates(person: Umbriel) -> None:
    """Several that fit, and what cannot be taken apart; `all` takes several, and a restore finds what ended."""
    rex = await person.remember("Otto has a dog called Rex")
    walk = await person.remember("Otto walks his dog at seven")
    both = await person.remember("Ivo and Petra live in Split")
    with pytest.raises(InvalidInputError, match="several memories fit") as refused:
        await person.retract(description="Otto's dog")
    assert rex.memory.id in str(refused.value)
    assert walk.memory.id in str(refused.value)
    with pytest.raises(InvalidInputError, match="taken apart"):
        await person.forget(description="Ivo lives in Split")
    done = await person.retract(description="Otto's dog", all=True, request_id="twice")
    assert set(done.touched) == {rex.memory.id, walk.memory.id}
    assert (await person.retract(description="Otto's dog", all=True, request_id="twice")).touched == done.touched
    assert await texts(person, done.position) == {"Ivo and Petra live in Split"}
    assert (await person.restore(description="Otto has a dog called Rex")).touched == [rex.memory.id]
    assert (await person.pin(description="Otto's dog")).touched == [rex.memory.id]
    assert (await person.unpin(description="Rex, Otto's dog")).touched == [rex.memory.id]
    with pytest.raises(InvalidInputError, match="two ways"):
        await person.pin(both.memory.id, description="Split")
    with pytest.raises(InvalidInputError, match="all is about"):
        await person.pin(both.memory.id, all=True)


async def test_a_purge_reaches_old_versions_and_messages(person: Umbriel) -> None:
    """The history of a key loses what held the address; messages are named, and go when they are asked for."""
    old = await person.remember("Kim's email is kim@old.example", key="kim")
    new = await person.remember("Kim's email is kim@new.example", key="kim")
    said = await person.ingest(
        [Message(role="user", content="write to kim@old.example"), Message(role="user", content="it rains")],
        session="s",
    )
    first = await person.forget(description="kim@old.example")
    assert first.touched == [old.memory.id]
    assert first.messages == [said.outcomes[0].id]
    assert await texts(person, first.position) == {"Kim's email is kim@new.example"}
    with pytest.raises(NotFoundError, match="1 message"):
        await person.forget(description="kim@old.example")
    gone = await person.forget(description="kim@old.example", with_sources=True)
    assert gone.touched == [said.outcomes[0].id]
    found = await person.recall("kim@old.example it rains", at_least=gone.position)
    assert {one.text for one in found.results} >= {"it rains", new.memory.text}
    assert not any("kim@old" in one.text for one in found.results)


async def test_what_is_refused_of_one_is_refused_of_all(client: Umbriel, person: Umbriel) -> None:
    """An agent takes no part out of a person's statement, and nothing else goes before that is known."""
    await client.remember("Write to leo@l.example")
    last = await person.remember("Leo lives in Cork and uses leo@l.example")
    before = await texts(person, last.position)
    for preview in (True, False):
        with pytest.raises(RefusedError):
            await client.forget(description="leo@l.example", preview=preview)
    assert await texts(person, (await person.remember("A control")).position) == before | {"A control"}
    done = await person.forget(description="leo@l.example")
    assert await texts(person, done.position) == {"Leo lives in Cork", "A control"}


async def test_a_description_never_leaves_its_scope(service: ServiceProcess, person: Umbriel) -> None:
    """One contact's, everybody's and what the caller may not write are out of reach, whether they are there or not."""
    for contact in ("ana", "bea", ""):
        last = await person.remember("Phone: +1 415 555 0123", contact=contact)
    done = await person.forget(description="+14155550123", contact="ana")
    assert len(done.touched) == 1
    assert await texts(person, last.position, "bea") == {"Phone: +1 415 555 0123"}
    with pytest.raises(NotFoundError):
        await person.forget(description="+14155550123", contact="ana")
    with pytest.raises(InvalidInputError):
        await person.forget(description="+14155550123", contact="*")
    grant = GrantSpec(profile=person.profile, access="write", contacts=["ana"])
    password = (await person.principal_add("describing-bot", grants=[grant])).secret
    url = json.loads((service.data / "endpoint.json").read_text())["url"]
    async with await Umbriel.connect(url, principal="describing-bot", password=password, profile=person.profile) as bot:
        for description in ("+14155550123", "+14155550199"):
            with pytest.raises(RefusedError):
                await bot.forget(description=description)
            with pytest.raises(RefusedError):
                await bot.forget(description=description, contact="bea")
