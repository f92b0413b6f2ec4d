import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  archivedSegmentName,
  parseSegmentName,
  recordOf,
  segmentName,
  sha256Hex,
  storePaths,
} from '@kim/manifest'
import { type FindingKind, type JournalVerdict, verifyJournal } from '@kim/observer-sdk/verify'
import { redactStore, repairStore } from '@kim/producer/internal'
import t from 'tap'
import { homeOf } from '../kit/home.js'
import { fastTmpdir } from '../kit/scratch.js'
import { makeRealStore, newestSegment, openSmall, smallStore } from './real-store.js'

const root = homeOf(t, fastTmpdir())
const pristine = makeRealStore(join(root, 'store'))

/** What a healthy store with a past of crashes shows. */
const allowed: readonly FindingKind[] = ['adjudicated', 'tx_abandoned', 'hole_repaired']

const kindsOf = ({ findings }: JournalVerdict): string[] => Object.keys(findings).sort()
const linesOf = (text: string): string[] => text.split('\n').slice(0, -1)
const joined = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('')

/** Names in a subdirectory, ascending. */
const names = (events: string, folder: string, prefix: string): string[] =>
  readdirSync(join(events, folder))
    .filter(name => name.startsWith(prefix))
    .sort()

const live = (events: string): string[] => names(events, '.', 'seg-')
const parked = (events: string): string[] => names(events, 'archive', 'seg-')
const parkedCheckpoints = (events: string): string[] => names(events, 'archive', 'ckpt-')
const liveCheckpoints = (events: string): string[] => names(events, 'checkpoints', 'ckpt-')

function blobs(events: string): string[] {
  return readdirSync(join(events, 'blobs'), { recursive: true })
    .map(name => join('blobs', String(name)))
    .filter(name => statSync(join(events, name)).isFile())
    .sort()
}

/** Changes the content of a file, packed or not. */
function edit(path: string, change: (text: string) => string): void {
  const isPacked = path.endsWith('.gz')
  const stored = readFileSync(path)
  const before = (isPacked ? gunzipSync(stored) : stored).toString('latin1')
  const after = change(before)
  if (after === before) throw new Error(`${path} was not changed`)
  const bytes = Buffer.from(after, 'latin1')
  writeFileSync(path, isPacked ? gzipSync(bytes) : bytes)
}

const editLines = (path: string, change: (lines: string[]) => readonly string[]): void =>
  edit(path, text => joined(change(linesOf(text))))

/** Turns one bit of the file round. */
function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  const place = at < 0 ? bytes.length + at : at
  const byte = bytes[place]
  if (byte === undefined) throw new Error(`${path} has no byte ${at}`)
  bytes[place] = byte ^ 1
  writeFileSync(path, bytes)
}

const withoutLine = (at: number) => (lines: string[]) => lines.toSpliced(at, 1)

const swapped = (at: number) => (lines: string[]) =>
  lines.toSpliced(at, 2, lines[at + 1] as string, lines[at] as string)

/** Changes the first record that a test accepts. */
function editRecord(
  path: string,
  accept: (record: Record<string, unknown>) => boolean,
  change: (line: string) => string,
): void {
  editLines(path, lines => {
    const at = lines.findIndex(line => accept(recordIn(line)))
    return lines.with(at, change(lines[at] as string))
  })
}

function recordIn(line: string): Record<string, unknown> {
  return recordOf(Buffer.from(line, 'latin1'))?.raw ?? {}
}

const first = (list: readonly string[]): string => list[0] as string
const last = (list: readonly string[]): string => list.at(-1) as string
const middle = (list: readonly string[]): string => list[Math.floor(list.length / 2)] as string

/** Every damage by its title. */
const damages = new Map<string, (events: string) => void>()

const newest = (events: string): string => join(events, newestSegment(events))
const sealed = (events: string): string => join(events, first(live(events)))
const oldest = (events: string): string => join(events, 'archive', first(parked(events)))
const between = (events: string): string => join(events, 'archive', middle(parked(events)))
const checkpoint = (events: string): string => join(events, 'checkpoints', last(liveCheckpoints(events)))
const oldCheckpoint = (events: string): string => join(events, 'archive', first(parkedCheckpoints(events)))
const blob = (events: string): string => join(events, first(blobs(events)))

