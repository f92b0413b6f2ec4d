import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { collectTimeline, openCopy, timelineHtml } from '../dist/internal.js'

type Colour = readonly [number, number, number]

const TEXT_MIN = 4.5
const SHAPE_MIN = 3
/** How much of a span's colour its inside has. */
const INSIDE = 0.28

function colourOf(hex: string): Colour {
  const digits = hex.length === 4 ? hex.replace(/[0-9a-f]/g, '$&$&') : hex
  return [1, 3, 5].map(at => Number.parseInt(digits.slice(at, at + 2), 16)) as unknown as Colour
}

/** Relative luminance, as WCAG 2 has it. */
function luminance(colour: Colour): number {
  const [r = 0, g = 0, b = 0] = colour
    .map(value => value / 255)
    .map(value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: Colour, b: Colour): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((one, other) => other - one)
  return (high + 0.05) / (low + 0.05)
}

t.test('CL-49 page - what is drawn can be told from what is behind it, light and dark', async t => {
  const copy = openCopy(new JournalMaker().write(t.testdir()))
  const [fromMs, toMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const request = { fromMs, toMs, personas: [], createdMs: undefined, mode: 'bodies', title: 'x' } as const
  const timeline = await collectTimeline(copy, request)
  const roots = [...[...timelineHtml(timeline)].join('').matchAll(/:root \{([^}]*)\}/g)]
  t.equal(roots.length, 2)
  for (const [, root = ''] of roots) {
    const named = new Map(
      [...root.matchAll(/--(\w+): (#[0-9a-f]+)/g)].map(([, name = '', hex = '']) => [name, hex]),
    )
    const of = (name: string): Colour => colourOf(named.get(name) ?? '')
    const marks = ['new', 'silent', 'backfill', 'read', 'removed', 'alert', 'event', 'other']
    const spans = ['outage', 'down', 'run', 'asleep', 'gap', 'none']
    const inside = (name: string): Colour =>
      of(name).map((value, i) => value * INSIDE + (of('bg')[i] ?? 0) * (1 - INSIDE)) as unknown as Colour
    for (const behind of ['bg', 'band']) {
      for (const name of ['fg', 'dim'])
        t.ok(contrast(of(name), of(behind)) >= TEXT_MIN, `${name} on ${behind}`)
      for (const name of [...marks, ...spans, 'edge'])
        t.ok(contrast(of(name), of(behind)) >= SHAPE_MIN, `${name} on ${behind}`)
    }
    for (const span of ['outage', 'down'])
      for (const mark of marks) t.ok(contrast(of(mark), inside(span)) >= SHAPE_MIN, `${mark} in ${span}`)
  }
})
