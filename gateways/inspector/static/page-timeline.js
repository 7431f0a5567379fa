// Through time, a change at a step: what was known then, and what was learned, changed and lost since.

import { get, path } from "./api.js";
import { h, show } from "./dom.js";
import { at as positionAt, counted, moment, sequence } from "./format.js";
import { about, button, choice, empty, field, gone, head, input, into, memoryRow, section, tag } from "./parts.js";
import { contactOf, people, whose } from "./people.js";

const PAGE = 1_000;
const MOST = 10;
const SHOWN = 50;
const SETTLE = 140;
const TITLES = { "": "What this step changed", start: "What came about until then", now: "What came after" };
const GROUPS = {
  learned: "Learned",
  changed: "Changed",
  restored: "Restored",
  ended: "Ended",
  forgotten: "Forgotten",
  adjusted: "Adjusted",
};

export async function timeline(ctx) {
  const { query, go } = ctx;
  const found = await people(ctx);
  const contact = contactOf(query, found);
  const steps = await moments(ctx, contact);
  const who = whose(query, found);
  const versus = choice([["", "the step before"], ["start", "the beginning"], ["now", "the present"]], query.get("versus") ?? "");
  const top = head("Timeline", "Every change of a memory is a step. Slide back to see what was known, and what each step changed.");
  if (!steps.length) return [top, empty("Nothing has changed yet", "The first memory is the first step.")];
  const chosen = () => ({ who: who.value(), versus: versus.value });
  const filters = h("form", { class: "filters", onsubmit: (event) => event.preventDefault() }, who.node, field("Compared with", versus));
  filters.addEventListener("change", (event) => (event.target.type === "datetime-local" ? null : go(chosen())));
  return [top, filters, slider(ctx, steps, contact, filters)];
}

/** Every event of memories: the steps of the slider. */
async function moments({ profile, signal }, contact) {
  const { log_position: end } = await get("/v1/status", {}, { signal });
  const steps = [];
  let after = positionAt(end, 0);
  for (let page = 0; page < MOST; page += 1) {
    const asked = { after, kinds: ["memory"], contact: contact === "*" ? "" : contact, limit: PAGE };
    const { events, position } = await get(path`/v1/profiles/${profile}/feed`, asked, { signal });
    steps.push(...events.filter((one) => one.topic !== "memory.judged"));
    if (position === after || sequence(position) >= sequence(end)) break;
    after = position;
  }
  return joined(steps);
}

/** What was recorded in one moment is one step: a memory and the supersession that it brings are one append. */
function joined(events) {
  const steps = [];
  for (const event of events) {
    const before = steps.at(-1);
    if (before?.recorded_at === event.recorded_at) steps.splice(-1, 1, { ...event, names: [...before.names, named(event)] });
    else steps.push({ ...event, names: [named(event)] });
  }
  return steps;
}

function slider(ctx, steps, contact, filters) {
  const range = input({ type: "range", min: 0, max: steps.length - 1, step: 1, value: steps.length - 1 });
  const jump = input({ type: "datetime-local", step: 1 });
  const here = h("p", { class: "here-at" });
  const what = h("p", { class: "small mute said", "aria-live": "polite" });
  const place = h("div");
  let timer = 0;
  const stand = () => {
    const step = steps[range.value];
    show(here, moment(step.recorded_at));
    show(what, `${stepName(step)}, by ${step.actor} · step ${Number(range.value) + 1} of ${steps.length}`);
    range.setAttribute("aria-valuetext", `${moment(step.recorded_at)}, ${stepName(step)}`);
    clearTimeout(timer);
    timer = setTimeout(() => into(place, "Looking back", () => then(ctx, steps, Number(range.value), contact)), SETTLE);
  };
  const move = (by) => {
    range.value = Number(range.value) + by;
    stand();
  };
  jump.addEventListener("change", () => {
    const wanted = new Date(jump.value);
    const last = steps.findLastIndex((one) => new Date(one.recorded_at) <= wanted);
    range.value = Math.max(0, last);
    stand();
  });
  filters.append(field("Go to", jump));
  range.addEventListener("input", stand);
  ctx.signal.addEventListener("abort", () => clearTimeout(timer));
  stand();
  return [
    h(
      "div",
      { class: "slide card pad" },
      h("div", { class: "row spread" }, h("div", null, here, what), h("div", { class: "row" }, button("Back", () => move(-1)), button("Forward", () => move(1)))),
      field("As of", range),
      h("p", { class: "scale" }, h("span", null, moment(steps[0].recorded_at)), h("span", null, moment(steps.at(-1).recorded_at))),
    ),
    place,
  ];
}

const stepName = (step) => [...new Set(step.names)].join(", ");
const named = (event) => event.topic.replace("memory.", "").replaceAll("_", " ");

async function then({ profile, query, signal }, steps, at, contact) {
  const point = steps[at].position;
  const bounds = {
    "": { start: at ? steps[at - 1].position : "", end: point },
    start: { start: "", end: point },
    now: { start: point, end: "" },
  }[query.get("versus") ?? ""];
  const ask = (name, asked) => get(path`/v1/profiles/${profile}/${name}`, { contact, ...asked }, { signal });
  const [known, changed] = await Promise.all([
    ask("memories", { as_of: point, limit: SHOWN }),
    ask("diff", { ...bounds, limit: 200 }),
  ]);
  return h(
    "div",
    { class: "changes" },
    section(`Known then: ${known.entries.length}${known.cursor ? " and more" : ""}`, list(profile, known.entries)),
    section(TITLES[query.get("versus") ?? ""], differences(profile, changed)),
  );
}

function list(profile, entries) {
  return entries.length
    ? h("ol", { class: "list card" }, entries.map((one) => memoryRow(profile, one)))
    : empty("Nothing was known", "");
}

function differences(profile, { entries, cursor }) {
  if (!entries.length) return empty("No difference", "What is known is the same.");
  return [
    Object.entries(GROUPS).map(([what, title]) => {
      const those = entries.filter((one) => one.what === what);
      if (!those.length) return null;
      return h("div", { class: "stack tight" }, h("h3", null, title, " ", tag(those.length)), h("ol", { class: "list card" }, those.map((one) => difference(profile, one))));
    }),
    cursor ? h("p", { class: "small mute" }, "and more") : null,
  ];
}

function difference(profile, one) {
  return h(
    "li",
    { class: "item" },
    (one.replaced ?? []).map((old) => h("p", { class: "said was" }, gone(old.text))),
    h("p", { class: "said" }, gone(one.text)),
    (one.fields ?? []).map((field) => h("p", { class: "small said" }, `${field.field}: ${plain(field.old)} → ${plain(field.new)}`)),
    h(
      "p",
      { class: "meta" },
      h("span", null, one.kind),
      one.key ? h("span", null, one.key) : null,
      one.status === "live" ? null : h("span", null, one.status),
      one.actor ? h("span", null, `by ${one.actor}`) : null,
      (one.replaced ?? []).map((old) => (old.rule ? h("span", null, `rule ${old.rule}`) : null)),
      about(profile, one.id),
    ),
  );
}

const plain = (value) => (value === null || value === undefined ? "none" : typeof value === "object" ? JSON.stringify(value) : value);
