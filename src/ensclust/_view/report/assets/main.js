// Loading, linking, theme and printing.

const CHARTS = {
  "clusters-chart": sizesChart,
  "scatter-chart": scatterChart,
  "matrix-chart": matrixChart,
  "tree-chart": treeChart,
  "graph-chart": graphChart,
  "agreement-chart": agreementChart,
  "pairs-chart": pairsChart,
  "selection-chart": selectionChart,
  "levels-chart": levelsChart,
  "cdf-chart": cdfChart,
  "matrices-chart": matricesChart,
  "truth-chart": truthChart,
};
const LINKED = ["clusters-chart", "scatter-chart", "matrix-chart", "tree-chart", "graph-chart", "levels-chart", "truth-chart"];

function draw(names) {
  if (typeof Plotly === "undefined") return;
  for (const name of names) {
    const place = byId(name);
    if (place === null) continue;
    const [traces, base] = CHARTS[name]();
    place.style.height = `${base.height}px`;
    Plotly.react(place, traces, { ...base, width: widthOf(name) }, CONFIG);
  }
}

// From scratch, as what Plotly remembers of a narrow chart spoils the wide one.
function drawAll() {
  if (typeof Plotly === "undefined") return;
  for (const name of Object.keys(CHARTS)) if (byId(name)) Plotly.purge(byId(name));
  draw(Object.keys(CHARTS));
  makeLinks();
}

// Choosing the same cluster again shows all.
function choose(cluster) {
  state.cluster = state.cluster === cluster ? null : cluster;
  byId("chips").querySelectorAll("button").forEach((button) => {
    const own = button.dataset.cluster === "" ? null : Number(button.dataset.cluster);
    button.setAttribute("aria-pressed", String(own === state.cluster));
  });
  byId("status").textContent = state.cluster === null
    ? "All clusters" : `Cluster ${clusterName(state.cluster)}`;
  table.shown = 25;
  drawTable();
  draw(LINKED);
}

function makeChips() {
  const { names, sizes } = data.clusters;
  const all = element("button", "All", { type: "button", className: "chip" });
  all.dataset.cluster = "";
  all.setAttribute("aria-pressed", "true");
  all.addEventListener("click", () => choose(null));
  const chips = names.map((name, i) => {
    const chip = element("button", null, { type: "button", className: "chip", title: name });
    chip.dataset.cluster = i;
    chip.setAttribute("aria-pressed", "false");
    chip.append(icon(i), element("span", name, { className: "name" }), element("small", count(sizes[i])));
    chip.addEventListener("click", () => choose(i));
    return chip;
  });
  byId("chips").replaceChildren(all, ...chips);
}

function setTheme(isDark) {
  state.isDark = isDark;
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(isDark));
}

function makeTheme() {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  let isFree = true;
  setTheme(wish.matches);
  wish.addEventListener("change", () => { if (isFree) { setTheme(wish.matches); drawAll(); } });
  byId("theme").addEventListener("click", () => { isFree = false; setTheme(!state.isDark); drawAll(); });
  // Paper is white, and as wide as a page between its margins.
  let before = state.isDark;
  addEventListener("beforeprint", () => { before = state.isDark; setTheme(false); state.isPaper = true; drawAll(); });
  addEventListener("afterprint", () => { setTheme(before); state.isPaper = false; drawAll(); });
}

// Which map is shown, and with how many axes.
function chooseMap(at) {
  state.map = at;
  [...byId("scatter-map").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === at)));
  byId("scatter-axes-choice").hidden = shownMap().axes.length < 3;
  byId("scatter-note").textContent = scatterNote();
  draw(["scatter-chart"]);
}

function makeMaps() {
  const titles = { features: "Features", ensemble: "Ensemble", components: "Components" };
  byId("scatter-map").replaceChildren(...data.scatter.maps.map(({ of }, i) => {
    const button = element("button", titles[of], { type: "button" });
    button.dataset.value = of;
    button.addEventListener("click", () => chooseMap(i));
    return button;
  }));
  chooseMap(0);
}

// What the map is coloured by: "cluster" or "certainty", or clusters of a cut of the tree.
function colourMap(colour, cutsMap) {
  state.colour = colour;
  state.cutsMap = cutsMap;
  for (const button of byId("scatter-colour").children) {
    button.setAttribute("aria-pressed", String(button.dataset.value === colour));
  }
  if (data.tree) byId("tree-map").setAttribute("aria-pressed", String(cutsMap));
  byId("scatter-note").textContent = scatterNote();
  draw(["scatter-chart"]);
}

function makeControls() {
  byId("scatter-colour").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button !== null) colourMap(button.dataset.value, false);
  });
  byId("scatter-axes").addEventListener("change", () => draw(["scatter-chart"]));
  if (!data.tree) return;
  const slider = byId("tree-k");
  slider.max = data.tree.sizes.length;
  slider.value = data.tree.k;
  const show = () => {
    byId("tree-value").textContent = slider.value;
    byId("tree-sizes").textContent = treeSizes();
    draw(["tree-chart"]);
    if (state.cutsMap) colourMap("cluster", true);
  };
  slider.addEventListener("input", show);
  byId("tree-map").addEventListener("click", () => colourMap("cluster", !state.cutsMap));
  show();
}

function makeNotes() {
  byId("clusters-table").open = data.clusters.names.length <= 6;
  const notes = { clusters: absentNote, scatter: scatterNote, matrix: matrixNote, tree: treeNote, graph: graphNote, agreement: agreementNote, sweep: sweepNote };
  for (const [name, text] of Object.entries(notes)) {
    if (data[name]) byId(`${name}-note`).textContent = text();
  }
}

function makeLinks() {
  for (const name of ["clusters-chart", "scatter-chart", "tree-chart", "graph-chart", "levels-chart"]) {
    const place = byId(name);
    if (place === null) continue;
    place.on("plotly_click", ({ points }) => {
      if (points[0].customdata >= 0) choose(points[0].customdata);
    });
  }
  if (data.truth) byId("truth-chart").on("plotly_click", ({ points }) => choose(points[0].y));
}

// Plotly comes compressed; the page's policy allows it by the hash of its text.
async function loadPlotly() {
  const packed = Uint8Array.from(atob(byId("library").textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

// Charts have the width of their cards; Plotly's own resizing would keep that of paper.
function makeWidth() {
  let last = innerWidth;
  let timer = null;
  addEventListener("resize", () => {
    if (innerWidth === last || state.isPaper) return; // a phone's bars come and go
    last = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => { drawTable(); drawAll(); }, 150);
  });
}

makeTheme();
makeWidth();
makeChips();
makeTable();
makeNotes();
makeControls();
makeMaps();
loadPlotly().then(() => {
  drawAll();
  document.documentElement.dataset.ready = "true";
}).catch((error) => {
  byId("alert").hidden = false;
  byId("alert").textContent = `The charts need a browser of 2023 or newer (${error.message}).`;
});