t.test('verify - a store that production code made is clean (OB-65)', async t => {
  const verdict = await verifyJournal({ eventsDir: pristine })
  t.equal(verdict.exit, 0)
  t.strictSame(kindsOf(verdict), [...allowed].sort(), JSON.stringify(verdict.findings))
  t.ok(
    parked(pristine).length > 5 && live(pristine).length > 1 && blobs(pristine).length > 1,
    'it holds enough',
  )
  t.ok(
    liveCheckpoints(pristine).length === 2 && parkedCheckpoints(pristine).length > 2,
    'and is checkpointed',
  )
})

/** One damage to a copy of the store, what `verify` exits with then, and kinds that must be among its findings. */
function damaged(
  title: string,
  exit: JournalVerdict['exit'],
  kinds: readonly FindingKind[],
  damage: (events: string) => void,
): void {
  damages.set(title, damage)
  t.test(`verify - sees ${title}`, async t => {
    const events = join(root, 'damaged')
    rmSync(events, { recursive: true, force: true })
    cpSync(pristine, events, { recursive: true })
    damage(events)
    const verdict = await verifyJournal({ eventsDir: events })
    const found = kindsOf(verdict)
    t.strictSame(
      kinds.filter(kind => !found.includes(kind)),
      [],
      JSON.stringify(verdict.findings),
    )
    t.equal(verdict.exit, exit)
    t.ok(
      found.some(kind => !allowed.includes(kind as FindingKind)),
      'it does not look healthy',
    )
  })
}

// One bit
damaged('a bit in a sealed segment', 6, ['chain_broken'], e => flip(sealed(e), 700))
damaged('a bit in a packed segment', 6, ['unreadable', 'seq_hole'], e => flip(between(e), 300))
damaged('a bit in a checkpoint', 6, ['checkpoint_corrupt'], e => flip(checkpoint(e), 900))
damaged('a bit in a parked checkpoint', 6, ['checkpoint_corrupt'], e => flip(oldCheckpoint(e), -9))
damaged('a bit in a blob', 6, ['blob_mismatch'], e => flip(blob(e), 50_000))
damaged('a bit in the first byte of the newest', 6, ['malformed_line', 'seal_missing', 'seq_hole'], e =>
  flip(newest(e), 0),
)
damaged('a bit in the last \\n of the newest', 0, ['unterminated_tail'], e => flip(newest(e), -1))

// Lines
damaged('a line missing from a sealed segment', 6, ['chain_broken', 'seq_hole'], e =>
  editLines(sealed(e), withoutLine(5)),
)
damaged('a line missing from a parked segment', 6, ['chain_broken', 'seq_hole'], e =>
  editLines(between(e), withoutLine(5)),
)
damaged('a line missing from the newest', 5, ['seq_hole'], e => editLines(newest(e), withoutLine(5)))
damaged('the genesis missing', 6, ['chain_broken', 'seq_hole', 'schema'], e =>
  editLines(oldest(e), withoutLine(0)),
)
damaged('the newest seal missing', 6, ['seal_missing', 'seq_hole'], e => editLines(newest(e), withoutLine(0)))
damaged('lines swapped in the newest', 6, ['seq_regressed', 'seq_hole'], e =>
  editLines(newest(e), swapped(5)),
)
damaged('lines swapped in a sealed segment', 6, ['chain_broken', 'seq_regressed'], e =>
  editLines(sealed(e), swapped(5)),
)
damaged('a line twice in the newest', 6, ['duplicate_seq'], e =>
  editLines(newest(e), lines => [...lines, last(lines)]),
)
damaged('a line of another segment in the newest', 6, ['duplicate_seq'], e =>
  editLines(newest(e), lines => [...lines, linesOf(readFileSync(sealed(e), 'latin1'))[4] as string]),
)
damaged('a line that is no record in the newest', 6, ['malformed_line'], e =>
  editLines(newest(e), lines => lines.toSpliced(4, 0, 'no record')),
)
damaged('line ends of another system', 6, ['schema'], e =>
  edit(newest(e), text => text.replaceAll('\n', '\r\n')),
)
damaged('the middle record of a run missing', 6, ['tx_incomplete', 'seq_hole'], e =>
  editLines(newest(e), lines =>
    lines.filter(line => (recordIn(line)['tx'] as { i?: number } | undefined)?.i !== 2),
  ),
)

