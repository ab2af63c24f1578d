"use strict";
// A map of papers: points by WebGL, names on a canvas above them. Everything is in this file.
const get = id => document.getElementById(id), make = (tag, text = "", css = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (css) node.className = css;
  return node;
};
const DIM = 0, SHOWN = 1, HIT = 2, PALETTE = ["#4269d0", "#e8912d", "#e4573d", "#2fa39a", "#3ca951", "#d9568f", "#8f5bd6",
  "#6f9de8", "#a0714f", "#b8a21a", "#2d86b8", "#86a33b"];
const dark = matchMedia("(prefers-color-scheme: dark)"), points = get("points"), names = get("names");
const pen = names.getContext("2d"), number = value => value.toLocaleString("en");
let data, view, size = { w: 1, h: 1, dpr: 1 }, ink = {}, colours, state, gl, chosen = -1, hovered = -1, boxes = [], ends = [0, 0];
const filter = { words: [], venue: -1, field: -1, from: -Infinity, to: Infinity, only: null, by: "", area: null };

// ---- Reading: base64 of gzip; numbers are JSON, texts are columns of lines.
async function unpack(id) {
  const node = get(id), bytes = Uint8Array.from(atob(node.textContent), letter => letter.charCodeAt(0));
  node.remove();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
async function read() {
  data = JSON.parse(await unpack("numbers"));
  const columns = (await unpack("texts")).split("\0");
  ["titles", "authors", "links", "abstracts"].forEach((name, i) => data[name] = columns[i].split("\n"));
  const span = places => { let low = 65535, high = 0; for (const value of places) { low = Math.min(low, value); high = Math.max(high, value); } return Math.max(1000, high - low); };
  data.span = [span(data.x), span(data.y)];
}

// ---- Colours
const hex = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
function hue(i) {
  if (i < PALETTE.length) return hex(PALETTE[i]);
  const h = i * 137.508 % 360, l = (dark.matches ? .6 : .46) + (i % 3 - 1) * .06, a = .55 * Math.min(l, 1 - l);
  return [0, 8, 4].map(n => { const k = (n + h / 30) % 12; return 255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))); });
}
const stops = () => (dark.matches ? ["#5b62b8", "#2a8f9e", "#35b779", "#a5db36", "#fde725"] : ["#440154", "#414487", "#2a788e", "#22a884", "#8bc34a"]).map(hex);
function ramp(share) {
  const all = stops(), at = Math.max(0, Math.min(1, share)) * (all.length - 1), i = Math.min(Math.floor(at), all.length - 2);
  return all[i].map((value, c) => value + (all[i + 1][c] - value) * (at - i));
}
const css = rgb => `rgb(${rgb.map(Math.round).join(",")})`;
function lists() { // what a paper can be coloured by: its name, codes, the names of the codes
  const found = {};
  data.codes.forEach((codes, i) => found["topic" + i] = { name: data.codes.length > 1 ? `topic, ${["broad", "finer", "fine", "finest"][i]} (${data.levels[i].length})` : "topic", codes, names: data.levels[i].map(topic => topic.name) });
  if (data.years) found.year = { name: "year", codes: data.year };
  if (data.fields.length > 1) found.field = { name: "field", codes: data.field, names: data.fields };
  if (data.venues.length > 1) found.venue = { name: "venue", codes: data.venue, names: data.venues };
  return found;
}
function recolour() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "line", "ground", "accent"]) ink[name] = style.getPropertyValue("--" + name).trim();
  ink.none = dark.matches ? [92, 92, 92] : [186, 186, 186];
  const by = lists()[filter.by];
  for (let i = 0; i < data.papers; i++) {
    let rgb = ink.none;
    if (filter.by === "year") { if (data.year[i] > -9999) rgb = ramp((data.year[i] - ends[0]) / Math.max(1, ends[1] - ends[0])); }
    else if (!by) rgb = hex(ink.accent);
    else if (by.codes[i] < 65535) rgb = by.cache?.[by.codes[i]] ?? ((by.cache ??= [])[by.codes[i]] = hue(by.codes[i]));
    colours.set(rgb, i * 4);
    colours[i * 4 + 3] = 255;
  }
  legend(by);
  upload();
}
function legend(by) {
  const box = get("legend");
  box.replaceChildren();
  if (filter.by === "year") {
    const bar = make("div", "", "ramp"), row = make("div", "", "ends");
    bar.style.background = `linear-gradient(90deg, ${stops().map(css).join(",")})`;
    row.append(make("span", ends[0]), make("span", ends[1]));
    box.append(bar, row);
  } else if (by) {
    const counts = new Uint32Array(by.names.length), list = make("ul");
    for (const code of by.codes) if (code < 65535) counts[code]++;
    const order = [...counts.keys()].sort((a, b) => counts[b] - counts[a]).slice(0, 200);
    for (const code of order) {
      const button = make("button"), dot = make("i"), item = make("li");
      dot.style.background = css(hue(code));
      button.append(dot, make("span", by.names[code]), make("span", number(counts[code]), "number"));
      button.setAttribute("aria-pressed", filter.only === null || filter.only === code);
      button.onclick = () => { filter.only = filter.only === code ? null : code; select(); legend(by); };
      item.append(button);
      list.append(item);
    }
    box.append(list);
  }
}

