/**
 * What a timeline of 100 000 records costs who opens it: from the address to the first frame with a picture in it, and
 * the time from frame to frame while the picture is drawn along. In a browser without a window and without a GPU.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Browser, fastTmpdir, findBrowser, writeHiveHistory } from '../kit/index.js'
import { percentile } from './report.js'

const RUNS = 5
const RECORDS = 100_000
const FIRST_PAINT_MS_MAX = 3000
const FRAME_MS_MAX = 50

const bin = join(
  dirname(createRequire(import.meta.url).resolve('@kim/replay/package.json')),
  'bin/kim-replay.js',
)

/** Notes when the frame after the one with the first picture begins, counted from the navigation. */
const WATCH = `(() => { const look = () => requestAnimationFrame(() => {
  const window = document.getElementById('window');
  if (window === null || window.textContent === '') look(); else requestAnimationFrame(() => { globalThis.painted = performance.now() })
}); look() })()`

/** Moves the picture by seven pixels in every frame, there and back, and tells how long each frame took. */
const PAN = `new Promise(done => {
  const picture = document.getElementById('picture'), frames = []; let n = 0, last;
  const frame = now => {
    if (last !== undefined) frames.push(now - last);
    last = now;
    if (n === 240) { done(frames); return }
    picture.dispatchEvent(new WheelEvent('wheel', { deltaX: n++ < 120 ? 7 : -7, cancelable: true }));
    requestAnimationFrame(frame)
  };
  requestAnimationFrame(frame)
})`

async function measure(browser: Browser, url: string): Promise<Record<string, number>> {
  const paints: number[] = []
  await browser.ask('Page.addScriptToEvaluateOnNewDocument', { source: WATCH })
  for (let i = 0; i < RUNS; i++) {
    await browser.go(url)
    paints.push(
      await browser.eval<number>(
        'new Promise(done => { const look = () => globalThis.painted === undefined ? setTimeout(look, 5) : done(painted); look() })',
      ),
    )
  }
  const all = await browser.eval<number[]>(PAN)
  await browser.eval(`for (let i = 0; i < 5; i++) document.getElementById('in').click()`)
  const near = await browser.eval<number[]>(PAN)
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'))
  return {
    first_paint_ms: percentile(paints, 50),
    frame_ms: percentile(all, 95),
    frame_near_ms: percentile(near, 95),
  }
}

const asJson = process.argv.includes('--json')
const file = findBrowser()
const root = mkdtempSync(join(fastTmpdir(), 'kim-bench-timeline-'))
try {
  if (file === undefined) {
    const why = 'no chromium is installed, nothing was measured'
    console.log(asJson ? JSON.stringify({ bench: 'timeline', skipped: why }) : `timeline  ${why}`)
  } else {
    const personas = Array.from({ length: 40 }, (_, i) => `persona-${i}`)
    const events = writeHiveHistory(join(root, 'store'), { messages: RECORDS, personas, days: 7 })
    const out = join(root, 'page.html')
    const begun = performance.now()
    const made = spawnSync(
      process.execPath,
      [bin, 'timeline', '-o', 'html', '--out', out, '--events', events, '--json'],
      { encoding: 'utf8' },
    )
    const make_ms = performance.now() - begun
    if (made.status !== 0) throw new Error(`kim-replay timeline: ${made.status} ${made.stderr}`)
    const { records } = JSON.parse(made.stdout) as { records: number }
    const browser = await Browser.open(file)
    const result = await measure(browser, pathToFileURL(out).href).finally(() => browser.close())
    const rows = [
      ['first paint, median of 5', result['first_paint_ms'], FIRST_PAINT_MS_MAX],
      ['p95 frame, all marks in view', result['frame_ms'], FRAME_MS_MAX],
      ['p95 frame, zoomed in', result['frame_near_ms'], FRAME_MS_MAX],
    ] as const
    const met = records >= RECORDS && rows.every(([, ms = Number.NaN, max]) => ms <= max)
    if (asJson) console.log(JSON.stringify({ bench: 'timeline', records, make_ms, ...result, met }))
    else {
      const size = (statSync(out).size / 1e6).toFixed(1)
      console.log(`timeline  ${records} records, page of ${size} MB, made in ${make_ms.toFixed(0)} ms`)
      for (const [name, ms = Number.NaN, max] of rows)
        console.log(
          `  ${name.padEnd(30)} ${ms.toFixed(1).padStart(7)} ms  (at most ${max})  ${ms <= max ? 'met' : 'MISSED'}`,
        )
    }
    if (!met) process.exitCode = 1
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
