// The recall playground: a question, what each channel found, what became of it, and what a prompt would hold.

import { path, post } from "./api.js";
import { h, show } from "./dom.js";
import { counted, score, utc } from "./format.js";
import { about, bar, empty, failed, field, head, input, link, section, tag, waiting } from "./parts.js";
import { contactOf, people, reached, whose } from "./people.js";

const NAMES = {
  key: "Topic key",
  keyword: "Full text",
  terms: "Added terms",
  vector: "Vector",
  hyde_vector: "Expected answer",
  message_keyword: "Messages, full text",
  message_terms: "Messages, added terms",
  message_vector: "Messages, vector",
  message_hyde_vector: "Messages, expected answer",
  message_window: "Messages, window",
  message_neighbour: "Beside a message",
  message_session: "Same session",
  memory_source: "Source of a message",
  period: "Time",
  message_period: "Messages, time",
  fill: "Filled up",
};
const SHOWN = 10;

export async function recall(ctx) {
  const { query, go } = ctx;
  const found = await people(ctx);
  const text = input({ type: "search", required: true, value: query.get("q") ?? "", placeholder: "Where does Mara live?" });
  const limit = input({ type: "number", min: 1, max: 200, value: query.get("limit") ?? "10" });
  const budget = input({ type: "number", min: 1, value: query.get("budget") ?? "", placeholder: "none" });
  const then = input({ type: "datetime-local", step: 1, value: query.get("then") ?? "" });
  const who = whose(query, found);
  const place = h("div", { "aria-live": "polite" });
  const ask = (event) => {
    event.preventDefault();
    go({ q: text.value.trim(), who: who.value(), limit: limit.value === "10" ? "" : limit.value, budget: budget.value, then: then.value });
  };
  if (query.get("q")) answer(ctx, found, place);
  else show(place, empty("Ask something", "Looking here counts as no access and changes no score; it is on record as an inspection."));
  return [
    head("Recall", "The same question an agent would ask, with everything that decided about the answer."),
    h(
      "form",
      { role: "search", onsubmit: ask },
      h("div", { class: "asked" }, field("Question", text), h("button", { class: "main-act" }, "Recall")),
      h("div", { class: "filters" }, who.node, field("Results", limit), field("Token budget", budget), field("As of", then)),
    ),
    place,
  ];
}

async function answer(ctx, found, place) {
  const { profile, query, signal } = ctx;
  const body = {
    query: query.get("q"),
    contact: contactOf(query, found),
    inspect: true,
    limit: Number(query.get("limit") || SHOWN),
    at_least: reached(profile),
    as_of: utc(query.get("then")),
    ...(query.get("budget") ? { token_budget: Number(query.get("budget")) } : {}),
  };
  const progress = (done, total) => show(place, waiting("Making the views of then"), bar(done, total, "Events replayed"));
  show(place, waiting("Asking every channel"));
  try {
    const reply = await post(path`/v1/profiles/${profile}/recall`, body, { signal, progress });
    if (!signal.aborted) show(place, outcome(profile, reply, new Map(Object.entries(reply.heard ?? {}))));
  } catch (error) {
    if (error.name !== "AbortError") show(place, failed(error, () => answer(ctx, found, place)));
  }
}

function outcome(profile, reply, texts) {
  if (!reply.results.length && !reply.suppressions?.length) {
    return empty("Nothing is known about that", "No channel found anything that is live and visible to you.");
  }
  return [
    notes(reply),
    reply.suppressions?.length ? section("Not to speak of", list(profile, reply.suppressions)) : null,
    section(
      "Fused",
      h("p", { class: "small mute" }, "The score is what the channels added, times the factors. It orders; relevance is absolute."),
      h("ol", { class: "list card" }, reply.results.map((one, at) => result(profile, one, at + 1, reply.results[0].score))),
    ),
    section("Channels", h("div", { class: "channels" }, columns(profile, reply, texts))),
    section(
      "What a prompt would hold",
      h("p", { class: "small mute" }, `About ${counted(reply.prompt_tokens ?? 0, "token")}, fenced as data.`),
      h("pre", { class: "card pad fenced said", tabindex: 0, "aria-label": "The prompt text" }, reply.prompt),
    ),
  ];
}

