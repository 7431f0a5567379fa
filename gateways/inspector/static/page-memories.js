// The memories of a profile, newest first, through filters.

import { get, path } from "./api.js";
import { h, put, say } from "./dom.js";
import { counted } from "./format.js";
import { button, choice, empty, failed, field, head, input, memoryRow } from "./parts.js";
import { contactOf, people, reached, whose } from "./people.js";

const PAGE = 50;
const KINDS = [["", "Every kind"], "fact", "event", "instruction", "task"];
const STATUSES = ["live", "superseded", "retracted", "rejected", "expired", "forgotten", ["all", "Every status"]];

export async function memories(ctx) {
  const { profile, query, signal } = ctx;
  const found = await people(ctx);
  const ask = (cursor) =>
    get(
      path`/v1/profiles/${profile}/memories`,
      {
        kind: query.get("kind"),
        status: query.get("status"),
        session: query.get("session"),
        text: query.get("text"),
        contact: contactOf(query, found),
        at_least: reached(profile),
        limit: PAGE,
        cursor,
      },
      { signal },
    );
  const first = await ask("");
  return [
    head("Memories", "What is known, newest first. Each says where it comes from and what became of it."),
    filters(ctx, found),
    first.entries.length ? pages(profile, first, ask) : nothing(query),
  ];
}

function filters({ query, go }, found) {
  const text = input({ type: "search", value: query.get("text") ?? "", placeholder: "Words in the text or the key" });
  const kind = choice(KINDS, query.get("kind") ?? "");
  const status = choice(STATUSES, query.get("status") ?? "live");
  const session = input({ value: query.get("session") ?? "", placeholder: "any" });
  const who = whose(query, found);
  const apply = (event) => {
    event?.preventDefault();
    go({
      text: text.value.trim(),
      kind: kind.value,
      status: status.value === "live" ? "" : status.value,
      who: who.value(),
      session: session.value,
    });
  };
  return h(
    "form",
    { class: "filters", role: "search", onsubmit: apply, onchange: apply },
    field("Text", text, "", "wide"),
    field("Kind", kind),
    field("Status", status),
    who.node,
    field("Session", session),
  );
}

function nothing(query) {
  return query.size
    ? empty("Nothing fits", "No memory fits all of these filters.")
    : empty("No memories yet", "They come from what is remembered, and from conversations that are read in the background.");
}

function pages(profile, first, ask) {
  const list = h("ol", { class: "list card" });
  const place = h("div", { class: "row more" });
  let total = 0;
  const add = ({ entries, cursor }) => {
    put(list, entries.map((one) => memoryRow(profile, one)));
    total += entries.length;
    const more = async () => {
      try {
        add(await ask(cursor));
      } catch (error) {
        if (error.name !== "AbortError") place.replaceChildren(failed(error, more));
      }
    };
    place.replaceChildren(
      h("span", { class: "small mute" }, `${counted(total, "memory", "memories")}${cursor ? " so far" : ""}`),
      ...(cursor ? [button("Older", more)] : []),
    );
    say(`${total} memories shown`);
  };
  add(first);
  return [list, place];
}
