import { formatCount, type Input, type Io, printReport, withProgress, writePieces } from '@kim/cli-kit'
import type { JsonValue } from '@kim/manifest'
import type { Findings } from '@kim/observer-sdk/verify'
import type { PersonaState } from '../personas.js'
import { stateAt } from '../state-at.js'
import { type StateDocument, stateDocument, stateLines } from '../state-document.js'
import { openReplayJournal, outputFormat, parsePointFlags } from './input.js'
import { missingText, warnAboutLaterRecords } from './print.js'

/** CL-42: the state at a point. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = outputFormat(input)
  const history = openReplayJournal(input, io)
  const point = parsePointFlags({ input, io, history })
  const state = await withProgress(io, 'at', control => stateAt(history, point, control))
  const { reading } = state
  const head = reading.last?.seq ?? state.base?.document.header.head_seq ?? 0
  if (point.kind === 'seq' && reading.stoppedAt === undefined && head < point.seq)
    io.stderr.write(`kim-replay: the newest record is seq ${head}: this is the state at the end\n`)
  const document = stateDocument(state, input.list('persona'))
  warnAboutLaterRecords(io, document, point)
  if (form === 'json') await writePieces(io, stateLines(document))
  else printReport(io, false, undefined, stateText(document))
  return state.missing.exit
}

/** A state for a person: the point, then each persona. */
function stateText(document: StateDocument): string[] {
  const { at, base, entity_count, attention_required, digest, personas, registry_authoritative } = document
  const names = Object.keys(personas).sort()
  const width = names.reduce((most, name) => Math.min(24, Math.max(most, name.length)), 0)
  return [
    at === null
      ? 'at the beginning: no record yet'
      : `at seq ${at.seq}, ${at.ts ?? 'at an unknown time'}, in ${at.segment}`,
    `  ${formatCount(entity_count, 'live entity', 'live entities')}; waiting for a person: ${attention_required} (open alerts, urgent unread mail, and decisions that another program asks for); the journal ${registry_authoritative ? 'covers' : 'does not yet cover'} every persona that the producer watches`,
    `  read from ${base === null ? 'the first record on' : `checkpoint ${base.file}`}; digest ${digest}`,
    ...(names.length === 0 ? ['  no persona is known yet'] : []),
    ...(Object.values(personas).some(({ liveness }) => liveness === 'stale')
      ? ['  stale: the persona was up, but there was no record about it for an hour']
      : []),
    ...names.flatMap(name => personaLines(name, personas[name] as PersonaState, width)),
    ...missingText(document.missing as unknown as Findings),
  ]
}

function personaLines(name: string, state: PersonaState, width: number): string[] {
  const { liveness, unread, messages, newest_message, unread_urgent, evidence, alerts } = state
  const urgent = unread_urgent === null || unread_urgent === 0 ? '' : `, ${unread_urgent} urgent`
  const newest = newest_message === null ? '' : `, newest ${newest_message}`
  const seen =
    evidence === null
      ? ''
      : `; newest record seq ${evidence.seq}${evidence.ts === null ? '' : `, ${evidence.ts}`}`
  return [
    `${name.padEnd(width)}  ${liveness.padEnd(7)}  ${unread} unread of ${messages}${newest}${urgent}${seen}`,
    ...alerts.map(
      ({ kind, reason, seq, ts }) =>
        `${''.padEnd(width)}  ALERT ${word(kind)}, newest record seq ${seq}${ts === null ? '' : `, ${ts}`}${reason === null ? '' : `: ${word(reason)}`}`,
    ),
  ]
}

function word(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
