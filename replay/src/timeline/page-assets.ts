/** The style and the script of a timeline page. */

/** How a timeline page looks, light and dark. What is drawn stands out from what is behind it by 3:1, text by 4.5:1. */
export const pageStyle: string = `
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --dim: #59636e; --line: #d1d9e0; --edge: #818b98; --band: #f6f8fa;
  --new: #0969da; --silent: #1b7c83; --backfill: #656d76; --read: #1a7f37; --removed: #bf3989; --alert: #cf222e;
  --event: #8250df; --other: #9a6700; --outage: #d1242f; --down: #bc4c00; --run: #1f883d; --asleep: #5a32a3; --gap: #1b1f24; --none: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --bg: #0d1117; --fg: #e6edf3; --dim: #9198a1; --line: #3d444d; --edge: #656c76; --band: #151b23;
  --new: #4493f8; --silent: #39c5cf; --backfill: #9198a1; --read: #3fb950; --removed: #f778ba; --alert: #f85149;
  --event: #a371f7; --other: #d29922; --outage: #f85149; --down: #db6d28; --run: #2ea043; --asleep: #b392f0; --gap: #e6edf3; --none: #8b949e } }
* { box-sizing: border-box }
body { margin: 0; padding: 1rem 1.5rem 3rem; background: var(--bg); color: var(--fg); font: 14px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem }
p, ul { margin: .25rem 0; overflow-wrap: anywhere } ul { padding-left: 1.2rem } .dim { color: var(--dim) }
canvas { display: block; width: 100%; border: 1px solid var(--line); cursor: grab }
canvas:focus-visible, button:focus-visible, input:focus-visible, .scroll:focus-visible { outline: 2px solid var(--new); outline-offset: 2px }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0 } .bar.keys { gap: .2rem 1rem }
.bar.keys label, .bar.keys span { display: inline-flex; align-items: center; gap: .35rem; white-space: nowrap }
button, input { font: inherit; color: inherit; background: var(--band); border: 1px solid var(--edge); border-radius: 4px; padding: .2rem .6rem }
button:disabled { color: var(--dim); border-color: var(--line) } input[type=checkbox] { margin: 0; accent-color: var(--new) } input[type=search] { max-width: 100% }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap }
th { position: sticky; top: 0; background: var(--bg); vertical-align: bottom } td.n, th.n { text-align: right } th.n { white-space: normal }
td.w { white-space: normal; overflow-wrap: anywhere; min-width: 9rem } td.w:last-child { min-width: 16rem } td.bar-cell { width: 100% }
.scroll { max-height: 24rem; overflow: auto }
#tip { min-height: 2.4em; padding: .4rem .6rem; background: var(--band); border: 1px solid var(--line); overflow-wrap: anywhere; white-space: pre-wrap }
#tip:empty { display: none }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px }
.k-new { background: var(--new) } .k-silent { background: var(--silent) } .k-backfill { background: var(--backfill) } .k-read { background: var(--read) } .k-removed { background: var(--removed) } .k-alert { background: var(--alert) } .k-event { background: var(--event) } .k-other { background: var(--other) }
.s { width: 1.4em; border: 1px solid } .s-alert { color: var(--alert); height: 3px; background: currentColor } .s-outage { color: var(--outage) } .s-down { color: var(--down) } .s-run { color: var(--run) } .s-suspended { color: var(--asleep) } .s-no_producer { color: var(--none) } .s-gap { color: var(--gap); background: currentColor }
.s-outage, .s-down, .s-run, .s-suspended, .s-no_producer { background: color-mix(in srgb, currentColor 28%, transparent) }
meter { display: block; width: 100%; height: 1.2em }
`

/**
 * What a timeline page does. It is text, for it runs in the reader's browser: it gets the data from the page, makes
 * every word of it a text node, and loads nothing. It declares nothing outside of a function: there, a name such as
 * `top` is the browser's, and the whole script would be refused.
 */
