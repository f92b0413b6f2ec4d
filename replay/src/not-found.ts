import { didYouMean, safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import type { Missing } from './damage.js'
import type { EventName } from './event-name.js'

/** What a search came by. */
export interface Known {
  readonly personas: ReadonlySet<string>
  /** Of the messages of the persona that was named, the number that is closest. */
  readonly nearest: number | undefined
}

/** What the journal lacks, among which anything that was not found may be. */
type Lack = Pick<Missing, 'exit' | 'findings'>

/** The journal holds no record of this name, or it is among what is missing; says which persona may have been meant. */
export function notFound(name: EventName, { personas, nearest }: Known, lack: Lack): KimError {
  const what = name.kind === 'seq' ? `record with seq ${name.text}` : `event ${safeText(name.text)}`
  if (lack.exit !== 0) return notInWhatCanBeRead(`holds no ${what}`, lack)
  if (name.kind === 'seq' || personas.has(name.persona))
    return new KimError('no_record', `the journal holds no ${what}`, nearestHint(name, nearest))
  return new KimError('no_record', `the journal holds no ${what}`, {
    hint: noSuchPersona(name.persona, personas),
  })
}

function nearestHint(name: EventName, nearest: number | undefined): { readonly hint?: string } {
  if (name.kind === 'seq') return { hint: 'see which seqs there are: kim-replay stats' }
  if (name.kind !== 'message' || nearest === undefined) return {}
  return { hint: `did you mean ${safeText(name.persona)}:new:${nearest}? It is the nearest message` }
}

/** No record is as old as the time that was asked for, or such a one is missing; `earliest` is the oldest time there is. */
export function tooOld(text: string, earliest: string | undefined, lack: Lack): KimError {
  const what = `no record as old as ${safeText(text)}`
  const hint =
    earliest === undefined ? 'no record has a time' : `the earliest record has the time ${safeText(earliest)}`
  if (lack.exit !== 0) return notInWhatCanBeRead(`holds ${what}`, lack, hint)
  return new KimError('no_record', `there is ${what}`, { hint })
}

/** The journal knows nobody of this name, or what it lacks may. */
export function unknownPersona(persona: string, personas: Iterable<string>, lack: Lack): KimError {
  const what = `knows no persona ${safeText(persona)}`
  const hint = noSuchPersona(persona, new Set(personas))
  if (lack.exit !== 0) return notInWhatCanBeRead(what, lack, hint)
  return new KimError('no_persona', `the journal ${what}`, { hint })
}

/** The journal holds nothing of this type, and nobody else does. */
export function unknownType(
  type: string,
  held: Iterable<string>,
  known: Iterable<string>,
  lack: Lack,
): KimError {
  const types = [...held].sort()
  const near = didYouMean(type, [...types, ...known])
  const what = `holds no item of type ${safeText(type)}${safeText(near)}`
  const hint = `there are: ${listed(types)}`
  if (lack.exit !== 0) return notInWhatCanBeRead(what, lack, hint)
  return new KimError('no_record', `the journal ${what}`, { hint })
}

/** No alert of this kind was ever raised, and none ever is. */
export function unknownAlertKind(kind: string, known: Iterable<string>, lack: Lack): KimError {
  const kinds = [...known]
  const what = `holds no alert ${safeText(kind)}${safeText(didYouMean(kind, kinds))}`
  const hint = `known kinds are: ${kinds.join(', ')}`
  if (lack.exit !== 0) return notInWhatCanBeRead(what, lack, hint)
  return new KimError('no_record', `the journal ${what}`, { hint })
}

/** It may be among what is missing, which has the exit code then. */
function notInWhatCanBeRead(what: string, { exit, findings }: Lack, hint?: string): KimError {
  const found = Object.entries(findings).map(
    ([kind, { examples }]) => `${kind}: ${examples[0]?.detail ?? ''}`,
  )
  return new KimError(
    exit === 5 ? 'gap_found' : 'record_corrupt',
    `the readable part of the journal ${what}`,
    {
      hint: `${hint === undefined ? '' : `${hint}; `}${safeText(found.join('; '))}; find the damage: kim-replay verify`,
    },
  )
}

function noSuchPersona(persona: string, personas: ReadonlySet<string>): string {
  const names = [...personas].sort()
  return `no persona ${safeText(persona)}${safeText(didYouMean(persona, names))}; there are: ${listed(names)}`
}

const SHOWN = 8

function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, SHOWN)
    .map(name => safeText(name))
    .join(', ')
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown
}
