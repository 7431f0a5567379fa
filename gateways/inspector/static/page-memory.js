// One memory: what it says, what it took the place of, what it rests on, and who decided what about it.

import { get, path } from "./api.js";
import { acts } from "./actions.js";
import { chain, rule } from "./chain.js";
import { h } from "./dom.js";
import { counted, moment, percent, sequence } from "./format.js";
import { about, empty, facts, gone, link, moments, section, table, tag } from "./parts.js";
import { reached } from "./people.js";

export async function memory(ctx) {
  const { profile, query, signal } = ctx;
  const ask = (id) => get(path`/v1/profiles/${profile}/memories/${id}/why`, { at_least: reached(profile) }, { signal });
  const why = await ask(query.get("id") ?? "");
  const steps = await stepsOf(why, ask);
  const { memory: shown, versions, sources, events } = why;
  return [
    h("p", { class: "small" }, h("a", { href: link(profile, "memories") }, "Memories")),
    h(
      "header",
      { class: "statement" },
      h("p", { class: "row" }, tag(shown.status, shown.status === "live"), shown.pinned ? tag("pinned", true) : null, tag(shown.kind)),
      h("h1", { tabindex: -1, class: "said" }, gone(shown.text)),
      h("div", { class: "row" }, acts(ctx, shown, versions.at(-1)?.id)),
    ),
    h("div", { class: "card pad" }, facts(about_(profile, shown))),
    section(
      "Versions",
      h("figure", { class: "card chained", tabindex: 0, role: "region", "aria-label": "Versions, drawn" }, chain(profile, steps, shown.id)),
      why.omitted ? h("p", { class: "small mute" }, `${counted(why.omitted, "older entry", "older entries")} left out`) : null,
    ),
    section("Sources", sources.length ? lines(profile, sources) : rests(shown)),
    section("Decisions", decisions(profile, events)),
  ];
}

/** The versions in order, with what decided each, and what took the last one's place where that stands elsewhere. */
async function stepsOf({ versions, events }, ask) {
  const decided = new Map(events.filter((one) => one.topic === "memory.superseded").map((one) => [one.memory, one]));
  const steps = versions.map((one, at) => ({ memory: one, after: at ? decided.get(versions[at - 1].id) : null }));
  const last = versions.at(-1);
  const next = last?.superseded_by;
  if (next && !versions.some((one) => one.id === next)) {
    const found = await ask(next).catch(() => null);
    if (found) steps.push({ memory: found.memory, after: decided.get(last.id) });
  }
  return steps;
}

const about_ = (profile, one) => ({
  Key: one.key,
  Contact: one.contact || "agent-wide",
  Session: one.session ? h("a", { href: link(profile, "sessions", { session: one.session }) }, one.session) : "",
  Confidence: percent(one.confidence),
  Recorded: moments(one.recorded_at),
  "Stated at": one.stated_at ? moments(one.stated_at) : "",
  "Stated by": one.author ? `${one.author}, ${one.author_type}` : "",
  "Written by": one.model ? `${one.source}, ${one.model}` : one.source,
  Happened: one.occurred_at ? moments(one.occurred_at) : "",
  "Holds from": one.valid_from ? moments(one.valid_from) : "",
  "Holds to": one.valid_to ? moments(one.valid_to) : "",
  Ends: one.expires_at ? moments(one.expires_at) : "",
  "Handed out": counted(one.accesses ?? 0, "time"),
  "Replaced by": one.superseded_by ? about(profile, one.superseded_by) : "",
  "Copied from": one.origin ? `${one.origin.profile}` : "",
  Position: sequence(one.position),
  Id: h("span", { class: "mono small" }, one.id),
});

function lines(profile, sources) {
  return h(
    "ol",
    { class: "list card" },
    sources.map((one, at) =>
      h(
        "li",
        { class: "item" },
        h("p", { class: "said" }, gone(one.text)),
        h(
          "p",
          { class: "meta" },
          h("span", null, `Source ${at + 1}`),
          h("span", null, one.name ? `${one.name}, ${one.role}` : one.role),
          h("a", { href: link(profile, "sessions", { session: one.session, line: one.id }) }, one.session),
          one.at ?? one.recorded_at ? moments(one.at ?? one.recorded_at) : null,
        ),
      ),
    ),
  );
}

function rests(shown) {
  const stated = shown.author_type === "person" ? "A person stated it." : "It was stated, not read from a conversation.";
  return empty("No messages", shown.text ? stated : "What it rested on went with it.");
}

function decisions(profile, events) {
  return table(
    "Decisions",
    [
      { name: "When", cell: (one) => h("time", { datetime: one.at, title: moment(one.at) }, moment(one.at)) },
      { name: "What", cell: (one) => one.topic.replace("memory.", "").replaceAll("_", " ") },
      { name: "Version", cell: (one) => (one.memory ? about(profile, one.memory) : "") },
      { name: "By", cell: (one) => `${one.by}, ${one.by_type}` },
      { name: "How", cell: (one) => how(profile, one.detail ?? {}) },
    ],
    [...events].reverse(),
  );
}

const LEFT_OUT = new Set(["rule", "probability", "model", "by"]);

/** By which rule, how sure, which model, and whatever else is on record. */
function how(profile, detail) {
  const rest = Object.entries(detail).filter(([name, value]) => !LEFT_OUT.has(name) && value !== "" && value !== null);
  const parts = [
    detail.rule ? rule(detail.rule) : null,
    typeof detail.probability === "number" ? percent(detail.probability) : null,
    detail.model || null,
    typeof detail.by === "string" && detail.by ? ["by ", about(profile, detail.by)] : null,
    ...rest.map(([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "object" ? JSON.stringify(value) : value}`),
  ].filter(Boolean);
  return h("span", { class: "said" }, parts.map((one, at) => [at ? " · " : "", one]));
}
