// What happens, as it happens: server-sent events, from a little while ago on.

import { get, path, pause, stream } from "./api.js";
import { h, show } from "./dom.js";
import { at, counted, moment, sequence, time } from "./format.js";
import { button, choice, empty, failed, field, head, tag } from "./parts.js";
import { contactOf, people, whose } from "./people.js";

const BEFORE = 200;
const KEPT = 300;
const KINDS = ["message", "conversation", "memory", "extraction", "reflection", "goal", "profile", "embedding", "access", "recall", "usage"];
const QUIET = new Set(["embedding", "access", "recall", "usage"]);

export async function feed(ctx) {
  const { query, go, signal } = ctx;
  const found = await people(ctx);
  const { log_position: end } = await get("/v1/status", {}, { signal });
  const kind = choice([["", "The usual ones"], ...KINDS.map((one) => [one, QUIET.has(one) ? `${one}, else left out` : one])], query.get("kind") ?? "");
  const who = whose(query, found);
  const list = h("ol", { class: "list card", "aria-label": "Events, newest first" });
  const standing = h("p", { class: "row small mute", role: "status" });
  const room = h("div", null, empty("Nothing happened lately", "Whatever is written from now on appears here."));
  const live = { paused: false, held: [], list, room, standing, count: 0, place: at(end, Math.max(0, sequence(end) - BEFORE)) };
  const hold = button("Pause", () => {
    live.paused = !live.paused;
    hold.textContent = live.paused ? "Go on" : "Pause";
    if (!live.paused) live.held.splice(0).forEach((one) => add(live, one));
    stand(live);
  });
  follow(ctx, live, { kinds: query.get("kind"), contact: contactOf(query, found).replace(/^\*$/, "") });
  const apply = () => go({ who: who.value(), kind: kind.value });
  return [
    head("Live feed", "Every event of this profile in the order of the log, decrypted as far as your grant reaches.", hold),
    h("form", { class: "filters", onchange: apply, onsubmit: (event) => event.preventDefault() }, field("Events", kind), who.node),
    standing,
    room,
  ];
}

/** Read the stream; when it ends, go on after the last position that it gave. */
async function follow({ profile, signal }, live, query) {
  let wait = 500;
  while (!signal.aborted) {
    try {
      stand(live, "Live");
      for await (const { id, event, data } of stream(path`/v1/profiles/${profile}/feed`, query, { signal, after: live.place })) {
        wait = 500;
        if (id) live.place = id;
        if (!data) continue;
        if (event === "problem") throw Object.assign(new Error(JSON.parse(data).message), JSON.parse(data));
        if (live.paused) live.held.push(JSON.parse(data));
        else add(live, JSON.parse(data));
        stand(live);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (["refused", "invalid", "not_found"].includes(error.code)) return show(live.room, failed(error));
      stand(live, "Connecting again");
    }
    await pause(wait, signal).catch(() => null);
    wait = Math.min(wait * 2, 10_000);
  }
}

function stand(live, text) {
  live.text = text ?? live.text;
  const held = live.held.length ? `, ${counted(live.held.length, "event")} held back` : "";
  show(live.standing, tag(live.paused ? "Paused" : live.text, !live.paused), `${counted(live.count, "event")}${held}`);
}

function add(live, event) {
  if (!live.count) show(live.room, live.list);
  live.count += 1;
  live.list.prepend(row(event));
  while (live.list.childElementCount > KEPT) live.list.lastElementChild.remove();
}

function row(event) {
  return h(
    "li",
    { class: "item event" },
    h("time", { datetime: event.recorded_at, title: moment(event.recorded_at) }, time(event.recorded_at)),
    h("div", { class: "stack tight" }, h("p", { class: "row" }, h("span", { class: "strong" }, event.topic), h("span", { class: "small mute" }, event.actor), event.redacted ? tag("redacted") : null), words(event.data)),
    h("span", { class: "mono" }, sequence(event.position)),
    h("details", null, h("summary", null, "Event"), h("pre", { class: "small" }, JSON.stringify(event.data, null, 2))),
  );
}

/** What an event says in words, where it does. */
function words(data) {
  const text = data.content ?? data.text ?? data.summary ?? data.task ?? data.notes ?? "";
  return typeof text === "string" && text ? h("p", { class: "said" }, text.slice(0, 600)) : null;
}
