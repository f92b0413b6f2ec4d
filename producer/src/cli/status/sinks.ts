import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clientState, type Environment, isJsonObject, type JsonObject } from '@kim/manifest'
import { ledgerPath, parseLedger } from '../../sinks/ledger.js'
import { type SinkStatus, sinkKind } from '../../sinks/sink-status.js'
import { readPlainFile } from './plain-file.js'

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
    file: ledgerPath(directory, journal.projectId, sink.identity),
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
  } catch {
    return []
  }
  return names.sort().map(name => ledgerLine(join(directory, name), headSeq))
}

function ledgerLine(path: string, headSeq: number): SinkLine {
  const nothing = { lag_ms: 0, gaps: {}, held: 0, lanes: [] }
  const ledger = parsed(path)
  if (ledger === undefined) {
    const why = `${path} holds no watermark`
    return {
      sink: 'unknown',
      identity: path,
      state: 'off',
      why,
      seq: null,
      behind: null,
      ...nothing,
      file: path,
    }
  }
  const { passed, held } = ledger.progress
  const lanes = held
    .map(([lane, { seq }, why]) => ({ lane, seq, why: why ?? null, tries: 0, for_ms: 0 }))
    .sort((a, b) => a.seq - b.seq)
  const identity = ledger.sink ?? path
  const sink = ledger.sink === undefined ? 'unknown' : sinkKind(ledger.sink)
  // A sink with a single place is where that place is, noted with each delivery; `passed` is noted less often.
  const isSingle = sink !== 'events-file-template' && lanes.length === 1
  const seq = isSingle ? Math.max(passed.seq, lanes[0]?.seq ?? 0) : passed.seq
  return {
    sink,
    identity,
    state: 'idle',
    why: null,
    ...nothing,
    seq,
    behind: Math.max(0, headSeq - Math.min(seq, lanes[0]?.seq ?? seq)),
    held: lanes.length,
    lanes,
    file: path,
  }
}

function parsed(path: string): ReturnType<typeof parseLedger> {
  try {
    const text = readPlainFile(path)
    return text === undefined ? undefined : parseLedger(text)
  } catch {
    return undefined
  }
}
