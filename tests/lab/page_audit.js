// What a page may not do: be wider than its window, have words that do not stand out, or controls
// without a name or too small for a finger. `audited.audit()` returns sentences.
window.audited = (() => {
"use strict";
const audited = {audit, controls: [], names: (numbers) => numbers.map((n) => nameOf(audited.controls[n]))};

function nameOf(element) {
  const words = (element.getAttribute("aria-label") || element.textContent || "").trim();
  return `<${element.localName} ${element.id || element.className} ${words.slice(0, 30)}>`;
}

function isShown(element) {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return element.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && box.width > 1 && box.height > 1 && style.clipPath !== "inset(50%)";
}

function colour(text) {
  const srgb = /color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)(?: \/ ([\d.]+))?/.exec(text);
  if (srgb) return [...srgb.slice(1, 4).map((n) => 255 * n), +(srgb[4] ?? 1)];
  const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
  return [r, g, b, a];
}

const over = ([r, g, b, a], [s, t, u]) => [r * a + s * (1 - a), g * a + t * (1 - a), b * a + u * (1 - a), 1];

// What the browser paints behind a page: it depends on the schemes that the page says it knows.
function canvas() {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.backgroundColor = "Canvas";
  const found = colour(getComputedStyle(probe).backgroundColor);
  probe.remove();
  return found;
}

function behind(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.backgroundImage !== "none") return null;
    layers.push(colour(style.backgroundColor));
    if (layers[layers.length - 1][3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), canvas());
}

function light([r, g, b]) {
  const [x, y, z] = [r, g, b].map((n) => n / 255).map((n) => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z + 0.05;
}

function contrast(element) {
  const below = behind(element);
  if (!below) return 21;
  const style = getComputedStyle(element);
  const above = over(colour(element.ownerSVGElement ? style.fill : style.color), below);
  const pair = [light(above), light(below)].sort((a, b) => b - a);
  return pair[0] / pair[1];
}

function audit(wanted) {
  // Without a word about its width, a page is laid out for a wide window, and shrunk.
  const found = [], width = Math.min(wanted, document.documentElement.clientWidth);
  if (document.documentElement.scrollWidth > width)
    found.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${width}`);
  const inner = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement)
      if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  const controls = "a[href], button, input, select, textarea, summary, [tabindex]";
  const groups = new Set();  // of radio buttons: Tab leads to one, arrows from there to the others
  const isFurther = (one) => one.type === "radio" && (groups.has(one.name) || !groups.add(one.name));
  audited.controls = [...document.querySelectorAll(controls)].filter((one) => !isFurther(one))
    .filter((one) => isShown(one) && !one.disabled && one.tabIndex >= 0);
  for (const control of audited.controls) {
    const box = control.getBoundingClientRect();
    if ((box.right > width + 1 || box.left < -1) && !inner(control)) found.push(`beyond the edge: ${nameOf(control)}`);
    const labelled = control.getAttribute("aria-label") || control.labels?.length || control.textContent.trim()
      || control.title || control.querySelector("img[alt]");
    if (!labelled) found.push(`without a name: ${nameOf(control)}`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || seen.has(element) || !isShown(element)) continue;
    seen.add(element);
    if (["SCRIPT", "STYLE", "NOSCRIPT", "TEXTAREA", "OPTION"].includes(element.tagName)) continue;
    if (element.closest(":disabled")) continue;
    const ratio = contrast(element);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${nameOf(element)}`);
  }
  for (const picture of document.images)
    if (!picture.hasAttribute("alt")) found.push(`a picture without words: ${picture.src.slice(0, 60)}`);
    else if (picture.complete && picture.src && !picture.naturalWidth) found.push(`no picture: ${picture.src.slice(0, 60)}`);
  return found;
}
return audited;
})();
