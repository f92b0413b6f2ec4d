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
