// The REST API, spoken with the token of this tab. No cookie is ever sent: a request without the header is nobody's.

const KEY = "umbriel.token";
const OWN = "umbriel.login";

/** What the service answered instead of what was asked for. */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.message || problem.detail || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? "";
    this.expected = problem.expected ?? "";
    this.found = problem.found ?? "";
    this.done = problem.done ?? 0;
    this.total = problem.total ?? 0;
  }
}

export const session = {
  get token() {
    return sessionStorage.getItem(KEY) ?? "";
  },
  begin(token, own) {
    sessionStorage.setItem(KEY, token);
    if (own) sessionStorage.setItem(OWN, "1");
    else sessionStorage.removeItem(OWN);
  },
  end() {
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(OWN);
  },
  /** The id of the token if a login made it, so that leaving can take it away. */
  get own() {
    return sessionStorage.getItem(OWN) ? this.token.split("_")[1] : "";
  },
};

/** Put values into a path, each as one part of it. */
export function path(texts, ...values) {
  return texts.reduce((made, text, at) => made + encodeURIComponent(values[at - 1]) + text);
}

function headers(more) {
  return { Authorization: `Bearer ${session.token}`, ...more };
}

function address(where, query) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) if (one !== "" && one !== undefined && one !== null) pairs.append(name, one);
  }
  return pairs.size ? `${where}?${pairs}` : where;
}

async function request(method, where, { query, body, signal, as } = {}) {
  const asked = { method, signal, credentials: "omit", cache: "no-store", redirect: "error" };
  asked.headers = as === null ? {} : headers(as);
  if (body !== undefined) {
    asked.body = JSON.stringify(body);
    asked.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(address(where, query), asked);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "gone", message: "The service does not answer", expected: "a running service" });
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new ApiError(response.status, problem);
}

/** Ask, and return the JSON of the answer; what is being made is waited for, and `progress` told how far it is. */
async function ask(method, where, options = {}) {
  for (;;) {
    try {
      return await (await request(method, where, options)).json();
    } catch (error) {
      if (error.code !== "building") throw error;
      options.progress?.(error.done, error.total);
      await pause(250, options.signal);
    }
  }
}

/** Ask, and return the answer as the text that it is. */
export const text = async (where, body, options) => (await request("POST", where, { body, ...options })).text();

export const get = (where, query, options) => ask("GET", where, { query, ...options });
export const post = (where, body, options) => ask("POST", where, { body, ...options });
export const patch = (where, body, options) => ask("PATCH", where, { body, ...options });

/** Take the token of this tab away, where a login made it. */
export async function leave() {
  const own = session.own;
  if (own) await request("DELETE", path`/v1/tokens/${own}`).catch(() => null);
  session.end();
}

/** Change the code of a link for a token. */
export async function login(code) {
  const reply = await ask("POST", "/v1/login", { body: { code }, as: null });
  session.begin(reply.token, true);
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new DOMException("ended", "AbortError"));
    if (signal?.aborted) return ended();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), ended()), { once: true });
  });
}

/** Yield the events of a feed as they come: `{id, event, data}`; a browser's own EventSource can send no token. */
export async function* stream(where, query, { signal, after }) {
  const as = { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": after } : {}) };
  const response = await request("GET", where, { query, signal, as });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    left += value;
    const parts = left.split("\n\n");
    left = parts.pop();
    for (const part of parts) yield parsed(part);
  }
}

function parsed(part) {
  const event = { id: "", event: "", data: "" };
  for (const line of part.split("\n")) {
    const at = line.indexOf(":");
    const name = line.slice(0, at);
    if (at > 0 && name in event) event[name] += line.slice(at + 1).replace(/^ /, "");
  }
  return event;
}