function notes(reply) {
  const said = [
    reply.truncated ? "More was found than fits the limit or the token budget." : "",
    reply.fallback ? `Answered locally: ${reply.fallback}.` : "",
    ...Object.entries(reply.off ?? {}).map(([channel, why]) => `${NAMES[channel] ?? channel} is off: ${why}.`),
    ...(reply.facts ?? []),
  ].filter(Boolean);
  return said.length ? h("ul", { class: "notes" }, said.map((one) => h("li", { class: "said" }, one))) : null;
}

const list = (profile, items) =>
  h("ul", { class: "list card" }, items.map((one) => h("li", { class: "item said" }, one.text, " ", about(profile, one.id))));

function result(profile, one, rank, best) {
  const hits = [...(one.channels ?? [])].sort((a, b) => b.contribution - a.contribution);
  const total = hits.reduce((sum, hit) => sum + (hit.contribution ?? 0), 0) || 1;
  const share = best > 0 ? one.score / best : 0;
  return h(
    "li",
    { class: "item result" },
    h("span", { class: "rank" }, rank),
    h(
      "div",
      { class: "stack tight" },
      h("p", { class: "said strong" }, one.text),
      h(
        "p",
        { class: "meta" },
        h("span", null, one.kind === "message" ? `message, ${one.name || one.role}` : one.kind),
        one.session ? h("a", { href: link(profile, "sessions", { session: one.session, line: one.id }) }, one.session) : null,
        one.when ? h("span", null, one.when) : null,
        h("span", null, `relevance ${score(one.relevance)}`),
        about(profile, one.id),
      ),
      h("div", { class: "parts", role: "img", "aria-label": `Score ${score(one.score)}` }, stripes(hits, total, share)),
      h(
        "ul",
        { class: "hits" },
        hits.map((hit) => h("li", null, h("span", null, NAMES[hit.channel] ?? hit.channel), h("span", { class: "mute" }, `#${hit.rank} × ${hit.weight}`), h("span", null, `+${score(hit.contribution)}`))),
        factors(one.factors ?? {}),
      ),
    ),
    h("span", { class: "score" }, score(one.score)),
  );
}

function stripes(hits, total, share) {
  return hits.map((hit, at) => {
    const stripe = h("span", { class: `stripe s${at % 4}`, title: NAMES[hit.channel] ?? hit.channel });
    stripe.style.setProperty("width", `${(100 * share * (hit.contribution ?? 0)) / total}%`);
    return stripe;
  });
}

function factors(given) {
  return Object.entries(given)
    .filter(([, value]) => Math.abs(value - 1) > 1e-6)
    .map(([name, value]) => h("li", null, h("span", null, name), h("span", { class: "mute" }, "factor"), h("span", null, `× ${score(value)}`)));
}

function columns(profile, reply, texts) {
  const placed = new Map(reply.results.map((one, at) => [one.id, at + 1]));
  return Object.entries(reply.channels ?? {}).map(([channel, ids]) => {
    const hits = new Map(reply.results.flatMap((one) => (one.channels ?? []).filter((hit) => hit.channel === channel).map((hit) => [one.id, hit])));
    return h(
      "section",
      { class: "card channel", "aria-label": NAMES[channel] ?? channel },
      h("header", null, h("h3", null, NAMES[channel] ?? channel), h("span", { class: "small mute" }, `weight ${reply.weights?.[channel] ?? 0}`)),
      ids.length ? h("ol", null, ids.slice(0, SHOWN).map((id, at) => found(profile, id, at + 1, texts, placed, hits.get(id)))) : h("p", { class: "small mute" }, "Found nothing."),
      ids.length > SHOWN ? h("p", { class: "small mute" }, `and ${ids.length - SHOWN} more`) : null,
    );
  });
}

function found(profile, id, rank, texts, placed, hit) {
  const where = placed.get(id);
  return h(
    "li",
    { class: where ? "" : "out" },
    h("span", { class: "rank" }, rank),
    h("span", { class: "said" }, texts.get(id) || (id.includes("@") ? about(profile, id) : "A message that was not handed out")),
    h("span", { class: "placed" }, where ? tag(`${where}`, true) : null),
    h("span", { class: "share" }, hit ? `+${score(hit.contribution)}` : ""),
  );
}
