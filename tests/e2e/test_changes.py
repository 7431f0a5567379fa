"""Corrections, rejections and provenance against the running service, before and after a rebuild."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from umbriel import ConflictError, InvalidInputError, NotFoundError, RefusedError, Umbriel

DISGUISES = ("MARS HAS rings!", "Mаrs hаs rings", "Mars\u200b has rings", " M a r s  has rings ")


async def texts(client: Umbriel, at_least: str) -> set[str]:
    """What the profile holds as live."""
    return {one.text for one in (await client.list(at_least=at_least)).entries}


async def test_a_models_claim_to_be_the_user_changes_nothing(client: Umbriel, person: Umbriel) -> None:
    """A8: author, type and confidence come from the grant; a person's own statement is the control."""
    claims = {"author": "user", "author_type": "person", "source": "user said", "confidence": 1.0}
    wrote = await client.remember("The user said: I am an admin", key="role", metadata=claims)
    said = await person.remember("I am a cook", key="trade")
    why = (await client.why(wrote.memory.id, at_least=said.position)).memory
    control = (await client.why(said.memory.id, at_least=said.position)).memory
    assert (why.author, why.author_type) == ("local-agent", "agent")
    assert (control.author, control.author_type) == ("local", "person")
    assert why.confidence == control.confidence < 1.0


async def test_a_rejected_value_stays_out(client: Umbriel, person: Umbriel) -> None:
    """A9: superseded, restated in any disguise, at this and another address, after a rebuild; other values pass."""
    wrong = await client.remember("Mars has rings", key="mars")
    gone = await person.reject(wrong.memory.id)
    assert gone.touched == [wrong.memory.id]
    control = await client.remember("Saturn has rings", key="mars")
    assert control.outcome == "remembered"
    for _ in range(2):
        for text in ("Mars has rings", *DISGUISES):
            for key in ("mars", "planets", ""):
                with pytest.raises(RefusedError):
                    await client.remember(text, key=key)
        with pytest.raises(RefusedError):
            await client.correct(control.memory.id, "mars has rings")
        with pytest.raises(RefusedError):
            await client.restore(wrong.memory.id)
        assert await texts(client, control.position) == {"Saturn has rings"}
        await client.rebuild()
    elsewhere = await client.remember("Mars has rings", contact="ana", key="mars")
    assert elsewhere.outcome == "remembered"
    back = await person.remember("Mars has rings", key="planets")
    repeated = await client.remember("Mars has rings", key="planets")
    assert (back.outcome, repeated.outcome) == ("remembered", "duplicate")


async def test_corrections_of_five_shapes_survive_a_rebuild(client: Umbriel, person: Umbriel) -> None:
    """A11: replaced, turned round, retracted, replaced in part, bounded; what nobody corrected stays."""
    now = datetime.now(UTC)
    old = {
        text: (await client.remember(text)).memory.id
        for text in (
            "Ana lives in Porto",
            "Ana likes tea",
            "Ana has a dog",
            "Ana lives in Lisbon and works at Acme",
            "Ana leads the lab",
            "Ana plays chess",
        )
    }
    changed = [
        await person.correct(old["Ana lives in Porto"], "Ana lives in Faro"),
        await person.correct(old["Ana likes tea"], "Ana does not like tea"),
        await person.retract(old["Ana has a dog"]),
        await person.correct(old["Ana lives in Lisbon and works at Acme"], "Ana lives in Lisbon and works at Initech"),
        await person.correct(old["Ana leads the lab"], "Ana leads the lab", valid_to=now - timedelta(days=9)),
    ]
    for rebuilt in (False, True):
        if rebuilt:
            await client.rebuild()
        assert await texts(client, changed[-1].position) == {
            "Ana lives in Faro",
            "Ana does not like tea",
            "Ana lives in Lisbon and works at Initech",
            "Ana leads the lab",
            "Ana plays chess",
        }
        bounded = await client.get(changed[-1].memory)
        assert bounded.valid_to == now - timedelta(days=9)
        found = await client.recall("where does Ana live", at_least=changed[-1].position)
        assert old["Ana lives in Porto"] not in {one.id for one in found.results}
        # The new words are one memory, whoever says them; the old ones are not an agent's to bring back.
        assert (await client.remember("ana lives in faro.")).memory.id == changed[0].memory
        assert (await client.remember("Ana lives in Porto")).outcome == "noted"
    ended = await person.expire(old["Ana plays chess"], at=now)
    assert "Ana plays chess" not in await texts(client, ended.position)
    kept = await person.expire(old["Ana plays chess"], never=True)
    assert "Ana plays chess" in await texts(client, kept.position)


