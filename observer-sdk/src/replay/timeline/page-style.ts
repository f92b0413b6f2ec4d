/** How a timeline page looks, light and dark. */
export const pageStyle: string = `
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --dim: #59636e; --line: #d1d9e0; --band: #f6f8fa;
  --new: #0969da; --silent: #8c959f; --backfill: #afb8c1; --read: #1a7f37; --removed: #6e7781; --alert: #cf222e;
  --event: #8250df; --other: #bf8700; --outage: #ff818266; --down: #ffab7066; --run: #2da44e55; --gap: #cf222e; --none: #6e778155 }
@media (prefers-color-scheme: dark) { :root { --bg: #0d1117; --fg: #e6edf3; --dim: #9198a1; --line: #3d444d; --band: #151b23;
  --new: #4493f8; --silent: #6e7681; --backfill: #484f58; --read: #3fb950; --removed: #8b949e; --alert: #f85149;
  --event: #a371f7; --other: #d29922; --outage: #f8514966; --down: #db6d2866; --run: #3fb95055; --gap: #f85149; --none: #8b949e55 } }
* { box-sizing: border-box }
body { margin: 0; padding: 1rem 1.5rem 3rem; background: var(--bg); color: var(--fg); font: 14px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem }
p, ul { margin: .25rem 0 } .dim { color: var(--dim) }
canvas { display: block; width: 100%; border: 1px solid var(--line); touch-action: none; cursor: grab }
canvas:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, summary:focus-visible { outline: 2px solid var(--new); outline-offset: 2px }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0 }
button, input, select { font: inherit; color: inherit; background: var(--band); border: 1px solid var(--line); border-radius: 4px; padding: .2rem .6rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
th { position: sticky; top: 0; background: var(--bg) } td.n, th.n { text-align: right } .scroll { max-height: 24rem; overflow: auto }
#tip { min-height: 3em; padding: .4rem .6rem; background: var(--band); border: 1px solid var(--line); overflow-wrap: anywhere }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .3em; vertical-align: -.05em }
.k-new { background: var(--new) } .k-silent { background: var(--silent) } .k-backfill { background: var(--backfill) } .k-read { background: var(--read) } .k-removed { background: var(--removed) } .k-alert { background: var(--alert) } .k-event { background: var(--event) } .k-other { background: var(--other) } .k-outage { background: var(--outage) } .k-down { background: var(--down) } .k-run { background: var(--run) } .k-gap { background: var(--gap) } .k-no_producer { background: var(--none) }
meter { width: 100%; height: 1em }
`
