// The settings of a profile: shown as they are, changed together, refused with the reason beside the field.

import { get, patch, path } from "./api.js";
import { h, say, show } from "./dom.js";
import { button, choice, head, input, section } from "./parts.js";

const REACHES = [["local", "not outside this machine"], ["own", "endpoints of one's own"], ["partner", "third parties"]];
const CHOICES = {
  "recall.fusion": [["default", "default, measured best"], ["classic", "classic, reciprocal ranks"]],
  "provider.recall": [["local", "this service"], ["managed", "the managed memory"]],
  "data_flow.messages": REACHES,
  "data_flow.memories": REACHES,
  "data_flow.queries": REACHES,
};
const ABOUT = {
  recall: "Recall",
  access: "Accesses",
  extraction: "Reading conversations",
  verifier: "Verifier",
  decay: "Decay",
  consolidation: "Consolidation",
  reflection: "Reflection",
  data_flow: "Where content may go",
  provider: "Provider",
  tasks: "Tasks",
  retention: "Retention",
};
const HINTS = {
  "recall.fusion": "How the channels are weighed against each other.",
  "recall.message_share": "Largest part of the results that may be messages.",
  "recall.analysis": "A language model says what a question looks for.",
  "recall.fill": "Places left over for what was used lately or often.",
  "access.counted": "Handing out a memory keeps it alive.",
  "access.recalls": "Who asked what is on record.",
  "verifier.enabled": "New memories are held against older ones like them.",
  "decay.days": "Days without use after which confidence falls.",
  "decay.factor": "What confidence is multiplied by, once a day.",
  "decay.floor": "Confidence falls no lower.",
  "decay.spare_people": "What a person stated does not decay.",
  "consolidation.cosine": "How alike memories are that may be merged.",
  "provider.forward": "What is written is sent to the managed memory as well.",
  "provider.recall": "Who answers recall.",
  "tasks.ttl_days": "Days a task of a session lives; 0 is for ever.",
  "retention.days": "Days after which content is shown no more; 0 is never.",
};

export async function settings(ctx) {
  const { profile, signal } = ctx;
  const reply = await get(path`/v1/profiles/${profile}/settings`, {}, { signal });
  const fields = Object.entries(reply.settings).map(([name, value]) => setting(name, value));
  const said = h("p", { class: "small mute said", role: "status" }, changedText(reply.version));
  const save = h("button", { class: "main-act", disabled: true }, "Save");
  const undo = button("Undo", () => reset());
  const changed = () => fields.filter((one) => one.value() !== one.given);
  const look = () => {
    const many = changed().length;
    save.disabled = undo.disabled = many === 0;
    for (const one of fields) one.wrong("");
    show(said, many ? `${many} changed` : changedText(reply.version));
  };
  const reset = () => (fields.forEach((one) => one.reset()), look());
  const send = async (event) => {
    event.preventDefault();
    const changes = Object.fromEntries(changed().map((one) => [one.name, one.value()]));
    save.disabled = true;
    try {
      await patch(path`/v1/profiles/${profile}/settings`, { changes, expected: reply.version }, { signal });
      say("Saved");
      ctx.again();
    } catch (error) {
      save.disabled = false;
      refused(error, fields, said);
    }
  };
  undo.disabled = true;
  return [
    head("Settings", "They count for every request after they are saved. Each change is an event, with who made it."),
    h(
      "form",
      { novalidate: true, onsubmit: send, oninput: look, onchange: look },
      groups(fields),
      h("div", { class: "card stuck" }, said, h("div", { class: "row" }, undo, save)),
    ),
  ];
}

const changedText = (version) => (version ? `Changed ${version} ${version === 1 ? "time" : "times"} so far` : "All as they come");

function groups(fields) {
  const by = Map.groupBy ? Map.groupBy(fields, (one) => one.section) : grouped(fields);
  return [...by].map(([name, those]) => section(ABOUT[name] ?? name, h("div", { class: "card" }, those.map((one) => one.node))));
}

function grouped(fields) {
  const by = new Map();
  for (const one of fields) by.set(one.section, [...(by.get(one.section) ?? []), one]);
  return by;
}

function setting(name, given) {
  const [part, ...rest] = name.split(".");
  const control = controlOf(name, given);
  const wrong = h("p", { class: "wrong small said", role: "alert" });
  const id = `setting-${name.replace(/[^a-z]/g, "-")}`;
  control.id = id;
  control.setAttribute("name", name);
  const label = h("div", null, h("label", { for: id }, rest.join(".").replaceAll("_", " ")), HINTS[name] ? h("p", { class: "small mute", id: `${id}-hint` }, HINTS[name]) : null);
  if (HINTS[name]) control.setAttribute("aria-describedby", `${id}-hint`);
  return {
    name,
    given,
    section: part,
    node: h("div", { class: "setting" }, label, control, wrong),
    value: () => valueOf(control, given),
    reset: () => (typeof given === "boolean" ? (control.checked = given) : (control.value = given)),
    wrong: (text) => {
      show(wrong, text);
      if (text) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
      if (text) control.focus();
    },
  };
}

function controlOf(name, given) {
  if (CHOICES[name]) return choice(CHOICES[name], given);
  if (typeof given === "boolean") return h("input", { type: "checkbox", role: "switch", checked: given });
  if (typeof given === "number") return input({ type: "number", step: "any", value: String(given) });
  return input({ value: typeof given === "string" ? given : JSON.stringify(given) });
}

/** What a control says, as the type that the setting has; what is no number goes as the text that it is. */
function valueOf(control, given) {
  if (typeof given === "boolean") return control.checked;
  if (typeof given === "number") return control.value.trim() === "" || Number.isNaN(Number(control.value)) ? control.value : Number(control.value);
  if (typeof given === "string") return control.value;
  try {
    return JSON.stringify(given) === control.value ? given : JSON.parse(control.value);
  } catch {
    return control.value;
  }
}

function refused(error, fields, said) {
  const meant = fields.find((one) => error.message.startsWith(`${one.name} `));
  if (meant) meant.wrong(error.message.slice(meant.name.length + 1).replace(/^cannot/, "This cannot"));
  show(said, h("span", { class: "wrong" }, error.code === "conflict" ? "Somebody else changed them meanwhile: load the page again." : meant ? "Not saved." : error.message));
}