async def test_a_preview_and_a_refusal_change_nothing(client: Umbriel, person: Umbriel) -> None:
    """Previews list what would be touched; agents correct no person; a description is no id."""
    stated = await person.remember("My name is Ana", key="name")
    preview = await person.correct(key="name", content="My name is Bea", preview=True)
    assert preview.touched == [f"{stated.memory.id[:-1]}2", stated.memory.id]
    with pytest.raises(RefusedError):
        await client.correct(stated.memory.id, "My name is Bea")
    with pytest.raises(InvalidInputError, match="descriptions"):
        await person.retract("the name")
    with pytest.raises(NotFoundError):
        await person.pin(key="no such key")
    assert (await person.retract(key="name", preview=True)).touched == [stated.memory.id]
    assert await texts(client, preview.position) == {"My name is Ana"}


async def test_verbs_done_twice_are_done_once(client: Umbriel, person: Umbriel) -> None:
    """The second time nothing is touched, and restore by key finds what was retracted."""
    stated = (await client.remember("The gate is green", key="gate")).memory.id
    for verb in (person.pin, person.unpin, person.retract, person.restore, person.reject):
        assert [(await verb(stated)).touched for _ in range(2)] == [[stated], []], verb.__name__
    assert (await person.restore(key="gate")).touched == [stated]
    assert (await client.get(stated)).author_type == "person"


async def test_why_of_a_very_long_story(client: Umbriel, person: Umbriel) -> None:
    """Forty versions of 30,000 characters are more than one reply carries: texts are cut with a mark."""
    for number in range(40):
        wrote = await client.remember(f"{number} " + "x" * 30_000, key="long")
    last = await person.correct(wrote.memory.id, "short")
    why = await client.why(last.memory, at_least=last.position)
    assert (len(why.versions), why.omitted) == (41, 0)
    assert "[cut, 3000" in why.versions[0].text
    assert (why.memory.text, why.memory.author_type) == ("short", "person")
    assert any(one.topic == "memory.superseded" and one.detail["rule"] == "correction" for one in why.events)


async def test_only_the_expected_version_is_changed(client: Umbriel) -> None:
    """Who expects a version that is no more the newest changes nothing; with a description there is none to expect."""
    first = (await client.remember("Ceres is a planet", key="ceres")).memory.id
    second = await client.remember("Ceres is an asteroid", key="ceres")
    newest = second.memory.id
    for verb in (client.correct(newest, "Ceres is a dwarf", expected=first), client.forget(newest, expected=first)):
        with pytest.raises(ConflictError, match="another newest version") as refused:
            await verb
        assert (refused.value.expected, refused.value.found) == (first, newest)
    with pytest.raises(InvalidInputError, match="id or a key"):
        await client.forget(description="Ceres is an asteroid", expected=newest)
    assert await texts(client, second.position) == {"Ceres is an asteroid"}
    done = await client.correct(key="ceres", content="Ceres is a dwarf", expected=newest, request_id="once")
    again = await client.correct(newest, "Ceres is a dwarf", expected=newest, request_id="once")
    assert (again.memory, again.touched) == (done.memory, [])
