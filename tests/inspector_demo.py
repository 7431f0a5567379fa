"""A profile with a life of its own, for screenshots of the web inspector: a household's assistant over some weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from umbriel import Umbriel
from umbriel.types import Message

__all__ = ["PROFILE", "fill"]

PROFILE = "household"
_START = datetime(2026, 9, 14, 18, 30, tzinfo=UTC)

_TALKS = {
    "move-to-porto": (
        ("user", "We are leaving Lisbon at the end of the month, the new flat in Porto is ready."),
        ("assistant", "Congratulations! Shall I move the internet contract over as well?"),
        ("user", "Yes please. The address is Rua das Flores 12, third floor."),
        ("assistant", "Done: the technician comes on 28 September between 9 and 12."),
        ("user", "Tell the movers that the piano needs four people and a ramp."),
        ("assistant", "I wrote to them; they bring a ramp and charge 80 euros more."),
        ("user", "Fine. And remind me to cancel the parking permit in Lisbon."),
    ),
    "rehearsals": (
        ("user", "Rehearsals moved to Tuesday evenings from now on, at half past seven."),
        ("assistant", "Noted. Does that collide with the Portuguese course?"),
        ("user", "The course is on Thursdays, so it is fine. Tomas will pick me up."),
        ("assistant", "Then I keep Tuesday evenings free."),
        ("user", "The summer concert is on 18 July, we play the third cello suite by Bach."),
    ),
    "groceries": (
        ("user", "I cannot eat peanuts, please keep that in mind when you plan the week."),
        ("assistant", "Of course. I replaced the satay with a mushroom risotto."),
        ("user", "Perfect. Jonas is a vegetarian since spring, by the way."),
        ("assistant", "Then the week has four vegetarian dinners and fish on Friday."),
    ),
}
_FACTS = (
    ("Mara lives in Lisbon", "home city", "mara", None),
    ("Mara's rehearsals are on Monday evenings", "rehearsal day", "mara", None),
    ("Mara is allergic to peanuts", "allergies", "mara", None),
    ("Jonas eats fish and vegetables, no meat", "diet", "jonas", None),
    ("Groceries are ordered on Sunday evening", "grocery day", "", None),
    ("Answer in English unless somebody writes in Portuguese", "language", "", "instruction"),
    ("Do not mention the surprise party to Jonas", "party", "", "instruction"),
    ("The wifi password hangs inside the pantry door", "wifi", "", None),
    ("Cancel the parking permit in Lisbon", "parking permit", "", "task"),
    ("Mara lives in Porto, Rua das Flores 12", "home city", "mara", None),
    ("Mara's rehearsals are on Tuesday evenings at 19:30", "rehearsal day", "mara", None),
    ("Jonas is a vegetarian", "diet", "jonas", None),
    ("Mara plays the third cello suite by Bach at the summer concert on 18 July", "concert", "mara", None),
    ("The heating engineer comes every October", "heating", "", "event"),
    ("Mara lives in Porto, Rua das Flores 12, third floor", "home city", "mara", None),
)


async def fill(memory: Umbriel) -> None:
    """Write the profile's conversations and memories, and change some of them."""
    for number, (session, talk) in enumerate(_TALKS.items()):
        at = _START + timedelta(days=5 * number)
        messages = [
            Message(role=role, content=text, name="Mara" if role == "user" else "", at=at + timedelta(minutes=2 * line))
            for line, (role, text) in enumerate(talk)
        ]
        await memory.ingest(messages, session=session, contact="mara", wait=True)
    for content, key, contact, kind in _FACTS:
        await memory.remember(content, key=key, contact=contact, kind=kind, wait=True)  # type: ignore[arg-type]
    allergies = await memory.get(key="allergies", contact="mara")
    await memory.pin(allergies.id)
    wifi = await memory.get(key="wifi")
    await memory.forget(wifi.id)
    parking = await memory.get(key="parking permit")
    await memory.retract(parking.id)
    await memory.recall("Where does Mara live?", contact="mara")
    await memory.recall("What can we cook on Friday?", contact="*")