// ---- What is shown: filters make the others dim, the search marks its hits.
function select() {
  const by = lists()[filter.by], { words, area } = filter, searched = words.length > 0 || !!area;
  let shown = 0, hits = [];
  for (let i = 0; i < data.papers; i++) {
    const year = data.year[i], fits = (filter.venue < 0 || data.venue[i] === filter.venue) && (filter.field < 0 || data.field[i] === filter.field) &&
      (filter.from === -Infinity && filter.to === Infinity || year >= filter.from && year <= filter.to) && (filter.only === null || by?.codes[i] === filter.only) &&
      (!area || inside(area, data.x[i], data.y[i]));
    let hit = fits && searched;
    if (hit && words.length) {
      const text = (data.folded ??= data.titles.map((title, n) => fold(title + " " + data.authors[n])))[i];
      hit = words.every(word => text.includes(word));
    }
    if (hit) hits.push(i);
    state[i] = hit ? HIT : fits && !searched ? SHOWN : DIM;
    shown += fits;
  }
  const filtered = shown < data.papers && words.length ? ` of ${number(shown)} shown` : "";
  get("said").textContent = searched ? `${number(hits.length)} ${hits.length === 1 ? "paper" : "papers"}${filtered}` : shown < data.papers ? `${number(shown)} of ${number(data.papers)} papers shown` : "";
  get("hits").replaceChildren(...hits.slice(0, area ? 500 : 50).map(i => { const item = make("li"); item.append(link(i)); return item; }));
  upload();
  remember();
}
function inside(area, x, y) { // whether a ray from the point crosses the outline an odd number of times
  let odd = false;
  for (let i = 0, last = area.length - 1; i < area.length; last = i++) {
    const [ax, ay] = area[i], [bx, by] = area[last];
    if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
const fold = text => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const covered = () => size.w < 700 ? size.h / 4 : 0; // pixels: the card is over the lower half of a narrow map
function link(i) {
  const button = make("button", data.titles[i] || "(no title)");
  button.onclick = () => { const k = Math.max(view.k, start().k * 8); fly(data.x[i], data.y[i] + covered() / k, k); open(i); };
  return button;
}

// ---- Drawing. view: the point in the middle, and pixels per unit of the map, which is 0 to 65535.
const start = () => ({ x: 32767.5, y: 32767.5, k: .92 * Math.min(size.w / data.span[0], size.h / data.span[1]) });
const radius = () => Math.max(.75, Math.min(3, .22 * Math.sqrt(size.w * size.h / data.papers))) * Math.min(3, (view.k / start().k) ** .4);
const across = x => (x - view.x) * view.k + size.w / 2, down = y => (y - view.y) * view.k + size.h / 2;
function prepare() {
  gl = points.getContext("webgl", { antialias: false, alpha: true, premultipliedAlpha: true });
  if (!gl) return;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, `attribute vec2 place; attribute vec4 colour; attribute float state;
      uniform vec2 middle, scale; uniform float size, only, alpha; uniform vec4 other; varying vec4 tint;
      void main() { gl_Position = abs(state - only) > .5 ? vec4(2., 2., 2., 1.) : vec4((place - middle) * scale, 0., 1.);
        gl_PointSize = size; tint = mix(vec4(colour.rgb, alpha), other, other.a > 0. ? 1. : 0.); }`],
  [gl.FRAGMENT_SHADER, `precision mediump float; varying vec4 tint; uniform float size2;
      void main() { float far = length(gl_PointCoord - .5) * 2.; float a = tint.a * smoothstep(1., 1. - 2. / size2, far);
        if (a <= 0.) discard; gl_FragColor = vec4(tint.rgb * a, a); }`]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.at = name => gl.getUniformLocation(program, name);
  const places = new Uint16Array(data.papers * 2);
  for (let i = 0; i < data.papers; i++) { places[2 * i] = data.x[i]; places[2 * i + 1] = data.y[i]; }
  gl.fill = {};
  for (const [name, width, kind, normal, content] of [["place", 2, gl.UNSIGNED_SHORT, false, places], ["colour", 4, gl.UNSIGNED_BYTE, true, null], ["state", 1, gl.UNSIGNED_BYTE, false, null]]) {
    const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
    gl.fill[name] = content => { gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, content, gl.STATIC_DRAW); };
    gl.fill[name](content ?? new Uint8Array(data.papers * width));
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, width, kind, normal, 0, 0);
  }
  points.addEventListener("webglcontextlost", event => event.preventDefault());
  points.addEventListener("webglcontextrestored", () => { prepare(); upload(); });
}
function upload() {
  if (gl) { gl.fill.colour(colours); gl.fill.state(state); }
  draw();
}
const passes = () => { // state, radius, alpha, another colour
  const r = radius(), many = Math.min(1, Math.max(.35, 30000 / data.papers)), busy = filter.words.length > 0 || !!filter.area;
  return [[DIM, r * .8, dark.matches ? .22 : .2, ink.none], [SHOWN, r, .5 + .4 * many, null], [HIT, busy ? Math.max(2.5, r * 1.5) : r, 1, null]];
};
let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; paint(); });
}
function paint() {
  const { w, h, dpr } = size;
  if (gl) {
    gl.viewport(0, 0, points.width, points.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(gl.at("middle"), view.x, view.y);
    gl.uniform2f(gl.at("scale"), 2 * view.k / w, -2 * view.k / h);
    for (const [which, r, alpha, other] of passes()) {
      gl.uniform1f(gl.at("only"), which);
      gl.uniform1f(gl.at("size"), 2 * r * dpr + 1);
      gl.uniform1f(gl.at("size2"), 2 * r * dpr + 1);
      gl.uniform1f(gl.at("alpha"), alpha);
      gl.uniform4fv(gl.at("other"), other ? [...other.map(value => value / 255), alpha] : [0, 0, 0, 0]);
      gl.drawArrays(gl.POINTS, 0, data.papers);
    }
  } else {
    const flat = points.getContext("2d");
    flat.setTransform(dpr, 0, 0, dpr, 0, 0);
    flat.clearRect(0, 0, w, h);
    dots(onto(flat));
  }
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.clearRect(0, 0, w, h);
  marks();
  boxes = labels(onto(pen));
}
// A picture gets points of one colour, and texts: a canvas, or lines of SVG.
const onto = context => ({
  spots(list, r, colour, alpha) {
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < list.length; i += 2) { context.moveTo(list[i] + r, list[i + 1]); context.arc(list[i], list[i + 1], r, 0, 7); }
    context.fill();
    context.globalAlpha = 1;
  },
  text(line, x, y, font) {
    Object.assign(context, { font: `${font.weight} ${font.px}px system-ui, sans-serif`, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4, strokeStyle: ink.ground, fillStyle: ink.ink });
    context.strokeText(line, x, y);
    context.fillText(line, x, y);
  },
});
const escaped = text => text.replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`);
const written = lines => ({
  spots(list, r, colour, alpha) {
    let path = "";
    for (let i = 0; i < list.length; i += 2) path += `M${list[i].toFixed(1)} ${list[i + 1].toFixed(1)}h0`;
    lines.push(`<path d="${path}" stroke="${colour}" stroke-width="${(2 * r).toFixed(2)}" stroke-opacity="${alpha.toFixed(2)}" stroke-linecap="round" fill="none"/>`);
  },
  text(line, x, y, font) {
    lines.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${font.px}" font-weight="${font.weight}" fill="${ink.ink}" stroke="${ink.ground}" stroke-width="4" stroke-linejoin="round" paint-order="stroke" text-anchor="middle" dominant-baseline="central">${escaped(line)}</text>`);
  },
});
function dots(picture) {
  for (const [which, r, alpha, other] of passes()) {
    const groups = new Map();
    for (let i = 0; i < data.papers; i++) {
      if (state[i] !== which) continue;
      const x = across(data.x[i]), y = down(data.y[i]);
      if (x < -r || y < -r || x > size.w + r || y > size.h + r) continue;
      const colour = css(other ?? [...colours.subarray(i * 4, i * 4 + 3)]);
      if (!groups.has(colour)) groups.set(colour, []);
      groups.get(colour).push(x, y);
    }
    for (const [colour, list] of groups) picture.spots(list, r, colour, alpha);
  }
}
function marks() { // the selected area, rings around the paper under the pointer and the open one, and lines to the papers near it
  if (filter.area) {
    pen.beginPath();
    for (const [x, y] of filter.area) pen.lineTo(across(x), down(y));
    pen.closePath();
    Object.assign(pen, { strokeStyle: ink.accent, fillStyle: ink.accent, lineWidth: 1.5, globalAlpha: .08 }).fill();
    pen.globalAlpha = 1;
    pen.stroke();
  }
  if (chosen >= 0) {
    pen.strokeStyle = ink.accent;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (const other of near(chosen)) { pen.moveTo(across(data.x[chosen]), down(data.y[chosen])); pen.lineTo(across(data.x[other]), down(data.y[other])); }
    pen.stroke();
  }
  for (const [i, colour] of [[hovered, ink.ink], [chosen, ink.accent]]) {
    if (i < 0) continue;
    pen.beginPath();
    pen.arc(across(data.x[i]), down(data.y[i]), radius() + 4, 0, 7);
    Object.assign(pen, { strokeStyle: ink.ground, lineWidth: 4 }).stroke();
    Object.assign(pen, { strokeStyle: colour, lineWidth: 2 }).stroke();
  }
}
// Names: the broad ones first, each where no other one is; finer ones where their topic is large enough to carry them.
const widths = new Map();
function labels(picture) {
  const FONTS = [[15, 600], [13, 500], [12, 400], [12, 400]].map(([px, weight]) => ({ px: size.w < 500 ? px - 2 : px, weight })), placed = [], most = Math.max(8, size.w * size.h / 12000);
  for (const [level, topics] of data.levels.entries()) {
    const font = FONTS[level];
    for (const [code, topic] of topics.entries()) {
      let x = across(topic.x), y = down(topic.y);
      const wide = topic.radius * view.k;
      if (placed.length >= most || x < 0 || y < 0 || x > size.w || y > size.h || wide < [0, 16, 20, 24][level] || wide > .6 * Math.min(size.w, size.h)) continue;
      const lines = wrap(topic.name);
      const key = font.px + topic.name + level;
      if (!widths.has(key)) { pen.font = `${font.weight} ${font.px}px system-ui, sans-serif`; widths.set(key, Math.max(...lines.map(line => pen.measureText(line).width))); }
      const half = widths.get(key) / 2 + 5, tall = lines.length * font.px * .6 + 4;
      x = Math.max(half, Math.min(size.w - half, x)); // whole at the rim too
      y = Math.max(tall, Math.min(size.h - tall, y));
      const box = [x - half, y - tall, x + half, y + tall, level, code];
      if (placed.some(other => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      placed.push(box);
    }
  }
  for (const [left, top, right, bottom, level, code] of placed) {
    const lines = wrap(data.levels[level][code].name), font = FONTS[level];
    lines.forEach((line, n) => picture.text(line, (left + right) / 2, (top + bottom) / 2 + (n - (lines.length - 1) / 2) * font.px * 1.2, font));
  }
  return placed;
}
function wrap(name) {
  const lines = [];
  for (const word of name.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 22 && !last.endsWith(",")) lines[lines.length - 1] += " " + word; else lines.push(word);
  }
  return lines;
}

// ---- Finding the paper at a place: a grid of cells.
const CELLS = 256;
function index() {
  const cell = i => (data.y[i] >> 8) * CELLS + (data.x[i] >> 8), starts = new Uint32Array(CELLS * CELLS + 1);
  for (let i = 0; i < data.papers; i++) starts[cell(i) + 1]++;
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const next = starts.slice(), order = new Uint32Array(data.papers);
  for (let i = 0; i < data.papers; i++) order[next[cell(i)]++] = i;
  data.grid = { starts, order };
}
function at(px, py, reach) {
  const x = (px - size.w / 2) / view.k + view.x, y = (py - size.h / 2) / view.k + view.y, far = reach / view.k;
  let best = -1, least = far * far;
  const limit = value => Math.max(0, Math.min(CELLS - 1, value >> 8));
  for (let row = limit(y - far); row <= limit(y + far); row++) {
    const { starts, order } = data.grid;
    for (let n = starts[row * CELLS + limit(x - far)]; n < starts[row * CELLS + limit(x + far) + 1]; n++) {
      const i = order[n], apart = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
      if (apart < least && state[i] !== DIM) { best = i; least = apart; }
    }
  }
  return best;
}
const near = i => data.near[i].filter(other => other >= 0);
const source = i => [data.venue[i] < 65535 && data.venues[data.venue[i]], data.year[i] > -9999 && data.year[i]].filter(Boolean).join(", ");

function hover(px, py) {
  const i = at(px, py, 10), tip = get("tip");
  if (i !== hovered) { hovered = i; draw(); }
  names.classList.toggle("over", i >= 0 || !!named(px, py));
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(make("b", data.titles[i] || "(no title)"), make("div", data.authors[i]), make("div", source(i), "soft"));
  tip.style.left = Math.max(4, Math.min(px + 14, size.w - tip.offsetWidth - 4)) + "px";
  tip.style.top = (py + 18 + tip.offsetHeight > size.h ? Math.max(4, py - tip.offsetHeight - 12) : py + 18) + "px";
}
const named = (px, py) => boxes.find(box => px >= box[0] && px <= box[2] && py >= box[1] && py <= box[3]);
function open(i) {
  chosen = i;
  const card = get("card"), close = make("button", "×", "close"), title = make("h2");
  close.setAttribute("aria-label", "Close");
  close.onclick = shut;
  const outside = /^https?:\/\//.test(data.links[i]);
  if (outside || data.links[i].startsWith("/")) { // a page of the service that shows this map
    const anchor = make("a", data.titles[i] || "(no title)");
    Object.assign(anchor, { href: data.links[i] }, outside && { target: "_blank", rel: "noopener noreferrer" });
    title.append(anchor);
  } else title.textContent = data.titles[i] || "(no title)";
  const topics = data.codes.flatMap((codes, level) => codes[i] < 65535 ? [data.levels[level][codes[i]].name] : []);
  const parts = [close, title, make("div", data.authors[i]), make("div", source(i), "soft")];
  if (data.fields.length && data.field[i] < 65535) parts.push(make("div", data.fields[data.field[i]], "soft"));
  if (data.abstracts[i]) parts.push(make("p", data.abstracts[i]));
  if (outside) { const line = make("div"), anchor = title.firstElementChild.cloneNode(); anchor.textContent = data.links[i].replace(/^https?:\/\/(doi.org\/)?/, ""); line.append(anchor); parts.push(line); }
  if (topics.length) parts.push(make("h3", "Topics"), make("div", [...new Set(topics)].join(" › ")));
  const others = near(i);
  if (others.length) {
    const list = make("ol", "", "near");
    list.append(...others.map(other => { const item = make("li"); item.append(link(other)); return item; }));
    parts.push(make("h3", "Nearest papers"), list);
  }
  card.replaceChildren(...parts);
  card.hidden = false;
  card.scrollTop = 0;
  draw();
  remember();
}
function shut() { chosen = -1; get("card").hidden = true; draw(); remember(); names.focus({ preventScroll: true }); }

// ---- Moving
const limits = () => { const base = start().k; view.k = Math.max(base * .6, Math.min(base * 200, view.k)); view.x = Math.max(0, Math.min(65535, view.x)); view.y = Math.max(0, Math.min(65535, view.y)); };
function zoom(factor, px = size.w / 2, py = size.h / 2) {
  const x = (px - size.w / 2) / view.k + view.x, y = (py - size.h / 2) / view.k + view.y;
  view.k *= factor;
  limits();
  view.x = x - (px - size.w / 2) / view.k;
  view.y = y - (py - size.h / 2) / view.k;
  limits();
  draw();
  remember();
}
function move(dx, dy) { view.x -= dx / view.k; view.y -= dy / view.k; limits(); draw(); remember(); }
function fly(x, y, k) {
  const from = { ...view }, began = performance.now(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const step = now => {
    const share = still ? 1 : Math.min(1, (now - began) / 450), t = share * share * (3 - 2 * share);
    view = { x: from.x + (x - from.x) * t, y: from.y + (y - from.y) * t, k: from.k * (k / from.k) ** t };
    draw();
    if (share < 1) requestAnimationFrame(step); else { limits(); remember(); }
  };
  step(began);
}
function visit([, , , , level, code]) {
  const topic = data.levels[level][code];
  fly(topic.x, topic.y, Math.min(start().k * 200, Math.max(view.k * 1.5, .22 * Math.min(size.w, size.h) / Math.max(topic.radius, 60))));
}
function listen() {
  const fingers = new Map();
  let moved = 0, spread = 0, drawn = null;
  const place = event => { const box = names.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  names.onpointerdown = event => { names.setPointerCapture(event.pointerId); fingers.set(event.pointerId, place(event)); moved = spread = 0; if (lassoing() || event.shiftKey) drawn = []; };
  names.onpointermove = event => {
    const [px, py] = place(event), last = fingers.get(event.pointerId);
    if (!last) { if (event.pointerType === "mouse") hover(px, py); return; }
    fingers.set(event.pointerId, [px, py]);
    const all = [...fingers.values()];
    moved += Math.hypot(px - last[0], py - last[1]);
    if (drawn) {
      drawn.push([(px - size.w / 2) / view.k + view.x, (py - size.h / 2) / view.k + view.y].map(Math.round));
      filter.area = drawn;
      return draw();
    }
    if (all.length === 2) {
      const wide = Math.hypot(all[0][0] - all[1][0], all[0][1] - all[1][1]);
      if (spread) zoom(wide / spread, (all[0][0] + all[1][0]) / 2, (all[0][1] + all[1][1]) / 2);
      spread = wide;
    }
    move((px - last[0]) / all.length, (py - last[1]) / all.length);
    get("tip").hidden = true;
  };
  names.onpointerup = names.onpointercancel = event => {
    const still = fingers.delete(event.pointerId) && moved < 6 && event.type === "pointerup", [px, py] = place(event);
    spread = 0;
    if (drawn) {
      const step = Math.ceil(drawn.length / 60), area = drawn.filter((_, n) => n % step === 0); // its address stays short
      drawn = null;
      get("lasso").setAttribute("aria-pressed", false);
      if (moved > 6) { filter.area = area.length > 2 ? area : null; return select(); }
    }
    if (!still) return;
    const i = at(px, py, event.pointerType === "mouse" ? 10 : 20), name = named(px, py);
    if (i >= 0 && (!name || at(px, py, 4) >= 0)) open(i); else if (name) visit(name); else if (chosen >= 0) shut();
  };
  names.onpointerleave = () => { hovered = -1; get("tip").hidden = true; draw(); };
  names.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), ...place(event)); }, { passive: false });
  names.ondblclick = event => zoom(2, ...place(event));
  names.onkeydown = event => {
    const keys = { ArrowLeft: () => move(80, 0), ArrowRight: () => move(-80, 0), ArrowUp: () => move(0, 80), ArrowDown: () => move(0, -80),
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": () => fly(...Object.values(start())), Home: () => fly(...Object.values(start())),
      Enter: () => { const i = at(size.w / 2, size.h / 2, Math.max(size.w, size.h)); if (i >= 0) open(i); } };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  document.onkeydown = event => {
    if (event.key === "Escape" && !get("card").hidden) shut();
    if (event.key === "/" && !/INPUT|SELECT/.test(event.target.tagName)) { event.preventDefault(); get("search").focus(); }
  };
}

