"use strict";
/* Functions of every page: themes, compressed data, figures that are drawn when they become visible. */
const levelhead = (() => {
  const root = document.documentElement;

  // ---------------------------------------------------------------- local storage
  const memory = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); return true; } catch { return false; } },
  };

  // ---------------------------------------------------------------- themes
  const THEMES = ["auto", "light", "dark"];
  const THEME_KEY = "levelhead:theme";
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function setTheme(theme) {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    document.getElementById("theme").textContent = `Theme: ${theme}`;
    redrawAll();
  }

  function initTheme() {
    let theme = memory.get(THEME_KEY);
    if (!THEMES.includes(theme)) theme = "auto";
    document.getElementById("theme").addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      memory.set(THEME_KEY, theme);
      setTheme(theme);
    });
    prefersDark.addEventListener("change", redrawAll);
    setTheme(theme);
  }

  // ---------------------------------------------------------------- packed data
  const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

  function bytes(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const text = atob(base64), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out;
  }

  function inflated(part) {
    return new Response(new Blob([bytes(part.zlib)]).stream().pipeThrough(new DecompressionStream("deflate")));
  }

  async function unpack(part) {
    return part === null ? null : new TYPES[part.dtype](await inflated(part).arrayBuffer());
  }

  async function unpackText(part) {
    return part === null ? null : inflated(part).text();
  }

  function json(id) { return JSON.parse(document.getElementById(id).textContent); }

  // ---------------------------------------------------------------- figures
  const figures = new Map(); // by name: {element, spec, drawn, shapes, ranges, listeners}

  function colour(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  /* Replace the names of colours by the colours of the theme. */
  function themed(value) {
    if (typeof value === "string") return value.replace(/^var\((--[\w-]+)\)$/, (_, name) => colour(name));
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(themed);
    if (value && typeof value === "object" && !("bdata" in value) && !ArrayBuffer.isView(value))
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, themed(part)]));
    return value;
  }

  function axis() {
    return { gridcolor: colour("--grid"), zerolinecolor: colour("--line"), linecolor: colour("--line"), tickcolor: colour("--line"),
             automargin: true, title: { standoff: 8 } };
  }

  function baseLayout(height) {
    return {
      height, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 48, r: 12, t: 28, b: 40 }, hovermode: "closest",
      font: { family: colour("--sans"), size: 12.5, color: colour("--soft") },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: colour("--ink") } },
      template: { layout: { xaxis: axis(), yaxis: axis() } },
      modebar: { color: colour("--soft"), activecolor: colour("--blue"), bgcolor: "rgba(0,0,0,0)" },
    };
  }

  const CONFIG = { responsive: true, displaylogo: false,
                   modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"] };

  function draw(figure) {
    const { element, spec } = figure;
    const layout = { ...baseLayout(Number(element.dataset.height)), ...themed(spec.layout ?? {}) };
    for (const [name, range] of Object.entries(figure.ranges)) layout[name] = { ...layout[name], range: [...range] };
    layout.shapes = [...(layout.shapes ?? []), ...themed(figure.shapes)];
    const done = Plotly.react(element, themed(spec.data), layout, CONFIG);
    if (!figure.drawn) {
      figure.drawn = true;
      for (const listener of figure.listeners) element.on("plotly_click", listener);
    }
    return done;
  }

  function redrawAll() { for (const figure of figures.values()) if (figure.drawn) draw(figure); }

  const inView = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const figure = figures.get(entry.target.dataset.name);
      if (!entry.isIntersecting || figure.drawn) continue;
      inView.unobserve(entry.target);
      waiting.push(figure);
    }
    drawWaiting();
  }, { rootMargin: "300px" });

  /* Draw one figure after the other, and handle the events of the reader in between. */
  const waiting = [];
  let drawing = false;
  async function drawWaiting() {
    if (drawing) return;
    drawing = true;
    while (waiting.length) {
      await draw(waiting.shift());
      await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    }
    drawing = false;
  }

  function initFigures() {
    for (const element of document.querySelectorAll("[data-figure]")) {
      const name = element.id.replace(/-figure$/, "");
      element.dataset.name = name;
      element.style.minHeight = `${element.dataset.height}px`;
      figures.set(name, { element, spec: json(element.dataset.figure), drawn: false, shapes: [], ranges: {}, listeners: [] });
    }
  }

  /* On paper: light colours, all figures, the width of a page; afterwards all as before. */
  function initPrint() {
    let theme;
    addEventListener("beforeprint", () => {
      theme = root.dataset.theme;
      root.dataset.theme = "light";
      root.dataset.printing = "yes";
      for (const details of document.querySelectorAll(".remarks")) details.open = true;
      if (window.Plotly) for (const figure of figures.values()) draw(figure);
    });
    addEventListener("afterprint", () => {
      if (theme === undefined) delete root.dataset.theme; else root.dataset.theme = theme;
      delete root.dataset.printing;
      redrawAll();
    });
  }

  /* Resolves when there was no input for a moment. */
  function whenIdle() {
    const MOMENT = 400, LONGEST = 3000, TOUCHES = ["pointerdown", "keydown", "wheel"];
    return new Promise((isQuiet) => {
      let timer = 0;
      const began = performance.now();
      const done = () => { for (const touch of TOUCHES) removeEventListener(touch, again, true); isQuiet(); };
      const again = () => { clearTimeout(timer); timer = setTimeout(done, Math.min(MOMENT, Math.max(0, began + LONGEST - performance.now()))); };
      for (const touch of TOUCHES) addEventListener(touch, again, { capture: true, passive: true });
      again();
    });
  }

  /* Plotly is large, so it is loaded after the `pending` work of other scripts. */
  const pending = [];

  async function start() {
    await Promise.all(pending);
    if (pending.length) await whenIdle();
    const script = document.createElement("script");
    script.textContent = await unpackText(json("plotly"));
    document.body.append(script); // runs at once
    document.getElementById("plotly").remove();
    for (const { element } of figures.values()) inView.observe(element);
    root.dataset.plotly = "here";
  }

  /* Draw shapes on top of a figure, such as rings around selected points: much faster than another trace. */
  function overlay(name, shapes) {
    const figure = figures.get(name);
    if (!figure) return;
    figure.shapes = shapes;
    if (figure.drawn) Plotly.relayout(figure.element, { shapes: themed([...(figure.spec.layout?.shapes ?? []), ...shapes]) });
  }

  /* Set the ranges of the axes: {xaxis: [low, high], …}, or {} for the full range. */
  function zoom(name, ranges) {
    const figure = figures.get(name);
    figure.ranges = ranges;
    if (figure.drawn) draw(figure);
  }

  function onPoint(listener) {
    for (const figure of figures.values()) {
      const onClick = (event) => { if (event.points[0]?.customdata !== undefined) listener(event.points[0].customdata); };
      figure.listeners.push(onClick);
    }
  }

  initFigures();
  initTheme();
  initPrint();
  return { memory, unpack, unpackText, json, overlay, zoom, onPoint, start, pending };
})();
