// What can be done to a memory: shown first, then done, only to the version that was looked at.

import { path, post } from "./api.js";
import { h, say, show } from "./dom.js";
import { counted } from "./format.js";
import { about, button, check, dialog, failed, field, input, waiting } from "./parts.js";
import { written } from "./people.js";

const ACTIONS = {
  correct: { name: "Correct", does: "writes the next version; this one is superseded and stays in the history.", fields: corrected },
  pin: { name: "Pin", does: "keeps it from decaying, and from retention." },
  unpin: { name: "Unpin", does: "lets it age like the others." },
  expire: { name: "Expire", does: "lets it end at a time; until then it stays.", fields: expiring },
  retract: { name: "Retract", does: "withdraws it without a successor. It can be restored." },
  reject: { name: "Reject", does: "says that it is wrong: from then on only a person can state it again." },
  restore: { name: "Restore", does: "brings it back as it was." },
  forget: { name: "Forget", does: "deletes its words from every view, for good. It cannot be undone.", ends: true, fields: forgetting },
};

/** Which actions a memory in this state has, the usual one first. */
export function possible(memory) {
  switch (memory.status) {
    case "live":
      return ["correct", memory.pinned ? "unpin" : "pin", "expire", "retract", "reject", "forget"];
    case "forgotten":
      return [];
    default:
      return ["restore", "forget"];
  }
}

/** The buttons of a memory; `newest` is the version at its address that must still be the newest. */
export function acts(ctx, memory, newest) {
  return possible(memory).map((verb) =>
    button(ACTIONS[verb].name, () => open(ctx, verb, memory, newest), verb === "forget" ? "end-act" : ""),
  );
}

function open(ctx, verb, memory, newest) {
  const action = ACTIONS[verb];
  dialog(`${action.name} this memory?`, (close) => {
    const own = action.fields ? action.fields(memory) : { nodes: [], body: () => ({}) };
    const said = h("div", { "aria-live": "polite" });
    const send = (more) =>
      post(path`/v1/profiles/${ctx.profile}/memories/${memory.id}/${verb}`, { ...own.body(), expected: newest, ...more });
    const confirm = h("button", { class: action.ends ? "end-act" : "main-act" }, action.name);
    const preview = () => previewed(ctx, said, confirm, () => send({ preview: true }));
    const sent = async (event) => {
      event.preventDefault();
      confirm.disabled = true;
      try {
        const reply = await send({});
        done(ctx, action, reply, close);
      } catch (error) {
        confirm.disabled = false;
        show(said, failed(error));
      }
    };
    if (!own.asks) preview();
    return h(
      "form",
      { onsubmit: sent, onchange: own.asks ? null : preview },
      h("p", { class: "mute" }, `This ${action.does}`),
      h("blockquote", { class: "quote said" }, memory.text || "No words are left of it"),
      own.nodes,
      said,
      h("div", { class: "acts" }, button("Cancel", close), own.asks ? button("Preview", preview) : null, confirm),
    );
  });
}

/** Show what would be touched; where nothing can be, nothing can be confirmed. */
async function previewed(ctx, said, confirm, ask) {
  show(said, waiting("Looking what it would touch"));
  try {
    const { touched, kept = [] } = await ask();
    confirm.disabled = touched.length === 0;
    show(
      said,
      h(
        "p",
        { class: "small mute" },
        touched.length ? `Touches ${counted(touched.length, "thing")}: ` : "It would touch nothing.",
        touched.slice(0, 12).map((id) => [about(ctx.profile, id), " "]),
        touched.length > 12 ? `and ${touched.length - 12} more` : "",
      ),
      kept.length ? h("p", { class: "small mute" }, `Stays, for it rests on more: ${counted(kept.length, "memory", "memories")}`) : null,
    );
  } catch (error) {
    confirm.disabled = true;
    show(said, failed(error));
  }
}

function done(ctx, action, reply, close) {
  written(ctx.profile, reply.position);
  close();
  say(`${action.name}: done`);
  if (reply.memory && reply.memory !== ctx.query.get("id")) ctx.go({ id: reply.memory });
  else ctx.again();
}

function corrected(memory) {
  const text = h("textarea", { required: true, maxlength: 32_768, autofocus: true, value: memory.text });
  return { asks: true, nodes: [field("What it is to say", text)], body: () => ({ content: text.value.trim() }) };
}

function expiring(memory) {
  const at = input({ type: "datetime-local" });
  const never = h("input");
  return {
    asks: true,
    nodes: [field("When it ends", at, memory.expires_at ? "It has an end already; this sets another." : ""), check("Never", never)],
    body: () => (never.checked ? { never: true } : at.value ? { at: new Date(at.value).toISOString() } : {}),
  };
}

function forgetting() {
  const sources = h("input");
  return {
    nodes: [check("Also the messages that it was read from", sources)],
    body: () => ({ with_sources: sources.checked }),
  };
}