// Records
damaged('a revision changed in the newest', 6, ['revision'], e =>
  editRecord(
    newest(e),
    r => r['action'] === 'update',
    line => line.replace(/"entity_rev":(\d+)/, (_, rev) => `"entity_rev":${Number(rev) + 5}`),
  ),
)
damaged('a seq changed in the newest', 6, ['seq_hole', 'seq_regressed'], e =>
  editRecord(
    newest(e),
    r => r['action'] === 'update',
    line => line.replace(/"seq":(\d+)/, (_, seq) => `"seq":${Number(seq) + 5000}`),
  ),
)
damaged('a record of another hand in the newest', 6, ['schema'], e =>
  editLines(newest(e), lines => [
    ...lines,
    JSON.stringify({
      v: 2,
      seq: Number(recordIn(last(lines))['seq']) + 1,
      action: 'create',
      item_type: 'plan',
      item_id: 'p',
      payload: {},
    }),
  ]),
)
damaged('a payload that was cut out of the newest', 6, ['schema'], e =>
  editRecord(
    newest(e),
    r => r['item_type'] === 'message',
    line => line.replace('"schema_version":1', '"schema_version":"1"'),
  ),
)
damaged('a payload changed in a parked segment', 6, ['chain_broken', 'checkpoint_mismatch'], e =>
  edit(between(e), text => text.replaceAll('"from":"argus"', '"from":"argos"')),
)

