import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clientState, type Environment, isJsonObject, type JsonObject } from '@kim/manifest'
import { readPlainFile } from '../../effects/plain-file.js'
import { systemCode } from '../../journal/failure.js'
import { type SinkStatus, sinkKind } from '../../sinks/sink.js'
import { parseWatermarkFile, watermarkPath } from '../../sinks/watermark-file.js'

/** A sink as it is, or as its ledger says it was left. */
export type SinkLine = Omit<SinkStatus, 'state'> & {
  /** `idle`: no process runs it; its watermark stays where it is. */
  readonly state: SinkStatus['state'] | 'idle'
  /** Its watermark. Without it nobody remembers the sink. */
  readonly file: string
}

/** The sinks of a journal: what the producer that runs says of its own, and the ledgers of all others. */
export function sinksOf(
  env: Environment,
  home: string,
  journal: { readonly projectId: string; readonly headSeq: number },
  told: JsonObject,
): SinkLine[] {
  const directory = join(clientState(env, home, 'kim-producer'), 'sinks')
  const running = (Array.isArray(told['sinks']) ? told['sinks'].filter(isSinkStatus) : []).map(sink => ({
    ...sink,
    file: watermarkPath(directory, journal.projectId, sink.identity),
  }))
  const others = ledgersIn(join(directory, journal.projectId), journal.headSeq)
  return [...running, ...others.filter(({ file }) => !running.some(sink => sink.file === file))]
}

function isSinkStatus(value: unknown): value is SinkStatus {
  return isJsonObject(value) && typeof value['identity'] === 'string' && Array.isArray(value['lanes'])
}

function ledgersIn(directory: string, headSeq: number): SinkLine[] {
  let names: string[]
  try {
    names = readdirSync(directory).filter(name => name.endsWith('.json') && !name.startsWith('.'))
  } catch (error) {
    // What cannot be looked into may hold any number of them; none would be a wrong answer. What is no directory holds none.
    const code = systemCode(error)
    const isNone = code === 'ENOENT' || code === 'ENOTDIR'
    return isNone ? [] : [unreadLine(directory, `cannot be read: ${wordOf(error)}`)]
  }
  return names.sort().map(name => ledgerLine(join(directory, name), headSeq))
}

const NOTHING = { lag_ms: 0, gaps: {}, skipped: {}, held: 0, lanes: [] }

/** What stands where watermarks do and is none that a producer of this user would take. */
function unreadLine(path: string, what: string): SinkLine {
  const unknown = { sink: 'unknown', identity: path, seq: null, behind: null }
  return { ...unknown, ...NOTHING, state: 'off', why: `${path} ${what}`, file: path }
}

function ledgerLine(path: string, headSeq: number): SinkLine {
  const ledger = parsed(path)
  if (typeof ledger === 'string') return unreadLine(path, ledger)
  const { passed, held } = ledger.progress
  const lanes = held
    .map(([lane, { seq }, why]) => ({ lane, seq, why: why ?? null, tries: 0, for_ms: 0 }))
    .sort((a, b) => a.seq - b.seq)
  const identity = ledger.sink ?? path
  const sink = ledger.sink === undefined ? 'unknown' : sinkKind(ledger.sink)
  // A sink with a single place is where that place is, noted with each delivery; `passed` is noted less often.
  const isSingle = sink !== 'events-file-template' && lanes.length === 1 && lanes[0]?.lane === ''
  const seq = isSingle ? Math.max(passed.seq, lanes[0]?.seq ?? 0) : passed.seq
  return {
    sink,
    identity,
    state: 'idle',
    why: null,
    ...NOTHING,
    seq,
    behind: Math.max(0, headSeq - Math.min(seq, lanes[0]?.seq ?? seq)),
    held: lanes.length,
    lanes,
    file: path,
  }
}

/** A watermark, or why it is none: one that merely cannot be read is a place that is worth to be given back. */
function parsed(path: string): NonNullable<ReturnType<typeof parseWatermarkFile>> | string {
  const none = 'does not hold a valid watermark'
  try {
    const uid = process.getuid?.()
    const { uid: owner } = lstatSync(path)
    if (uid !== undefined && owner !== uid) return `belongs to user ${owner}, not to user ${uid}`
    const text = readPlainFile(path)
    return (text === undefined ? undefined : parseWatermarkFile(text)) ?? none
  } catch (error) {
    return DENIED.has(wordOf(error)) ? `cannot be read: ${wordOf(error)}` : none
  }
}

const DENIED = new Set(['EACCES', 'EPERM', 'EIO'])

function wordOf(error: unknown): string {
  return systemCode(error) ?? String(error)
}
