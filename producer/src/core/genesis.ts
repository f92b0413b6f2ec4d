import { registryCapability, registryOfAllCapability } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import { listUnits } from './names.js'

/** A note holds so many UTF-16 units of names; more names go into further parts of it. */
const PART_UNITS_MAX = 8000

/** Whether the note is still to be appended: once, and once more when a list becomes all (KS-40). */
export function needsGenesis(capabilities: ReadonlySet<string>, mode: 'all' | 'list'): boolean {
  return !capabilities.has(mode === 'all' ? registryOfAllCapability : registryCapability)
}

/** The note, in as many parts as the names need. */
export function genesisDrafts(
  mode: 'all' | 'list',
  personas: readonly string[],
  missing: readonly string[],
): Draft[] {
  const parts = partsOf([
    ...personas.map(name => ({ name, isMissing: false })),
    ...missing.map(name => ({ name, isMissing: true })),
  ])
  return parts.map((names, at) => ({
    agent: 'kim',
    action: 'journal_note',
    item_type: 'journal',
    item_id: 'registry_genesis',
    summary: `the journal covers ${personas.length} personas, ${missing.length} are missing`,
    payload: {
      schema_version: 1,
      kind: 'registry_genesis',
      mode,
      personas: names.filter(({ isMissing }) => !isMissing).map(({ name }) => name),
      missing: names.filter(({ isMissing }) => isMissing).map(({ name }) => name),
      ...(parts.length > 1 ? { part: at + 1, parts: parts.length } : {}),
    },
  }))
}

interface Listed {
  readonly name: string
  readonly isMissing: boolean
}

function partsOf(names: readonly Listed[]): Listed[][] {
  const parts: Listed[][] = [[]]
  let units = 0
  for (const listed of names) {
    units += listUnits(listed.name)
    if (units > PART_UNITS_MAX && (parts.at(-1)?.length ?? 0) > 0) {
      parts.push([])
      units = listUnits(listed.name)
    }
    parts.at(-1)?.push(listed)
  }
  return parts
}
