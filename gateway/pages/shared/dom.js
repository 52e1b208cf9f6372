// Elements, and making a page what it should be without losing where its reader is.
//
// A view is a function that builds the whole of what should be there; `morph` changes what is there into it. Nothing here takes
// markup as text, so what a job or a node is called is never more than text.

const SVG = "http://www.w3.org/2000/svg";
const HANDLER = /^on[a-z]+$/;

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (HANDLER.test(name)) element[name] = value;
    else if (name === "vars") for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// h("a", { href, onclick, vars: { "--share": "50%" } }, children...)
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

// An element that looks after itself, such as a canvas: it is put in once, and left alone from then on.
export function keep(element) {
  element.dataset.keep = "";
  return element.isConnected ? h(element.localName, { "data-keep": "", "data-key": element.dataset.key }) : element;
}

const key = (node) => node.dataset?.key;
const isSame = (from, to) => from.nodeType === to.nodeType && from.nodeName === to.nodeName && key(from) === key(to);

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (name !== "style" && !to.hasAttribute(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (name === "style" || from.getAttribute(name) === value) continue;
    from.setAttribute(name, value);
    // A field that was typed into no longer shows its attribute.
    if (name === "value" && from.value !== value) from.value = value;
  }
  // The policy allows styles that scripts set, and no style attribute.
  if (from.style.cssText !== to.style.cssText) from.style.cssText = to.style.cssText;
  for (const name of ["onclick", "oninput", "onchange", "onsubmit", "onkeydown", "onpointermove", "onpointerleave"]) {
    if (from[name] !== to[name]) from[name] = to[name];
  }
}

function morphChildren(from, to) {
  const keyed = new Map();
  for (const child of from.childNodes) if (key(child)) keyed.set(key(child), child);
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const known = key(wanted) && keyed.get(key(wanted));
    if (known && known !== at) from.insertBefore(known, at);
    const current = known ?? at;
    if (current && isSame(current, wanted)) {
      at = current.nextSibling;
      morph(current, wanted);
    } else {
      from.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// Makes `from` what `to` is, and returns what is there then.
export function morph(from, to) {
  if (!isSame(from, to)) {
    from.replaceWith(to);
    return to;
  }
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return from;
  }
  if (to.dataset.keep !== undefined) return from;
  morphAttributes(from, to);
  morphChildren(from, to);
  return from;
}
