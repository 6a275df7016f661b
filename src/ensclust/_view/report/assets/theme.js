"use strict";
// Colours and symbols, and what all charts have in common.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// Colour-blind readers can tell the first ten hues apart; after them other symbols are
// used, so that no two of the first 60 clusters look alike.
const HUES = data.palette;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star"];
const OUTLINES = {
  circle: "M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12z",
  square: "M3 3h10v10h-10z",
  diamond: "M8 1l7 7l-7 7l-7-7z",
  "triangle-up": "M8 2l7 12h-14z",
  cross: "M6 1h4v5h5v4h-5v5h-4v-5h-5v-4h5z",
  star: "M8 1l2 5h5l-4 3.3l1.5 5.2l-4.5-3l-4.5 3l1.5-5.2l-4-3.3h5z",
};
const hue = (i) => (i < 0 ? data.neutral : HUES[i % HUES.length]);
const symbol = (i) =>
  i < 0 ? "circle" : SYMBOLS[Math.floor(i / 10) % SYMBOLS.length];
const clusterName = (i) => (i < 0 ? "none" : data.clusters.names[i]);

const isTouched = matchMedia("(pointer: coarse)").matches;
const state = { cluster: null, isDark: false, map: 0, colour: "cluster", cutsMap: false, isPaper: false };

// The page does not know how wide paper is before it is printed: A4, or two columns of it.
function widthOf(id) {
  if (!state.isPaper) return byId(id).clientWidth;
  return byId(id).closest(".wide") && !byId(id).closest(".two") ? 660 : 318;
}
const isNarrow = (id) => widthOf(id) < 420;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const found = {};
  for (const name of ["card", "text", "soft", "line", "accent", "edge"]) {
    found[name] = style.getPropertyValue("--" + name).trim();
  }
  // One hue from the card to a strong blue, for shares from 0 to 1.
  found.shares = state.isDark
    ? [[0, "#1a2028"], [0.5, "#1f6391"], [1, "#a9dcff"]]
    : [[0, "#ffffff"], [0.5, "#7fb4d9"], [1, "#003f6b"]];
  return found;
}

// Relative luminance of a colour, as in WCAG.
function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => (parseInt(colour.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white, whichever is easier to read on a colour.
const inkOn = (colour) => (luminance(colour) > 0.179 ? "#000000" : "#ffffff");

// The outline of a mark: as the card, but light around a dark colour on a dark card.
const isDim = (colour) => luminance(colour) < 0.13;
const edge = (colour, c) => (state.isDark && isDim(colour) ? c.edge : c.card);

// Evenly spaced ticks, no more than the limit, among them the first and the last.
function chosenTicks(n, most) {
  const step = Math.ceil(n / most);
  const ticks = Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step);
  if (n > 0 && ticks[ticks.length - 1] !== n - 1) {
    if (n - 1 - ticks[ticks.length - 1] < 0.7 * step) ticks.pop();
    ticks.push(n - 1);
  }
  return ticks;
}

// Places moved as little as needed to be a gap apart, within the limits.
function apart(places, gap, low, high) {
  const moved = [...places];
  for (let i = 0; i < moved.length; i += 1) {
    moved[i] = Math.max(moved[i], i ? moved[i - 1] + gap : low);
  }
  for (let i = moved.length - 1; i >= 0; i -= 1) {
    moved[i] = Math.min(moved[i], i < moved.length - 1 ? moved[i + 1] - gap : high);
  }
  return moved;
}

const FORMAT = new Intl.NumberFormat("en-US"); // toLocaleString is slow
const count = (n) => FORMAT.format(n);
const share = (v) => (v === null ? "–" : v.toFixed(3));

// Plotly interprets some tags in texts; what comes from data must not be markup there.
const TAGS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const plain = (text) => String(text).replace(/[&<>]/g, (sign) => TAGS[sign]);

// Names often differ only at the end, so the middle is left out.
function brief(text, length) {
  const letters = Array.from(String(text));
  if (letters.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return letters.slice(0, length - 1 - tail).join("") + "…" + letters.slice(-tail).join("");
}

function layout(more) {
  const c = colours();
  const axis = {
    gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, tickcolor: c.line,
    automargin: true, title: { standoff: 10 },
  };
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "inherit", size: 12, color: c.text },
    margin: { l: 8, r: 8, t: 8, b: 8 },
    showlegend: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: c.card, bordercolor: c.soft, font: { color: c.text }, align: "left" },
    dragmode: isTouched ? false : "zoom", // a finger scrolls
    modebar: { bgcolor: c.card, color: c.soft, activecolor: c.text },
    ...more,
  };
  for (const name of Object.keys(base)) {
    if (/^[xy]axis/.test(name)) {
      base[name] = { ...axis, ...base[name] };
      base[name].title = { standoff: 10, ...base[name].title };
    }
  }
  return base;
}

const CONFIG = {
  displaylogo: false,
  displayModeBar: isTouched ? false : "hover",
  modeBarButtons: [["toImage", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  plotlyServerURL: "",
  showLink: false,
};

// Beside the chart; where that is narrow above it, or below it if the ticks are above.
function colourbar(id, title) {
  const shared = { thickness: 10, outlinewidth: 0, ticklen: 0 };
  return isNarrow(id)
    ? { ...shared, orientation: "h", xpad: 0, ypad: 0, ...(id === "truth-chart" ? { y: -0.14, yanchor: "top" } : { y: 1.02, yanchor: "bottom" }), len: 0.94, title: { text: title, side: "top", font: { size: 12 } } }
    : { ...shared, len: 0.9, title: { text: title, side: "right", font: { size: 12 } } };
}

// Of a chart with a square in it, beside or below its colour bar: so that the square
// fills the width, and the bar stands next to it.
function squareHeight(id) {
  const width = widthOf(id);
  return isNarrow(id) ? width + 64 : Math.min(width - 60, 640);
}

function icon(i) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", OUTLINES[symbol(i)]);
  path.setAttribute("fill", hue(i));
  if (isDim(hue(i))) path.setAttribute("class", "dim");
  svg.append(path);
  return svg;
}

function element(tag, text, more) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  return Object.assign(made, more);
}
