// Who did what, when, and through what: ids, never content.

import { get, path } from "./api.js";
import { h, put } from "./dom.js";
import { moment, sequence, utc } from "./format.js";
import { about, button, choice, empty, failed, field, head, input, link } from "./parts.js";
import { contactOf, people, whose } from "./people.js";

const PAGE = 100;
const SHOWN = 6;

export async function audit(ctx) {
  const { profile, query, go, signal } = ctx;
  const found = await people(ctx);
  const of = query.get("of") === "service" ? "/v1/audit" : path`/v1/profiles/${profile}/audit`;
  const asked = {
    principal: query.get("principal"),
    action: query.get("action"),
    contact: query.get("of") === "service" ? "" : contactOf(query, found),
    since: utc(query.get("since")),
    until: utc(query.get("until")),
    limit: PAGE,
  };
  const ask = (cursor) => get(of, { ...asked, cursor }, { signal });
  const first = await ask("");
  const scope = choice([["", `Profile ${profile}`], ["service", "The service"]], query.get("of") ?? "");
  const principal = input({ value: query.get("principal") ?? "", placeholder: "anybody" });
  const action = input({ value: query.get("action") ?? "", placeholder: "anything" });
  const since = input({ type: "datetime-local", value: query.get("since") ?? "" });
  const until = input({ type: "datetime-local", value: query.get("until") ?? "" });
  const who = whose(query, found);
  const apply = (event) => {
    event.preventDefault();
    go({ of: scope.value, principal: principal.value.trim(), action: action.value.trim(), who: who.value(), since: since.value, until: until.value });
  };
  return [
    head("Audit", "Who did what, newest first. It holds ids, never what was said."),
    h("form", { class: "filters", role: "search", onsubmit: apply, onchange: apply }, field("Of", scope), field("Principal", principal), field("Action", action), who.node, field("Since", since, "", "wide"), field("Until", until, "", "wide")),
    pages(profile, first, ask),
  ];
}

function pages(profile, first, ask) {
  const list = h("ol", { class: "list card" });
  const place = h("div", { class: "row more" });
  const add = ({ entries, cursor }) => {
    put(list, entries.map((one) => row(profile, one)));
    const more = () => ask(cursor).then(add, (error) => place.replaceChildren(failed(error, more)));
    place.replaceChildren(cursor ? button("Older", more) : "");
    if (!list.childElementCount) list.replaceWith(empty("Nothing fits", cursor ? "Look further back." : "Nobody did such a thing."));
  };
  queueMicrotask(() => add(first));
  return h("div", null, list, place);
}

function row(profile, one) {
  const memories = one.memories ?? [];
  return h(
    "li",
    { class: "item event" },
    h("time", { datetime: one.at }, moment(one.at)),
    h(
      "div",
      { class: "stack tight" },
      h("p", { class: "row" }, h("span", { class: "strong" }, one.action), h("span", { class: "small mute said" }, [one.principal, one.principal_type, one.via].filter(Boolean).join(" · ")), one.count > 1 ? h("span", { class: "small mute" }, `${one.count} times`) : null),
      h(
        "p",
        { class: "meta" },
        one.contact ? h("span", null, one.contact === "*" ? "everybody" : one.contact) : null,
        one.session ? h("a", { href: link(profile, "sessions", { session: one.session }) }, one.session) : null,
        one.message ? h("span", { class: "mono" }, `${one.message.slice(0, 8)}…`) : null,
        memories.slice(0, SHOWN).map((id) => about(profile, id)),
        memories.length > SHOWN ? h("span", null, `and ${memories.length - SHOWN} more`) : null,
        one.erased ? h("span", null, "erased") : null,
      ),
      one.detail ? h("p", { class: "small said" }, one.detail) : null,
    ),
    h("span", { class: "mono", title: "Position" }, sequence(one.position)),
  );
}
