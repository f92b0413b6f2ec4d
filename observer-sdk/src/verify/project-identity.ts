import type { ReadRecord } from '@kim/manifest'
import type { FindingLocation, FindingLog } from './findings.js'

/** Which project a journal says it is; every genesis note, seal and checkpoint must say the same. */
export class ProjectIdentity {
  readonly #log: FindingLog
  #id: string | undefined

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** The project, once something has named it. */
  get id(): string | undefined {
    return this.#id
  }

  /** A record: a genesis note or a seal names a project. */
  record(record: ReadRecord, place: FindingLocation): void {
    if (record.action !== 'journal_note') return
    const kind = record.payload?.['kind']
    const id = record.payload?.['project_id']
    if ((kind !== 'genesis' && kind !== 'segment_sealed') || typeof id !== 'string' || id === '') return
    this.#id ??= id
    if (id !== this.#id) this.#log.report('chain_broken', place, `names project ${id}, not ${this.#id}`)
  }
}
