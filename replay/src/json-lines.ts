/** A JSON document as text, keys sorted, in pieces: a large state need not be one string. */
import { jcs } from '@kim/manifest'
import type { StateDocument } from './state-document.js'

/** The text of a state document, one entity a line. */
export function* stateLines(document: StateDocument): Generator<string> {
  const { at, attention_required, base, digest, entities, entity_count, missing, personas } = document
  yield `{"at":${jcs(at)},\n"attention_required":${attention_required},\n"base":${jcs(base)},\n"digest":"${digest}",\n"entities":{`
  let type = 0
  for (const name of Object.keys(entities).sort()) {
    yield `${type++ === 0 ? '' : ','}\n${jcs(name)}:{`
    const ofType = entities[name] ?? {}
    let at = 0
    for (const id of Object.keys(ofType).sort())
      yield `${at++ === 0 ? '' : ','}\n${jcs(id)}:${jcs(ofType[id])}`
    yield '}'
  }
  yield `},\n"entity_count":${entity_count},\n"missing":${jcs(missing)},\n"personas":{`
  let persona = 0
  for (const name of Object.keys(personas).sort())
    yield `${persona++ === 0 ? '' : ','}\n${jcs(name)}:${jcs(personas[name])}`
  yield `},\n"registry_authoritative":${document.registry_authoritative}}\n`
}
