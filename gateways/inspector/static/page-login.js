// Who comes without a link shows a token.

import { get, session } from "./api.js";
import { h, show } from "./dom.js";
import { field, input } from "./parts.js";

/** Ask for a token, and call `enter` with one that is good; `error` is why one is asked for. */
export function entrance(app, enter, error) {
  const token = input({ type: "password", required: true, autocomplete: "off", autofocus: true, placeholder: "umb_…" });
  const said = h("p", { class: "wrong said", role: "alert" });
  const why = error && error.code !== "gone" ? error.message : "";
  show(said, why === "who speaks is not known" ? "Your token counts no more. Log in again." : why);
  const come = async (event) => {
    event.preventDefault();
    session.begin(token.value.trim(), false);
    try {
      await get("/v1/status");
    } catch (problem) {
      session.end();
      token.setAttribute("aria-invalid", "true");
      show(said, problem.status === 401 ? "This is no token, or it counts no more." : problem.message);
      return token.focus();
    }
    enter();
  };
  document.title = "Log in · Umbriel";
  show(
    app,
    h(
      "main",
      { class: "gate", id: "main" },
      h(
        "form",
        { class: "stack", onsubmit: come },
        h("div", null, h("h1", null, "Umbriel inspector"), h("p", { class: "lede" }, "What your agents remember, why, and since when.")),
        field("Token", token),
        said,
        h("button", { class: "main-act" }, "Log in"),
        h(
          "p",
          { class: "small mute" },
          "On this machine ",
          h("code", null, "umbriel inspect"),
          " opens a link that logs you in. For somebody else, ",
          h("code", null, "umbriel principal token NAME"),
          " makes a token. It stays in this tab, and goes when you close it.",
        ),
      ),
    ),
  );
  token.focus();
}
