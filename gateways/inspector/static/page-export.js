// A profile's events as a file: JSON Lines of CloudEvents, the same as `umbriel export` writes.

import { path, text } from "./api.js";
import { elements } from "./raw.js";
import { h, say, show } from "./dom.js";
import { at, count, counted, sequence, size, utc } from "./format.js";
import { bar, button, check, failed, field, head, input } from "./parts.js";
import { contactOf, people, whose } from "./people.js";

const FORMAT = 1;

export async function exporting(ctx) {
  const { profile, query, signal } = ctx;
  const found = await people(ctx);
  const who = whose(query, found);
  const kinds = input({ placeholder: "all: message, memory, …" });
  const since = input({ type: "datetime-local" });
  const before = input({ type: "datetime-local" });
  const vectors = h("input", { checked: true });
  const encrypted = h("input");
  const place = h("div", { class: "stack", "aria-live": "polite" });
  const act = h("button", { class: "main-act" }, "Export");
  const start = async (event) => {
    event.preventDefault();
    const chosen = who.value();
    const asked = {
      kinds: kinds.value.split(",").map((one) => one.trim()).filter(Boolean),
      contact: contactOf(new URLSearchParams(chosen ? { who: chosen } : {}), found),
      vectors: vectors.checked,
      encrypted: encrypted.checked,
      ...(since.value ? { since: utc(since.value) } : {}),
      ...(before.value ? { before: utc(before.value) } : {}),
    };
    act.disabled = true;
    await taken(ctx, place, asked, signal);
    act.disabled = false;
  };
  return [
    head("Export", "Everything that you may see of this profile, with its history, to keep or to import elsewhere."),
    h(
      "form",
      { class: "stack", onsubmit: start },
      h("div", { class: "filters" }, who.node, field("Categories", kinds), field("Recorded from", since), field("Recorded before", before)),
      check("With embeddings, so that no model has to compute them again", vectors),
      check("Encrypted as it is stored: readable only where the keys are", encrypted),
      h("div", { class: "row" }, act),
    ),
    place,
    h("p", { class: "small mute section" }, "The whole file is put together in this tab. For very large profiles ", h("code", null, `umbriel export --profile ${profile}`), " writes it to disk as it comes."),
  ];
}

async function taken({ profile, who }, place, asked, signal) {
  const ending = new AbortController();
  const stop = () => ending.abort();
  signal.addEventListener("abort", stop, { once: true });
  const stopping = button("Cancel", stop);
  try {
    const file = await collected(profile, who.principal, asked, ending.signal, (done, total, events) =>
      show(place, h("p", null, counted(events, "event")), bar(done, total, "Events read"), h("div", null, stopping)),
    );
    save(file.blob, `${profile}.jsonl`);
    say("The export is ready");
    show(place, h("p", { class: "strong", "data-state": "exported" }, `${counted(file.events, "event")}, ${size(file.blob.size)}`), h("p", { class: "small mute said" }, `SHA-256 of its lines ${file.sha256}`));
  } catch (error) {
    if (error.name === "AbortError") show(place, h("p", { class: "mute" }, "Cancelled. Nothing was written."));
    else show(place, failed(error));
  }
}

/** Ask for page after page, and return the file: a header, the events as they come, and a trailer that checks them. */
async function collected(profile, principal, asked, signal, progress) {
  const lines = [];
  const types = {};
  let page = { position: "", until: "", done: false };
  let events = 0;
  while (!page.done) {
    const body = { ...asked, ...(page.position ? { after: page.position, until: page.until } : {}) };
    const answer = await text(path`/v1/profiles/${profile}/export`, body, { signal });
    page = JSON.parse(answer);
    if (!lines.length) lines.push(header(profile, principal, asked, page));
    lines.push(...elements(answer));
    for (const line of page.lines) {
      types[line.type] = (types[line.type] ?? 0) + 1;
      events += 1;
    }
    progress(sequence(page.position), Math.max(1, sequence(page.until)), events);
  }
  const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
  const sha256 = hex(await crypto.subtle.digest("SHA-256", bytes));
  const last = trailer(profile, { events, types: sorted(types), position: page.position, sha256 });
  return { blob: new Blob([bytes, `${last}\n`], { type: "application/x-ndjson" }), events, sha256 };
}

const hex = (buffer) => [...new Uint8Array(buffer)].map((one) => one.toString(16).padStart(2, "0")).join("");
const sorted = (types) => Object.fromEntries(Object.entries(types).sort(([a], [b]) => (a < b ? -1 : 1)));

function line(profile, topic, data) {
  return JSON.stringify({
    specversion: "1.0",
    id: hex(crypto.getRandomValues(new Uint8Array(16)).buffer),
    source: `umbriel/${profile}`,
    type: topic,
    time: new Date().toISOString(),
    dataschema: `urn:umbriel:${topic}:${FORMAT}`,
    datacontenttype: "application/json",
    data,
  });
}

function header(profile, principal, asked, page) {
  const log = page.until.slice(0, page.until.lastIndexOf(":"));
  return line(profile, "umbriel.export.header", { format: FORMAT, profile, log, until: page.until, after: "", ...asked, principal });
}

const trailer = (profile, data) => line(profile, "umbriel.export.trailer", data);

function save(blob, name) {
  const where = URL.createObjectURL(blob);
  h("a", { href: where, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(where), 10_000);
}
