import type { Buffer } from 'node:buffer'
import { type NaiveRecord, readNaively, type SimFs } from '../kit/index.js'
import { eventsDir } from './store-dir.js'

/** A simulated journal as a plain reader sees it. A segment is parsed again only if its bytes changed. */
export class JournalText {
  readonly #parsed: Map<string, { readonly data: Buffer; readonly records: readonly NaiveRecord[] }> =
    new Map()

  /** Every record that has effect, in file order, archive included. */
  read(fs: SimFs): NaiveRecord[] {
    const files = fs.files(eventsDir)
    const byName = new Map<string, [string, Buffer]>()
    for (const [path, data] of files) {
      const name = /^(archive\/)?(seg-\d{8}\.jsonl)(\.gz)?$/.exec(path)
      if (name?.[2] === undefined || (name[1] !== undefined && byName.has(name[2]))) continue
      // Live ones win, whichever comes first.
      if (name[1] !== undefined && files.has(name[2])) continue
      byName.set(name[2], [path, data])
    }
    return [...byName.keys()].sort().flatMap(name => {
      const [path, data] = byName.get(name) as [string, Buffer]
      const known = this.#parsed.get(name)
      if (known?.data === data) return known.records
      const records = readNaively(new Map([[path, data]]))
      // What stands where it stood is the very same record.
      if (known !== undefined && data.subarray(0, known.data.length).equals(known.data)) {
        for (const [at, record] of known.records.entries()) records[at] = record
      }
      this.#parsed.set(name, { data, records })
      return records
    })
  }

  /** Parse everything again. */
  forget(): void {
    this.#parsed.clear()
  }

  /** Name of the newest live segment. */
  newest(fs: SimFs): string | undefined {
    return [...fs.files(eventsDir).keys()]
      .filter(path => /^seg-\d{8}\.jsonl$/.test(path))
      .sort()
      .at(-1)
  }

  /** Every record below this number is sealed, as soon as a segment of this name is there. */
  newestNumber(fs: SimFs): number {
    return Number(this.newest(fs)?.slice(4, 12) ?? 1)
  }

  /** What the checkpoints that are there say they cover. */
  checkpoints(fs: SimFs): number[] {
    return [...fs.files(eventsDir).keys()].flatMap(path => {
      const found = /ckpt-(\d{8})\.json$/.exec(path)
      return found?.[1] === undefined ? [] : [Number(found[1])]
    })
  }
}
