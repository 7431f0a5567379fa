// Parts that several pages are made of.

import { h, put, show, unique } from "./dom.js";
import { counted, day, moment, short, time } from "./format.js";

/** The top of a page: its name, what it is for, and what can be done at once. */
export function head(title, lede, ...acts) {
  return h(
    "header",
    { class: "head" },
    h("div", null, h("h1", { tabindex: -1 }, title), lede ? h("p", { class: "lede" }, lede) : null),
    acts.length ? h("div", { class: "row" }, acts) : null,
  );
}

export function section(title, ...children) {
  const id = unique("section");
  return h("section", { class: "section", "aria-labelledby": id }, h("h2", { id }, title), children);
}

/** A control with its name, and a hint that is read with it. */
export function field(label, control, hint = "", extra = "") {
  const id = unique("field");
  control.id = id;
  const note = hint ? h("span", { class: "small mute", id: `${id}-hint` }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: `field ${extra}` }, h("label", { for: id }, label), control, note);
}

export function check(label, control) {
  const id = unique("check");
  control.id = id;
  control.type = "checkbox";
  return h("div", { class: "check" }, control, h("label", { for: id }, label));
}

/** A choice; options are `[value, text]` or a value that is its own text. */
export function choice(options, value, props) {
  const made = options.map((one) => {
    const [given, text] = Array.isArray(one) ? one : [one, one];
    return h("option", { value: given }, text);
  });
  return h("select", { ...props, value }, made);
}

export const input = (props) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });

export const button = (text, onclick, extra = "", props = {}) =>
  h("button", { type: "button", class: extra, onclick, ...props }, text);

export const waiting = (text = "Loading") => h("p", { class: "wait", role: "status" }, `${text}…`);

export function empty(title, text, ...acts) {
  return h("div", { class: "state" }, h("h2", null, title), text ? h("p", null, text) : null, acts);
}

/** What went wrong, what would have been right, and a way to try again. */
export function failed(error, again) {
  const title = error.code === "refused" ? "You may not see this" : error.code === "gone" ? "Nobody answers" : "That did not work";
  return h(
    "div",
    { class: "state error", role: "alert" },
    h("h2", null, title),
    h("p", { class: "said" }, error.message),
    error.expected ? h("p", { class: "said small" }, `Expected: ${error.expected}`) : null,
    error.found ? h("p", { class: "said small" }, `Found: ${error.found}`) : null,
    error.code === "gone" ? h("p", { class: "small" }, "The service may have stopped: `umbriel inspect` starts it again.") : null,
    again ? button("Try again", again) : null,
  );
}

/** A table that stacks where there is no room; columns are `{name, cell, number}`. */
export function table(caption, columns, rows) {
  return h(
    "div",
    { class: "card" },
    h(
      "table",
      null,
      h("caption", { class: "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map((one) => h("th", { scope: "col", class: one.number ? "number" : null }, one.name)))),
      h("tbody", null, rows.map((row) => h("tr", null, columns.map((one) => cell(one, row))))),
    ),
  );
}

const cell = (column, row) =>
  h("td", { "data-label": column.name, class: column.number ? "number" : null }, column.cell(row));

/** Names and values side by side; what has no value is left out. */
export function facts(pairs) {
  const shown = Object.entries(pairs).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return h("dl", { class: "facts" }, shown.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

export const bar = (done, total, label) =>
  total ? h("progress", { value: done, max: total, "aria-label": label }) : h("progress", { "aria-label": label });

export const tag = (text, on = false) => h("span", { class: on ? "tag on" : "tag" }, text);

export const moments = (text) => h("time", { datetime: text, title: moment(text) }, time(text));
export const days = (text) => h("time", { datetime: text, title: moment(text) }, day(text));

/** Where a page of a profile is. */
export function link(profile, name, query = {}) {
  const pairs = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== undefined));
  return `#/${encodeURIComponent(profile)}/${name}${pairs.size ? `?${pairs}` : ""}`;
}

/** An id as a link to what it names, if it names a memory. */
export function about(profile, id) {
  const shown = h("span", { class: "mono small", title: id }, short(id));
  return id.includes("@") ? h("a", { href: link(profile, "memory", { id }) }, shown) : shown;
}

export const gone = (text) => text || h("em", { class: "mute" }, "No words are left of it");

/** One memory in a list. */
export function memoryRow(profile, memory) {
  return h(
    "li",
    { class: "item" },
    h("a", { class: "item-text said", href: link(profile, "memory", { id: memory.id }) }, gone(memory.text)),
    h(
      "p",
      { class: "meta" },
      memory.status === "live" ? null : tag(memory.status),
      memory.pinned ? tag("pinned", true) : null,
      h("span", null, memory.kind),
      memory.key ? h("span", null, memory.key) : null,
      h("span", null, memory.contact ? memory.contact : "agent-wide"),
      moments(memory.recorded_at),
      memory.accesses ? h("span", null, counted(memory.accesses, "access", "accesses")) : null,
    ),
  );
}

/** A dialog; `fill(close)` returns what is in it. It goes when it is closed, and gives the focus back. */
export function dialog(title, fill) {
  const before = document.activeElement;
  const id = unique("dialog");
  const box = h("dialog", { "aria-labelledby": id });
  const close = () => box.close();
  put(box, h("div", { class: "stack" }, h("h2", { id }, title), fill(close)));
  box.addEventListener("close", () => {
    box.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Run something that takes a while where its outcome is to stand: waiting, then the outcome or the error. */
export async function into(place, text, work) {
  show(place, waiting(text));
  try {
    const made = await work();
    if (made) show(place, made);
    else show(place);
  } catch (error) {
    if (error.name === "AbortError") return;
    show(place, failed(error, () => into(place, text, work)));
  }
}