export const pageScript: string = `
(() => {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const cv = $('picture'), cx = cv.getContext('2d'), tip = $('tip');
const M = D.marks || { t: [], lane: [], kind: [], seq: [], label: [] }, B = D.bins, S = D.spans;
const LANE = 22, TOP = 22, LANES_MAX = 24, EMPTY = D.from_ms === null;
let LEFT = 140;
const from = D.from_ms === null ? 0 : D.from_ms, to = D.to_ms === null ? 1 : D.to_ms;
const pad = Math.max(1000, (to - from) * 0.01);
const full = { a: from - pad, b: to + pad };
let v = { ...full }, top = 0, W = 0, H = 0, hit = -1, colours = {}, shown = new Set(D.kinds);
const iso = t => { const d = new Date(t); return isNaN(d) ? '' : d.toISOString().replace('.000Z', 'Z') };
const lasting = ms => { const a = Math.abs(ms); return a < 1000 ? Math.round(ms) + ' ms' : a < 60000 ? (ms / 1000).toFixed(1) + ' s' : a < 3600000 ? (ms / 60000).toFixed(1) + ' min' : a < 172800000 ? (ms / 3600000).toFixed(1) + ' h' : (ms / 86400000).toFixed(1) + ' d' };
const first = t => { let l = 0, h = M.t.length; while (l < h) { const m = (l + h) >> 1; if (M.t[m] < t) l = m + 1; else h = m } return l };
const x = t => LEFT + (t - v.a) / (v.b - v.a) * (W - LEFT);
const y = lane => TOP + lane * LANE - top;
function style() { const s = getComputedStyle(document.documentElement); colours = {};
  for (const n of ['bg', 'fg', 'dim', 'line', 'band', 'new', 'silent', 'backfill', 'read', 'removed', 'alert', 'event', 'other', 'outage', 'down', 'run', 'asleep', 'gap', 'none']) colours[n] = s.getPropertyValue('--' + n).trim() }
// A canvas that gets another size is empty, so it is painted at once: a frame without a picture would flicker.
function size() { const r = Math.min(devicePixelRatio || 1, 2); if (W === cv.clientWidth && cv.width === (W * r | 0)) return; W = cv.clientWidth; H = TOP + Math.min(D.lanes.length, LANES_MAX) * LANE + 4; LEFT = Math.min(140, W * 0.3 | 0); names.clear(); top = Math.min(top, lowest());
  cv.style.touchAction = lowest() > 0 ? 'none' : 'pan-y';
  cv.style.height = H + 'px'; cv.width = W * r; cv.height = H * r; cx.setTransform(r, 0, 0, r, 0, 0); draw() }
const lowest = () => Math.max(0, TOP + D.lanes.length * LANE + 4 - H), names = new Map();
// A name that is too long ends in an ellipsis, not in half a letter.
function nameOf(l) { let s = names.get(l); if (s === undefined) { const all = Array.from(D.lanes[l]).slice(0, 60); let n = all.length; s = all.join('');
  while (n > 1 && cx.measureText(s).width > LEFT - 12) s = all.slice(0, --n).join('') + '\u2026'; names.set(l, s) } return s }
// What stands lower is painted first, so that its end shows below what covers it; new mail is on top of all.
const below = D.kinds.map((_, k) => k).sort((i, j) => j % 4 - i % 4 || j - i);
const tallest = B ? B.t.map((_, i) => i).sort((i, j) => B.t[i] - B.t[j] || B.lane[i] - B.lane[j] || B.n[j] - B.n[i]) : [];
let due = false;
function paint() { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw() }) } }
const STEPS = [1, 10, 100, 1000, 5000, 15000, 60000, 300000, 900000, 1800000, 3600000, 10800000, 21600000, 43200000, 86400000, 604800000, 2592000000, 31536000000];
const SPAN = { alert: 'alert', outage: 'outage', down: 'down', run: 'run', suspended: 'asleep', no_producer: 'none', gap: 'gap' }, KINDS = Object.keys(SPAN);
function draw() {
  cx.fillStyle = colours.bg; cx.fillRect(0, 0, W, H); cx.font = '12px system-ui, sans-serif'; cx.textBaseline = 'middle';
  const span = v.b - v.a, step = STEPS.find(s => span / s < (W - LEFT) / (s < 1000 || s >= 86400000 ? 110 : 80)) || STEPS[STEPS.length - 1] * 10;
  const lo = Math.max(0, Math.floor(top / LANE)), hi = Math.min(D.lanes.length, lo + Math.ceil(H / LANE) + 1);
  for (let l = lo; l < hi; l++) if (l % 2 === 0) { cx.fillStyle = colours.band; cx.fillRect(0, y(l), W, LANE) }
  cx.save(); cx.beginPath(); cx.rect(LEFT, TOP, W - LEFT, H - TOP); cx.clip();
  // Spans that are thinner than their own edges are lines, one a pixel.
  const lined = new Int32Array(D.lanes.length * KINDS.length).fill(-9);
  for (const s of S) { if (s.lane < lo || s.lane >= hi || s.from > v.b || (s.to !== null && s.to < v.a)) continue;
    const a = Math.max(x(s.from), LEFT - 2), b = Math.min(s.to === null ? W + 2 : x(s.to), W + 2), thin = s.kind === 'alert';
    const w = Math.max(b - a, 2), p = y(s.lane) + (thin ? LANE - 4 : 3), h = thin ? 3 : LANE - 6, solid = thin || s.kind === 'gap';
    if (w < 4) { const at = s.lane * KINDS.length + KINDS.indexOf(s.kind), px = a | 0; if (lined[at] === px) continue; lined[at] = px; cx.fillStyle = colours[SPAN[s.kind]]; cx.fillRect(px, p, Math.ceil(w), h); continue }
    // Sleep is part of a run: it hides what it lies on, or its colour would be none.
    if (s.kind === 'suspended') { cx.fillStyle = colours.bg; cx.fillRect(a, p, w, h) }
    cx.fillStyle = colours[SPAN[s.kind]]; cx.globalAlpha = solid ? 1 : 0.28; cx.fillRect(a, p, w, h); cx.globalAlpha = 1;
    if (!solid) { cx.fillRect(a, p, w, 1); cx.fillRect(a, p + h - 1, w, 1); cx.fillRect(a, p, 1, h); cx.fillRect(a + w - 1, p, 1, h) } }
  const K = D.kinds.length, on = D.kinds.map(k => shown.has(k)), fill = D.kinds.map(k => colours[k]);
  // Marks that touch are one rectangle, and a colour is set once: there may be a hundred thousand, in each frame.
  const begun = new Int32Array(D.lanes.length * K).fill(-9), ended = new Int32Array(D.lanes.length * K).fill(-9), runs = D.kinds.map(() => []);
  for (let i = first(v.a), n = first(v.b + 1); i < n; i++) { const l = M.lane[i], k = M.kind[i]; if (l < lo || l >= hi || !on[k]) continue;
    const px = x(M.t[i]) | 0, at = l * K + k; if (px - 1 > ended[at]) { if (ended[at] > 0) runs[k].push(l, begun[at], ended[at]); begun[at] = px - 1 } ended[at] = px + 2 }
  for (const k of below) { const r = runs[k]; for (let l = lo; l < hi; l++) if (ended[l * K + k] > 0) r.push(l, begun[l * K + k], ended[l * K + k]);
    cx.fillStyle = fill[k]; for (let i = 0; i < r.length; i += 3) cx.fillRect(r[i + 1], y(r[i]) + 4 + (k % 4) * 2, r[i + 2] - r[i + 1], LANE - 12) }
  if (B) { let most = 1; for (const n of B.n) if (n > most) most = n; const scale = (LANE - 6) / Math.log(most + 1);
    let lane = -1, bin = 0, above = 0, rank = 0; const bars = [];
    for (const i of tallest) { const l = B.lane[i], k = B.kind[i], t = B.t[i]; if (l < lo || l >= hi || !on[k] || t > v.b || t + B.width_ms < v.a) continue;
      // A kind never hides another of the same bin: each ends two pixels below the one before, and comes after it.
      if (l === lane && t === bin) rank++; else { rank = 0; above = LANE; lane = l; bin = t }
      above = Math.max(2, Math.min(above - 2, Math.log(B.n[i] + 1) * scale | 0)); const a = x(t) | 0;
      (bars[rank * K + k] ||= []).push(a, y(l) + LANE - 3 - above, Math.max(1, (x(t + B.width_ms) | 0) - a), above) }
    for (let j = 0; j < bars.length; j++) { const r = bars[j]; if (!r) continue; cx.fillStyle = fill[j % K]; for (let i = 0; i < r.length; i += 4) cx.fillRect(r[i], r[i + 1], r[i + 2], r[i + 3]) } }
  if (hit >= 0 && M.t[hit] !== undefined) { cx.strokeStyle = colours.fg; cx.lineWidth = 2; cx.strokeRect(x(M.t[hit]) - 5, y(M.lane[hit]) + 2, 10, LANE - 4) }
  cx.restore();
  cx.fillStyle = colours.bg; cx.fillRect(0, 0, W, TOP); cx.strokeStyle = colours.line; cx.lineWidth = 1; cx.fillStyle = colours.dim; cx.fillText('UTC', 6, 10);
  // The day stands at the first time of the picture, and where another one begins.
  let day = '';
  if (!EMPTY) for (let t = Math.ceil(v.a / step) * step; t < v.b; t += step) { const p = x(t) | 0; if (p < LEFT) continue; cx.beginPath(); cx.moveTo(p + 0.5, TOP - 5); cx.lineTo(p + 0.5, H); cx.globalAlpha = 0.35; cx.stroke(); cx.globalAlpha = 1;
    const d = new Date(t); const s = isNaN(d) ? '' : d.toISOString(); const isNew = day !== s.slice(5, 10); day = s.slice(5, 10); const text = step >= 86400000 ? s.slice(0, 10) : step >= 60000 ? (isNew ? day + ' ' : '') + s.slice(11, 16) : step >= 1000 ? s.slice(11, 19) : s.slice(11, 23);
    if (p + 3 + cx.measureText(text).width < W) cx.fillText(text, p + 3, 10) }
  if (EMPTY) cx.fillText('the journal has no record of that time', LEFT + 6, TOP + LANE / 2);
  cx.save(); cx.beginPath(); cx.rect(0, TOP, LEFT - 4, H - TOP); cx.clip();
  for (let l = lo; l < hi; l++) { cx.fillStyle = l % 2 === 0 ? colours.band : colours.bg; cx.fillRect(0, y(l), LEFT, LANE); cx.fillStyle = l === 0 ? colours.dim : colours.fg; cx.fillText(nameOf(l), 6, y(l) + LANE / 2) }
  cx.restore();
  const some = lowest() > 0 ? ', lanes ' + (Math.round(top / LANE) + 1) + ' to ' + Math.min(D.lanes.length, Math.round(top / LANE) + LANES_MAX) + ' of ' + D.lanes.length : '';
  $('window').textContent = EMPTY ? '' : iso(v.a) + ' to ' + iso(v.b) + ' (' + lasting(v.b - v.a) + ')' + some;
}
function zoom(f, at) { const c = at === undefined ? (v.a + v.b) / 2 : at; let a = c - (c - v.a) * f, b = c + (v.b - c) * f; if (b - a < 5) return; if (b - a > (full.b - full.a) * 4) { a = full.a; b = full.b } v = { a, b }; table(0); paint() }
function pan(ms) { v = { a: v.a + ms, b: v.b + ms }; table(0); paint() }
function scroll(px) { top = Math.max(0, Math.min(top + px, lowest())); paint() }
const time = px => v.a + (px - LEFT) / (W - LEFT) * (v.b - v.a);
cv.addEventListener('wheel', e => { e.preventDefault(); if (e.shiftKey) scroll(e.deltaY || e.deltaX); else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / (W - LEFT) * (v.b - v.a)); else zoom(e.deltaY > 0 ? 1.25 : 0.8, time(e.offsetX)) }, { passive: false });
let drag = null;
cv.addEventListener('pointerdown', e => { drag = { x: e.offsetX, y: e.offsetY, v: { ...v }, top, moved: false }; cv.setPointerCapture(e.pointerId) });
cv.addEventListener('pointermove', e => { if (!drag) { look(e.offsetX, e.offsetY); return } const dx = e.offsetX - drag.x; if (Math.abs(dx) > 3) drag.moved = true; const ms = dx / (W - LEFT) * (drag.v.b - drag.v.a); v = { a: drag.v.a - ms, b: drag.v.b - ms }; top = drag.top; scroll(drag.y - e.offsetY) });
cv.addEventListener('pointerup', e => { if (drag && !drag.moved) look(e.offsetX, e.offsetY); drag = null; table(0) });
cv.addEventListener('pointercancel', () => { drag = null });
function look(px, py) { const lane = Math.floor((py - TOP + top) / LANE); if (px < LEFT || lane < 0) return; const reach = 6 / (W - LEFT) * (v.b - v.a), t = time(px); let best = -1;
  for (let i = first(t - reach); i < M.t.length && M.t[i] <= t + reach; i++) if (M.lane[i] === lane && shown.has(D.kinds[M.kind[i]]) && (best < 0 || Math.abs(M.t[i] - t) < Math.abs(M.t[best] - t))) best = i;
  if (best >= 0) { select(best); return }
  if (B) { const i = B.t.findIndex((b, i) => B.lane[i] === lane && shown.has(D.kinds[B.kind[i]]) && b <= t && b + B.width_ms > t); if (i >= 0) { tip.textContent = iso(B.t[i]) + '  ' + D.lanes[lane] + '  ' + B.n[i] + ' ' + D.kind_words[D.kinds[B.kind[i]]] + ' in ' + lasting(B.width_ms); return } }
  const s = S.find(s => s.lane === lane && s.from <= t + reach && (s.to === null || s.to >= t - reach)); if (s) tip.textContent = spanText(s) }
function select(i) { hit = i; tip.textContent = iso(M.t[i]) + '  seq ' + M.seq[i] + '  ' + D.lanes[M.lane[i]] + '  ' + M.label[i]; paint() }
const spanText = s => D.span_words[s.kind] + '  ' + D.lanes[s.lane] + '  ' + iso(s.from) + (s.to === null ? ', still' : ' to ' + iso(s.to) + ' (' + lasting(s.to - s.from) + ')') + '  ' + s.label;
function step(d) { if (M.t.length === 0) return; let i = hit < 0 ? first(v.a) : hit + d; while (i >= 0 && i < M.t.length && !shown.has(D.kinds[M.kind[i]])) i += d; if (i < 0 || i >= M.t.length) return;
  if (M.t[i] < v.a || M.t[i] > v.b) { const w = v.b - v.a; v = { a: M.t[i] - w / 2, b: M.t[i] + w / 2 } } const yy = y(M.lane[i]); if (yy < TOP || yy > H - LANE) scroll(yy - H / 2); select(i) }
cv.addEventListener('keydown', e => { const w = v.b - v.a; const keys = { ArrowLeft: () => e.shiftKey ? step(-1) : pan(-w / 8), ArrowRight: () => e.shiftKey ? step(1) : pan(w / 8), ArrowUp: () => scroll(-LANE * 2), ArrowDown: () => scroll(LANE * 2), '+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.4), '0': () => { v = { ...full }; table(0); paint() }, Home: () => pan(full.a - v.a), End: () => pan(full.b - v.b), n: () => step(1), p: () => step(-1) };
  const act = keys[e.key]; if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); act() } });
$('in').onclick = () => zoom(0.6); $('out').onclick = () => zoom(1.6); $('all').onclick = () => { v = { ...full }; top = 0; table(0); paint() };
$('left').onclick = () => pan(-(v.b - v.a) / 4); $('right').onclick = () => pan((v.b - v.a) / 4);
for (const box of document.querySelectorAll('input[data-kind]')) box.onchange = () => { if (box.checked) shown.add(box.dataset.kind); else shown.delete(box.dataset.kind); table(0); paint() };
const ROWS = 100; let page = 0, timer = 0;
function table(p) { page = p; clearTimeout(timer); timer = setTimeout(rows, 60) }
function cell(r, text, i) { const c = r.insertCell(); c.textContent = text; if (i > 0 && i !== 3) c.className = i === 1 ? 'n' : 'w' }
function rows() { const body = $('rows'), word = $('filter').value.toLowerCase(); body.textContent = '';
  const out = [], skip = page * ROWS; let count = 0;
  if (B) { for (let i = 0; i < B.t.length; i++) { if (B.t[i] > v.b || B.t[i] + B.width_ms < v.a || !shown.has(D.kinds[B.kind[i]])) continue; const lane = D.lanes[B.lane[i]]; if (word && !lane.toLowerCase().includes(word)) continue; if (count >= skip && out.length < ROWS) out.push([iso(B.t[i]), '', lane, D.kind_words[D.kinds[B.kind[i]]], B.n[i] + ' in ' + lasting(B.width_ms)]); count++ } }
  else for (let i = first(v.a); i < M.t.length && M.t[i] <= v.b; i++) { if (!shown.has(D.kinds[M.kind[i]])) continue; if (word && !(D.lanes[M.lane[i]] + ' ' + M.label[i]).toLowerCase().includes(word)) continue;
    if (count >= skip && out.length < ROWS) out.push([iso(M.t[i]), String(M.seq[i]), D.lanes[M.lane[i]], D.kind_words[D.kinds[M.kind[i]]], M.label[i]]); count++ }
  for (const line of out) { const r = body.insertRow(); line.forEach((text, i) => cell(r, text, i)) }
  $('count').textContent = count === 0 ? 'nothing in this window' : (skip + 1) + ' to ' + (skip + out.length) + ' of ' + count + ' in this window';
  $('prev').disabled = page === 0; $('next').disabled = skip + out.length >= count }
$('prev').onclick = () => table(page - 1); $('next').onclick = () => table(page + 1); $('filter').oninput = () => table(0);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { style(); paint() });
new ResizeObserver(size).observe(cv.parentElement);
tip.textContent = M.t.length > 0 ? 'Point at a mark, or press n in the picture.' : S.length > 0 || B ? 'Point at something in the picture.' : '';
style(); size(); table(0);
})();
`
