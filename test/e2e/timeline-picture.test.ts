/** What the page of the incident looks like, held against the pictures of docs/incident.md. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { recreateIncident } from '../incident/incident.js'
import { PICTURES, type Taken, takePictures, whyNoPictures } from '../incident/pictures.js'
import { SEED } from '../incident/seed.js'
import { commandsOf, DOCS, readPage, type } from '../incident/walk-through.js'
import { decodePng, pictureDifference } from '../kit/index.js'

/** The share of the pixels that may differ: a newer browser draws an edge otherwise. */
const SHARE_MAX = 0.01

/** How much of each picture differs: of the whole, or of the timeline in it if that is more. */
const differences = (pictures: ReadonlyMap<string, Taken>): Map<string, number> =>
  new Map(
    PICTURES.map(name => {
      const taken = pictures.get(name)
      if (taken === undefined) return [name, 1]
      const [committed, now] = [decodePng(readFileSync(join(DOCS, name))), decodePng(taken.png)]
      const parts = [undefined, taken.canvas].map(part => pictureDifference(committed, now, part))
      return [name, Math.max(...parts)]
    }),
  )

const why = whyNoPictures()
if (why !== undefined) t.test('CL-49 page - looks as in its pictures', { skip: why }, () => {})
else {
  const home = mkdtempSync(join(tmpdir(), 'kim-picture-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  await recreateIncident(join(home, 'incident'), SEED, { signal: new AbortController().signal })
  const command = commandsOf(readPage()).find(told => told.command.includes('kim-replay timeline '))?.command
  type(command ?? '', home)
  const file = join(home, 'incident.html')
  const html = readFileSync(file, 'utf8')

  t.test('CL-49 page - looks as in its pictures, light, dark and on a phone', async t => {
    for (const [name, share] of differences(await takePictures(file))) {
      t.ok(share <= SHARE_MAX, `${name}: ${(share * 100).toFixed(3)} % of the pixels differ`)
      t.comment(`${name}: ${(share * 100).toFixed(3)} % of the pixels differ`)
    }
  })

  /** The page with another style, which its policy is told of. */
  const restyled = (change: (style: string) => string): string => {
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
    const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64')
    const other = change(style)
    t.not(other, style)
    const path = join(home, 'other.html')
    writeFileSync(path, html.replace(style, () => other).replace(hashOf(style), hashOf(other)))
    return path
  }

  const planted: Readonly<Record<string, (style: string) => string>> = {
    'a larger font': style => style.replace('font: 14px/', 'font: 15px/'),
    'another colour of a span': style => style.replace(/--run: #[0-9a-f]+/g, '--run: #d1242f'),
    'no bands': style => style.replace(/--band: #[0-9a-f]+/g, '--band: #888888'),
    'another distance': style => style.replace('padding: .2rem .6rem', 'padding: .35rem .6rem'),
  }
  for (const [what, change] of Object.entries(planted)) {
    t.test(`CL-49 page - a picture shows ${what}`, async t => {
      for (const [name, share] of differences(await takePictures(restyled(change))))
        t.ok(share > SHARE_MAX, `${name}: ${(share * 100).toFixed(3)} % of the pixels differ`)
    })
  }
}
