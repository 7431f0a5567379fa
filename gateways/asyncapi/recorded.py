"""When each event is recorded, and under whose key; what an event says is on its class."""

from __future__ import annotations

from domain.kinds import CLEAR

__all__ = ["CLEAR_TOPICS", "UNDER", "WHEN"]

#: By whom or on what occasion, by topic.
WHEN: dict[str, str] = {
    "profile.created": "with the first write into a profile",
    "profile.settings_changed": "by `settings`",
    "profile.contacts_linked": "by `link_contact`",
    "profile.contacts_unlinked": "by `unlink_contact`",
    "profile.import_started": "by `import`, before its first line",
    "profile.imported": "by `import`, when it is finished or abandoned",
    "profile.erased": "by `erase` and `delete_profile`, before any key is destroyed",
    "profile.key_destroyed": "by an erasure, once the keys are gone",
    "profile.erasure_lifted": "by `erase` with `lift`",
    "profile.deleted": "by `delete_profile`, last",
    "message.recorded": "by `ingest` and `import`, once a message",
    "message.forgotten": "by `forget`, `delete_session` and what an erasure reaches",
    "conversation.contact_set": "by `ingest` and what else names a contact for a session",
    "conversation.ended": "by `end_session`",
    "conversation.deleted": "by `delete_session`",
    "conversation.notes_set": "by `set_context`",
    "conversation.task_set": "by `set_task`",
    "conversation.task_cleared": "by `clear_task`",
    "conversation.overlay_added": "in the background, when a stretch of a conversation has no room any more",
    "conversation.summary_rewritten": "in the background, when overlays have no room any more",
    "memory.remembered": "by `remember`, `correct`, `copy`, `reflect` and `import`, and for each item of an extraction",
    "memory.superseded": "with its successor: by its address, a judge, a person, or consolidation",
    "memory.revised": "when the same is stated again with something else beside the text",
    "memory.contradiction_noted": "when a judge finds two memories that cannot both be true",
    "memory.judged": "in the background, once for each new memory",
    "memory.decayed": "by the daily pass, or `consolidate`",
    "memory.consolidated": "by the daily pass, or `consolidate`",
    "memory.pinned": "by `pin`",
    "memory.unpinned": "by `unpin`",
    "memory.expiry_set": "by `expire`, and when the same is stated again with another time",
    "memory.expired": "by `expire` and `end_session`",
    "memory.retracted": "by `retract`, and when the last that it rests on goes",
    "memory.rejected": "by `reject`",
    "memory.restored": "by `restore`",
    "memory.forgotten": "by `forget`, `delete_session` and what an erasure reaches",
    "memory.copied": "by `copy`, in the profile of the original",
    "memory.copy_followed": "in the profile of the original, when a copy was told of what happened to it",
    "memory.origin_changed": "in the profile of the copy, when its original ended or says something else",
    "embedding.computed": "in the background, for each text that has no vector of the present model",
    "embedding.failed": "in the background, for a text that the model cannot embed",
    "extraction.completed": "in the background, once a stretch of a conversation, in one append with its memories",
    "extraction.failed": "in the background, after the last try",
    "access.counted": "in batches, after `recall`, `get` and a `remember` of what was known",
    "recall.served": "in batches, after `recall`, `recall_conversation` and `context`",
    "usage.recorded": "in batches, after calls of models",
    "refusal.recorded": "in batches, when a grant or a data-flow policy says no",
    "reflection.recorded": "by `reflect`, `reflect_day` and the daily reflection",
    "reflection.drafted": "by `reflect_day` and the daily reflection, before what follows from it",
    "goal.set": "by `set_goal`",
    "goal.progressed": "by `progress_goal`",
    "goal.closed": "by `close_goal`",
    "upkeep.merged": "by consolidation, in one append with the memory that stands",
    "upkeep.kept": "by consolidation, for what is alike and stays apart",
    "upkeep.completed": "when a daily pass is over",
    "seal.made": "in the background, over everything since the last seal",
    "recovery.recorded": "by `umbriel recover`",
    "principal.changed": "by `principal_add`, `principal_revoke`, `principal_rotate` and their like",
}

#: What must be read when every key is gone, or by whoever has none.
CLEAR_TOPICS = frozenset(
    {"seal.made", "recovery.recorded", "profile.key_destroyed", "profile.deleted", "profile.erasure_lifted"}
)

_MEMORY = "the key of its contact, of the one session that it was drawn from, or of what is agent-wide"
#: Whose key the body is under, by topic or category; the rest is under the profile's own.
UNDER: dict[str, str] = {
    "message": "the session's key",
    "conversation": "the session's key",
    "extraction": "the session's key",
    "memory": _MEMORY,
    "embedding": "the key of the message or memory",
    "recall.served": "the key of the contact or session it is about, or one for questions about nobody",
    "reflection.recorded": "the key of the contact or session it is about, or the profile's own",
    "reflection.drafted": "the key of the contact or session it is about, or the profile's own",
    "profile.contacts_linked": "a key of the two contacts",
    "profile.contacts_unlinked": "a key of the two contacts",
    "upkeep.merged": _MEMORY,
    "upkeep.kept": _MEMORY,
    **dict.fromkeys(CLEAR_TOPICS, CLEAR),
}
