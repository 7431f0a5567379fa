// Elements, made without markup: every text is a text node, so that nothing a person wrote can become anything else.

const SVG = "http://www.w3.org/2000/svg";
const LATE = new Set(["value", "checked", "selected"]);

/** Make an HTML element; a property named `on…` is a listener, every other one an attribute. */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** Make an SVG element. */
export function s(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(node, props, children) {
  put(node, ...children);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (LATE.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return node;
}

/** Append children: elements, texts, numbers, lists of these; nothing for null, undefined and false. */
export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** Replace what is in an element. */
export function show(node, ...children) {
  node.replaceChildren();
  return put(node, ...children);
}

/** Tell people who listen. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

let last = 0;

/** Return an id that no other element has. */
export function unique(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}
