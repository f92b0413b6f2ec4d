import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clientState, type Environment, isJsonObject, type JsonObject } from '@kim/manifest'
import { readPlainFile } from '../../effects/system.js'
import { systemCode } from '../../journal/disk-errors.js'
import { type SinkStatus, sinkKind } from '../../sinks/sink.js'
import { parseWatermarkFile, watermarkPath } from '../../sinks/watermark-file.js'

/** The state of a sink, from a running producer or from its watermark file. */
export type SinkLine = Omit<SinkStatus, 'state'> & {
  /** `idle`: no process runs it, but it has a watermark. */
  readonly state: SinkStatus['state'] | 'idle'
  /** Its watermark file. */
  readonly file: string
}

/** The sinks of a journal: those that a running producer reports, and those that left a watermark file. */
export function sinksOf(
  env: Environment,
  home: string,
  journal: { readonly projectId: string; readonly headSeq: number },
  health: JsonObject,
): SinkLine[] {
  const directory = join(clientState(env, home, 'kim-producer'), 'sinks')
  const running = (Array.isArray(health['sinks']) ? health['sinks'].filter(isSinkStatus) : []).map(sink => ({
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
    // An unreadable directory may hold watermarks.
    const code = systemCode(error)
    const isNone = code === 'ENOENT' || code === 'ENOTDIR'
    return isNone ? [] : [unreadLine(directory, `cannot be read: ${wordOf(error)}`)]
  }
  return names.sort().map(name => ledgerLine(join(directory, name), headSeq))
}

const NOTHING = { lag_ms: 0, gaps: {}, skipped: {}, held: 0, lanes: [] }

/** A file or directory that is no watermark of this user. */
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
  // A sink without lanes stores its position with each delivery, and `passed` less often.
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

/** The watermark, or why it is none. An unreadable file is worth restoring, so the text tells the two apart. */
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
