/** Errors for what a journal does not contain, or may contain in what it lacks; each hint names what may have been meant. */
import { didYouMean, type RecordName, safeText } from '@kim/cli-kit'
import { type ErrorCode, KimError } from '@kim/manifest'
import type { RangeVerdict } from '@kim/observer-sdk/verify'
import type { SeenNames } from './state-at.js'

/** What the journal lacks: anything that was not found may be in that. */
type Lack = Pick<RangeVerdict, 'exit' | 'findings'>

/** The journal has no record of this name. */
export function notFound(
  name: RecordName,
  { personas, nearest }: Pick<SeenNames, 'personas' | 'nearest'>,
  lack: Lack,
): KimError {
  const what = `holds no ${name.kind === 'seq' ? `record with seq ${name.text}` : `event ${safeText(name.text)}`}`
  if (lack.exit !== 0) return absent('no_record', what, undefined, lack)
  const seqs = 'see which seqs there are: kim-replay stats (with the same --events or --store)'
  if (name.kind === 'seq') return absent('no_record', what, seqs, lack)
  if (!personas.has(name.persona))
    return absent('no_record', what, noSuchPersona(name.persona, personas), lack)
  const hint =
    name.kind !== 'message' || nearest === undefined
      ? undefined
      : `did you mean ${safeText(name.persona)}:new:${nearest}? It is the nearest message`
  return absent('no_record', what, hint, lack)
}

/** No record is as old as the time that was asked for; `earliest` is the oldest time there is. */
export function tooOld(text: string, earliest: string | undefined, lack: Lack): KimError {
  const what = `no record as old as ${safeText(text)}`
  const hint =
    earliest === undefined ? 'no record has a time' : `the earliest record has the time ${safeText(earliest)}`
  if (lack.exit !== 0) return absent('no_record', `holds ${what}`, hint, lack)
  return new KimError('no_record', `there is ${what}`, { hint })
}

/** The journal knows no persona of this name. */
export function unknownPersona(name: string, personas: Iterable<string>, lack: Lack, when = ''): KimError {
  const hint = noSuchPersona(name, new Set(personas), when)
  return absent('no_persona', `knows no persona ${safeText(name)}`, hint, lack)
}

/** The journal contains nothing of this type, and it is not a known one. */
export function unknownType(
  type: string,
  held: Iterable<string>,
  known: Iterable<string>,
  lack: Lack,
): KimError {
  const types = [...held].sort()
  const near = didYouMean(type, [...types, ...known])
  const what = `holds no entity of type ${safeText(type)}${safeText(near)}`
  return absent('no_record', what, `there are: ${listed(types)}`, lack)
}

/** No alert of this kind was ever raised, and it is not a known one. */
export function unknownAlertKind(kind: string, known: Iterable<string>, lack: Lack): KimError {
  const kinds = [...known]
  const what = `holds no alert ${safeText(kind)}${safeText(didYouMean(kind, kinds))}`
  return absent('no_record', what, `known kinds are: ${kinds.join(', ')}`, lack)
}

/** If the journal lacks something, what is absent may be in that, and the exit code says so. */
function absent(code: ErrorCode, what: string, hint: string | undefined, { exit, findings }: Lack): KimError {
  if (exit === 0) return new KimError(code, `the journal ${what}`, hint === undefined ? {} : { hint })
  const found = Object.entries(findings).map(
    ([kind, { examples }]) => `${kind}: ${examples[0]?.detail ?? ''}`,
  )
  return new KimError(
    exit === 5 ? 'gap_found' : 'record_corrupt',
    `the readable part of the journal ${what}`,
    {
      hint: `${hint === undefined ? '' : `${hint}; `}${safeText(found.join('; '))}; find the damage: kim-replay verify (with the same --events or --store)`,
    },
  )
}

function noSuchPersona(persona: string, personas: ReadonlySet<string>, when = ''): string {
  const names = [...personas].sort()
  if (names.length === 0)
    return `no available record${when} is about a persona (kim-replay stats, with the same --events or --store, shows where the journal begins)`
  const near = safeText(didYouMean(persona, names).replace(/^; /, ''))
  return `${near === '' ? 'known' : `${near} Known`} personas${when}: ${listed(names)}`
}

const SHOWN = 8

function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, SHOWN)
    .map(name => safeText(name))
    .join(', ')
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown
}
