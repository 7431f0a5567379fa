// Conversations, and one of them message by message.

import { get, path } from "./api.js";
import { h, put, say } from "./dom.js";
import { counted, sequence } from "./format.js";
import { button, empty, failed, field, head, input, link, moments, section, table, tag } from "./parts.js";
import { contactOf, people, reached, whose } from "./people.js";

const PAGE = 100;

export async function sessions(ctx) {
  return ctx.query.get("session") ? one(ctx, ctx.query.get("session")) : all(ctx);
}

async function all(ctx) {
  const { profile, query, go, signal } = ctx;
  const found = await people(ctx);
  const asked = { contact: contactOf(query, found), limit: PAGE, at_least: reached(profile) };
  const ask = (cursor) => get(path`/v1/profiles/${profile}/sessions`, { ...asked, cursor }, { signal });
  const first = await ask("");
  const who = whose(query, found);
  return [
    head("Sessions", "Conversations as they were recorded, the one heard last first."),
    h("form", { class: "filters", onchange: () => go({ who: who.value() }), onsubmit: (event) => event.preventDefault() }, who.node),
    first.sessions.length ? pages(profile, first, ask) : empty("No conversations", "They appear with the first message that is ingested."),
  ];
}

function pages(profile, first, ask) {
  const place = h("div", { class: "stack" });
  const add = ({ sessions: found, cursor }) => {
    const more = button("Older", async () => {
      more.remove();
      add(await ask(cursor));
    });
    put(place, table("Sessions", columns(profile), found), cursor ? more : null);
  };
  add(first);
  return place;
}

const columns = (profile) => [
  { name: "Session", cell: (one) => h("a", { class: "said", href: link(profile, "sessions", { session: one.session }) }, one.session) },
  { name: "Contact", cell: (one) => h("span", { class: "said" }, one.contact || "nobody") },
  { name: "Messages", number: true, cell: (one) => one.messages },
  { name: "First", number: true, cell: (one) => (one.first_at ? moments(one.first_at) : "") },
  { name: "Last", number: true, cell: (one) => (one.last_at ? moments(one.last_at) : "") },
];

async function one({ profile, query, go, signal }, session) {
  const ask = (cursor) =>
    get(path`/v1/profiles/${profile}/sessions/${session}/messages`, { limit: PAGE, cursor, at_least: reached(profile) }, { signal });
  const first = await ask("");
  const list = h("ol", { class: "list card" });
  const place = h("div", { class: "row more" });
  const name = input({ value: session });
  const marked = query.get("line");
  const add = ({ messages, cursor }) => {
    put(list, messages.map((message) => said(message, message.id === marked)));
    say(`${counted(list.childElementCount, "message")} shown`);
    const more = () => ask(cursor).then(add, (error) => place.replaceChildren(failed(error, more)));
    place.replaceChildren(h("span", { class: "small mute" }, counted(list.childElementCount, "message")), cursor ? button("Later", more) : "");
  };
  add(first);
  if (marked) requestAnimationFrame(() => list.querySelector(".marked")?.scrollIntoView({ block: "center" }));
  return [
    h("p", { class: "small" }, h("a", { href: link(profile, "sessions") }, "Sessions")),
    head(session, first.contact ? `With ${first.contact}.` : "With nobody in particular."),
    first.messages.length ? [list, place] : empty("No messages", "Nothing was said in it, or nothing that is left."),
    section(
      "Memories of this session",
      h("p", null, h("a", { href: link(profile, "memories", { session, status: "all" }) }, "What was learnt from it")),
    ),
  ];
}

function said(message, marked) {
  return h(
    "li",
    { class: marked ? "item marked" : "item" },
    h("p", { class: "meta" }, h("span", { class: "strong" }, message.name || message.role), message.name ? h("span", null, message.role) : null, moments(message.at ?? message.recorded_at), h("span", null, `#${sequence(message.position)}`), marked ? tag("source", true) : null),
    h("p", { class: "said message" }, message.content),
  );
}