// Seals
damaged('the newest seal with another hash', 6, ['chain_broken'], e =>
  editRecord(
    newest(e),
    () => true,
    line => line.replace(/"sha256":"./, '"sha256":"x'.replace('x', line.includes('"sha256":"0') ? '1' : '0')),
  ),
)
damaged('the newest seal with another range', 6, ['chain_broken'], e =>
  editRecord(
    newest(e),
    () => true,
    line => line.replace(/"first_seq":\d+/, '"first_seq":1'),
  ),
)
damaged('a seal of another project', 6, ['chain_broken'], e =>
  editRecord(
    newest(e),
    () => true,
    line => line.replace(/"project_id":"[0-9a-f]{32}/, `"project_id":"${'a'.repeat(32)}`),
  ),
)
damaged(
  'a sealed payload changed and its seal forged: the checkpoint tells',
  6,
  ['checkpoint_mismatch'],
  events => {
    edit(sealed(events), text => text.replaceAll('"from":"argus"', '"from":"argos"'))
    const sha256 = sha256Hex(readFileSync(sealed(events)))
    editRecord(
      newest(events),
      () => true,
      line => line.replace(/"sha256":"[0-9a-f]{64}"/, `"sha256":"${sha256}"`),
    )
  },
)

// Cut short
damaged('a sealed segment cut', 6, ['chain_broken', 'malformed_line', 'seq_hole'], e =>
  edit(sealed(e), text => text.slice(0, -40)),
)
damaged('a sealed segment cut to nothing', 6, ['chain_broken', 'seq_hole'], e => writeFileSync(sealed(e), ''))
damaged('a packed segment cut', 6, ['unreadable', 'seq_hole'], e =>
  writeFileSync(between(e), readFileSync(between(e)).subarray(0, 400)),
)
damaged('the newest cut inside a line', 0, ['unterminated_tail'], e =>
  edit(newest(e), text => text.slice(0, -40)),
)
damaged('a checkpoint cut', 6, ['checkpoint_corrupt'], e => edit(checkpoint(e), text => text.slice(0, -40)))
damaged('a blob cut', 6, ['blob_mismatch'], e => edit(blob(e), text => text.slice(0, -1)))

// Files
damaged('a blob deleted', 6, ['blob_missing'], e => rmSync(blob(e)))
damaged('all blobs deleted', 6, ['blob_missing'], e => rmSync(join(e, 'blobs'), { recursive: true }))
damaged('the newest checkpoint deleted', 0, ['checkpoint_absent'], e => rmSync(checkpoint(e)))
damaged('a parked checkpoint deleted', 0, ['checkpoint_absent'], e => rmSync(oldCheckpoint(e)))
damaged('a checkpoint in the place of another', 6, ['checkpoint_corrupt'], e =>
  cpSync(oldCheckpoint(e), checkpoint(e)),
)
damaged('a checkpoint and its ref forged', 6, ['checkpoint_mismatch'], events => {
  const before = sha256Hex(readFileSync(checkpoint(events)))
  edit(checkpoint(events), text => text.replaceAll('"from":"argus"', '"from":"argos"'))
  edit(newest(events), text => text.replace(before, sha256Hex(readFileSync(checkpoint(events)))))
})
damaged('the oldest segment deleted', 0, ['history_starts_at'], e => rmSync(oldest(e)))
damaged('the archive deleted', 0, ['history_starts_at'], e => rmSync(join(e, 'archive'), { recursive: true }))
damaged('a segment in the middle deleted', 5, ['seq_hole'], e => rmSync(between(e)))
damaged('the newest segment deleted', 0, ['checkpoint_orphan'], e => rmSync(newest(e)))
damaged(
  'the two newest segments deleted, which a checkpoint still covers',
  5,
  ['seq_hole', 'meta_ahead'],
  events => {
    for (const name of live(events).slice(-2)) rmSync(join(events, name))
  },
)
damaged(
  'a sealed segment under a lower number, so that its seal speaks of nothing, and its payloads changed',
  6,
  ['chain_broken'],
  events => {
    rmSync(join(events, 'checkpoints'), { recursive: true })
    for (const name of readdirSync(join(events, 'archive'))) {
      if (name.startsWith('ckpt-')) rmSync(join(events, 'archive', name))
    }
    const path = join(events, live(events).at(-2) ?? '')
    const number = parseSegmentName(basename(path)) ?? 0
    writeFileSync(path, readFileSync(path, 'latin1').replaceAll('"from":"', '"from":"x'), 'latin1')
    renameSync(path, join(events, segmentName(number - 1)))
  },
)
damaged('a store with one segment, whose first line is no record any more', 6, ['malformed_line'], events => {
  for (const name of readdirSync(events))
    if (name !== 'meta.json') rmSync(join(events, name), { recursive: true })
  writeFileSync(join(events, segmentName(1)), '{"genesis\n')
})
damaged('two segments in each other’s place', 6, ['chain_broken', 'seq_regressed'], events => {
  const [one, two] = [
    join(events, 'archive', parked(events)[3] as string),
    join(events, 'archive', parked(events)[4] as string),
  ]
  renameSync(one, `${one}.aside`)
  renameSync(two, one)
  renameSync(`${one}.aside`, two)
})
damaged('the newest under a higher number', 6, ['chain_broken'], e =>
  renameSync(newest(e), join(e, segmentName((parseSegmentName(newestSegment(e)) ?? 0) + 1))),
)
damaged('a segment under a name of another width', 0, ['segment_misnamed', 'checkpoint_orphan'], e =>
  renameSync(newest(e), join(e, 'seg-9.jsonl')),
)
damaged('a packed segment that no packer made', 6, ['unreadable'], e =>
  writeFileSync(join(e, 'archive', archivedSegmentName({ first: 99_999, gzipped: true })), 'plain'),
)
damaged('a FIFO in the place of a segment', 6, ['unreadable', 'seq_hole'], events => {
  const path = sealed(events)
  rmSync(path)
  execFileSync('mkfifo', [path])
})

t.test('verify - a store that was redacted is clean, and holds nothing of it', async t => {
  const storeDir = join(root, 'redacted')
  cpSync(join(root, 'store'), storeDir, { recursive: true })
  const { events } = storePaths(storeDir)
  for (const item_id of ['river/1', 'river/1020', 'loom/70']) {
    const { records } = redactStore({
      ...smallStore,
      storeDir,
      target: { item_type: 'message', item_id },
      reason: 'asked',
    })
    t.ok(records > 0, item_id)
    const verdict = await verifyJournal({ eventsDir: events })
    t.strictSame(kindsOf(verdict), [...allowed, 'redacted'].sort(), JSON.stringify(verdict.findings))
    t.equal(verdict.exit, 0)
  }
  flip(join(events, 'archive', first(parked(events))), 300)
  t.equal((await verifyJournal({ eventsDir: events })).exit, 6, 'a redaction excuses nothing else')
})

t.test('verify - what a repair set aside and named is clean', async t => {
  const repairable: readonly [string, FindingKind][] = [
    ['a line missing from the newest', 'hole_repaired'],
    ['a line that is no record in the newest', 'adjudicated'],
    ['a bit in a parked checkpoint', 'checkpoint_absent'],
    ['a FIFO in the place of a segment', 'hole_repaired'],
  ]
  for (const [title, kind] of repairable) {
    const storeDir = join(root, 'repaired')
    rmSync(storeDir, { recursive: true, force: true })
    cpSync(join(root, 'store'), storeDir, { recursive: true })
    const { events } = storePaths(storeDir)
    damages.get(title)?.(events)
    t.not((await verifyJournal({ eventsDir: events })).exit, 0, `${title} is seen`)
    repairStore({ ...smallStore, storeDir })
    const verdict = await verifyJournal({ eventsDir: events })
    t.equal(verdict.exit, 0, `${title}: ${JSON.stringify(verdict.findings)}`)
    t.ok(kind in verdict.findings, kind)
  }
})

t.test('verify - no bit of a sealed segment, a checkpoint or a blob turns unseen', async t => {
  const events = join(root, 'flipped')
  cpSync(pristine, events, { recursive: true })
  let turned = 0
  for (const path of [sealed(events), checkpoint(events), oldCheckpoint(events), blob(events)]) {
    const { size } = statSync(path)
    for (let sample = 0; sample < 15; sample += 1) {
      const at = Math.floor((size * (sample + 0.5)) / 15)
      flip(path, at)
      t.equal(
        (await verifyJournal({ eventsDir: events })).exit,
        6,
        `byte ${at} of ${path.slice(events.length)}`,
      )
      flip(path, at)
      turned += 1
    }
  }
  t.equal((await verifyJournal({ eventsDir: events })).exit, 0, 'and turned back it is clean')
  t.comment(`${damages.size} damages, ${turned} bits`)
})

t.test('verify - trusts the chain only: whole lines missing at the end of the newest', async t => {
  const events = join(root, 'shorter')
  cpSync(pristine, events, { recursive: true })
  editLines(newest(events), lines => lines.slice(0, -1))
  const verdict = await verifyJournal({ eventsDir: events })
  t.strictSame(kindsOf(verdict), [...allowed, 'meta_ahead'].sort(), 'but that meta.json tells of more')
  t.equal(verdict.exit, 0)
})

t.test('verify - is clean while the writer appends, rolls, checkpoints and parks under it', async t => {
  const storeDir = join(root, 'busy')
  const journal = openSmall(storeDir, 40_000)
  const content = 'x'.repeat(2000)
  let id = 0
  const write = (records: number): void => {
    for (let count = 0; count < records; count += 1) {
      id += 1
      const payload = { schema_version: 1, id, content }
      const plan = {
        agent: 'river',
        action: 'update',
        item_type: 'plan',
        item_id: `p${id % 50}`,
        summary: 'x',
        payload,
      }
      journal.append([plan, { ...plan, item_id: `q${id % 7}` }], { tx: id % 3 === 0 })
      journal.upkeep()
    }
  }
  write(300)
  let passes = 0
  let slices = 0
  const onProgress = (): void => {
    slices += 1
    write(6)
  }
  for (; passes < 3; passes += 1) {
    const verdict = await verifyJournal({ eventsDir: storePaths(storeDir).events, onProgress })
    t.equal(verdict.exit, 0, JSON.stringify(verdict.findings))
    t.strictSame(
      kindsOf(verdict).filter(kind => kind !== 'checkpoint_orphan'),
      [],
      'and a checkpoint whose ref was yet to come is all there is to say',
    )
  }
  journal.close()
  t.ok(slices > 3 * passes, `${slices} slices in ${passes} passes`)
})