// ---- Controls
const lassoing = () => get("lasso").getAttribute("aria-pressed") === "true";
function controls() {
  const all = lists(), colour = get("colour"), later = call => { let timer; return () => { clearTimeout(timer); timer = setTimeout(call, 120); }; };
  for (const [key, { name }] of Object.entries(all)) colour.append(new Option(name, key));
  colour.parentNode.hidden = !colour.options.length;
  colour.onchange = () => { filter.by = colour.value; filter.only = null; recolour(); select(); };
  get("search").oninput = later(() => { filter.words = fold(get("search").value).split(/\s+/).filter(Boolean); select(); });
  for (const [name, plural] of [["venue", "venues"], ["field", "fields"]]) {
    const box = get(name);
    get(plural).hidden = data[plural].length < 2;
    box.append(new Option("all", -1), ...data[plural].slice(0, 2000).map((text, i) => new Option(text, i)));
    box.onchange = () => { filter[name] = +box.value; select(); };
  }
  get("years").hidden = !data.years;
  if (data.years) for (const [id, other] of [["from", -Infinity], ["to", Infinity]]) {
    Object.assign(get(id), { min: data.years[0], max: data.years[1], placeholder: data.years[+(id === "to")] });
    get(id).oninput = later(() => { filter[id] = get(id).value === "" ? other : +get(id).value; select(); histogram(); });
  }
  get("clear").onclick = () => {
    for (const id of ["search", "from", "to"]) get(id).value = "";
    for (const id of ["venue", "field"]) get(id).value = -1;
    Object.assign(filter, { words: [], venue: -1, field: -1, from: -Infinity, to: Infinity, only: null, area: null });
    legend(lists()[filter.by]);
    select();
    histogram();
  };
  get("lasso").onclick = () => { if (chosen >= 0) shut(); get("lasso").setAttribute("aria-pressed", !lassoing()); };
  get("fit").onclick = () => fly(...Object.values(start()));
  get("more").onclick = () => { const open = get("options").classList.toggle("open"); get("more").setAttribute("aria-expanded", open); histogram(); resize(); };
  get("png").onclick = () => picture("png");
  get("svg").onclick = () => picture("svg");
  get("csv").onclick = () => {
    const cell = text => /^[=+\-@\t]/.test(text) ? `"'${text.replace(/"/g, '""')}"` : `"${String(text).replace(/"/g, '""')}"`, rows = ["title,authors,venue,year,link,topic"];
    for (let i = 0; i < data.papers; i++) if (state[i] !== DIM) {
      const code = data.codes.length ? data.codes.at(-1)[i] : 65535;
      rows.push([data.titles[i], data.authors[i], data.venues[data.venue[i]] ?? "", data.year[i] > -9999 ? String(data.year[i]) : "", data.links[i], code < 65535 ? data.levels.at(-1)[code].name : ""].map(cell).join(","));
    }
    save(new Blob(["\ufeff", rows.join("\r\n"), "\r\n"], { type: "text/csv" }), "csv");
  };
}
function histogram() {
  const bars = get("bars"), wide = bars.clientWidth;
  if (!data.years || !wide) return;
  const count = Math.max(1, Math.min(ends[1] - ends[0] + 1, Math.floor(wide / 3))), heights = new Uint32Array(count), box = bars.getContext("2d");
  const bin = year => Math.floor((year - ends[0]) / (ends[1] - ends[0] + 1) * count);
  for (const year of data.year) if (year >= ends[0] && year <= ends[1]) heights[bin(year)]++;
  bars.width = wide * size.dpr;
  bars.height = 36 * size.dpr;
  box.setTransform(size.dpr, 0, 0, size.dpr, 0, 0);
  const most = Math.max(...heights, 1), step = wide / count;
  heights.forEach((value, n) => {
    const year = ends[0] + n * (ends[1] - ends[0] + 1) / count;
    box.fillStyle = year >= Math.floor(filter.from) && year <= filter.to ? ink.accent : ink.line;
    box.fillRect(n * step, 36 - 34 * value / most, Math.max(1, step - 1), 34 * value / most);
  });
}
function save(blob, suffix) {
  const anchor = make("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = `${document.title.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.${suffix}`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
}
function picture(kind) {
  const { w, h } = size;
  if (kind === "svg") {
    const lines = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" font-family="system-ui, sans-serif"><title>${escaped(document.title)}</title><rect width="100%" height="100%" fill="${ink.ground}"/>`];
    dots(written(lines));
    labels(written(lines));
    return save(new Blob([lines.join("\n"), "</svg>"], { type: "image/svg+xml" }), kind);
  }
  const canvas = Object.assign(make("canvas"), { width: w * 2, height: h * 2 }), flat = canvas.getContext("2d");
  flat.scale(2, 2);
  flat.fillStyle = ink.ground;
  flat.fillRect(0, 0, w, h);
  dots(onto(flat));
  labels(onto(flat));
  canvas.toBlob(blob => save(blob, kind), "image/png");
}

// ---- The address holds what is seen, so that it can be sent on.
let timer;
function remember() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const facts = { x: Math.round(view.x), y: Math.round(view.y), z: (view.k / start().k).toFixed(2), by: filter.by };
    if (filter.words.length) facts.q = filter.words.join(" ");
    for (const name of ["venue", "field"]) if (filter[name] >= 0) facts[name] = data[name + "s"][filter[name]];
    for (const name of ["from", "to"]) if (Number.isFinite(filter[name])) facts[name] = filter[name];
    if (filter.area) facts.area = filter.area.join("_");
    if (chosen >= 0) facts.paper = data.links[chosen] || chosen;
    history.replaceState(null, "", "#" + new URLSearchParams(facts));
  }, 300);
}
function recall() {
  const facts = new URLSearchParams(location.hash.slice(1)), known = lists();
  filter.by = facts.get("by") in known ? facts.get("by") : Object.keys(known)[0] ?? "";
  get("colour").value = filter.by;
  if (+facts.get("z") > 0) { view = { x: +facts.get("x"), y: +facts.get("y"), k: start().k * facts.get("z") }; limits(); }
  if (facts.get("q")) { get("search").value = facts.get("q"); filter.words = fold(facts.get("q")).split(/\s+/).filter(Boolean); }
  for (const name of ["venue", "field"]) if (facts.get(name)) { filter[name] = data[name + "s"].indexOf(facts.get(name)); get(name).value = filter[name]; }
  for (const name of ["from", "to"]) if (facts.get(name)) { filter[name] = +facts.get(name); get(name).value = filter[name]; }
  if (facts.get("area")) filter.area = facts.get("area").split("_").map(place => place.split(",").map(Number));
  if (facts.get("paper") === null) return -1;
  const linked = data.links.indexOf(facts.get("paper")), paper = linked < 0 ? +facts.get("paper") : linked;
  if (linked >= 0 && facts.get("z") === null) view = { x: data.x[linked], y: data.y[linked] + covered() / (start().k * 8), k: start().k * 8 };
  return paper;
}
function measure() {
  const box = get("map").getBoundingClientRect();
  size = { w: Math.max(1, box.width), h: Math.max(1, box.height), dpr: Math.min(3, devicePixelRatio || 1) };
  for (const canvas of [points, names]) { canvas.width = Math.round(size.w * size.dpr); canvas.height = Math.round(size.h * size.dpr); }
}
function resize() {
  const zoomed = view.k / start().k;
  measure();
  view.k = start().k * zoomed;
  paint();
}

async function begin() {
  await read();
  colours = new Uint8Array(data.papers * 4);
  state = new Uint8Array(data.papers).fill(SHOWN);
  if (data.years) { const sorted = data.year.filter(year => year > -9999).sort(); ends = [sorted[Math.floor(sorted.length * .01)], data.years[1]]; }
  measure();
  view = start();
  index();
  prepare();
  controls();
  const paper = recall();
  recolour();
  select();
  histogram();
  listen();
  get("wait").hidden = true;
  if (paper >= 0 && paper < data.papers) open(paper);
  dark.onchange = () => { recolour(); histogram(); };
  new ResizeObserver(resize).observe(get("map"));
  document.documentElement.dataset.ready = "true";
}
begin().catch(error => { get("wait").textContent = `This map cannot be shown: ${error.message}`; throw error; });
