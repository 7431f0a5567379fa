"""The link between two contacts: an aggregate of its own, so that erasing one pair leaves every other readable.

Links are transitive: who is one person follows from all links of a profile, and is resolved when something is
read (see the ledger). Taking one link back undoes only what that link said.
"""

from __future__ import annotations

from domain.errors import InvalidInputError
from domain.events import ContactsLinked, ContactsUnlinked
from domain.kernel import Aggregate, Context
from domain.kinds import contacts_scope

__all__ = ["ContactLink", "pair_of"]


def pair_of(contact: str, other: str) -> tuple[str, str]:
    """Return two contacts in the one order that a link has; raises InvalidInputError for a contact and itself."""
    if contact == other:
        raise InvalidInputError("a contact cannot be linked to itself", expected="two contacts", found=repr(contact))
    first, second = sorted((contact, other))
    return first, second


class ContactLink(Aggregate):
    """Whether two contacts, each as written, are linked."""

    CATEGORY = "profile"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.linked = False

    def link(self, contact: str, other: str, context: Context) -> bool:
        """Link the two; False when they are linked already."""
        first, second = pair_of(contact, other)
        if self.linked:
            return False
        self.emit(ContactsLinked(first=first, second=second), context, key_scope=contacts_scope(first, second))
        return True

    def unlink(self, contact: str, other: str, context: Context) -> bool:
        """Take the link back; False when there is none."""
        first, second = pair_of(contact, other)
        if not self.linked:
            return False
        self.emit(ContactsUnlinked(first=first, second=second), context, key_scope=contacts_scope(first, second))
        return True

    def on_contacts_linked(self, _: ContactsLinked) -> None:
        """They are one."""
        self.linked = True

    def on_contacts_unlinked(self, _: ContactsUnlinked) -> None:
        """They are two."""
        self.linked = False
