import type { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  crashChoices,
  eventsDir,
  isSoak,
  objections,
  readNaively,
  type Scratch,
  type SimFs,
  type Site,
} from '../kit/index.js'

/** A check of one's own, after the store was opened again. */
export type Inspect = (site: Site) => string[]

/**
 * Says what is wrong with a disk that a fault left behind, by living on with it: open it with production code,
 * ask again for what was in flight and has a key, append, roll, checkpoint, lose power once more with nothing
 * reaching the disk that was not synced, open again, append again. After that every promise must have been
 * kept and `verify` must find nothing.
 */
export class Judge {
  readonly #scratch: Scratch
  readonly #inspect: Inspect
  readonly #thorough: boolean
  readonly #lefts = new Map<string, number>()
  readonly #seen = new Set<string>()
  /** Disks that were judged; one that equals another is judged once. */
  disks = 0

  constructor(scratch: Scratch, inspect: Inspect = () => [], thorough = isSoak()) {
    this.#scratch = scratch
    this.#inspect = inspect
    this.#thorough = thorough
  }

  /**
   * `site` is where the fault struck; `left` is the machine it left, which goes on or loses power now. Tells
   * the violations of the first disk that has any, with the way it came about; returns how many ways there are.
   */
  async judge(site: Site, left: SimFs, report: (violation: string) => void): Promise<number> {
    const key = fingerprint(left, site)
    const known = this.#lefts.get(key)
    const cases = known ?? 1 + [...crashChoices(left, this.#thorough)].length
    this.#lefts.set(key, cases)
    // The very same machine was judged before, in every way it can go on.
    if (known !== undefined) return cases
    let isSound = await this.#one(site, left, violation => report(`nothing else: ${violation}`))
    let n = 0
    for (const choice of crashChoices(left, this.#thorough)) {
      if (!isSound) break
      isSound = await this.#one(site, left.crash(choice), violation =>
        report(`power lost (${n}): ${violation}`),
      )
      n++
    }
    return cases
  }

  async #one(site: Site, disk: SimFs, report: (violation: string) => void): Promise<boolean> {
    const key = fingerprint(disk, site)
    if (this.#seen.has(key)) return true
    this.#seen.add(key)
    this.disks++
    const violations = await this.#live(site.fork(disk.restart()))
    for (const violation of violations) report(violation)
    return violations.length === 0
  }

  async #live(site: Site): Promise<string[]> {
    const out: string[] = []
    const step = (what: string, act: () => void): void => {
      try {
        act()
      } catch (error) {
        out.push(`${what}: ${error instanceof Error ? `${error.name} ${error.message}` : String(error)}`)
      }
    }
    step('open', () => {
      const journal = site.open()
      out.push(...site.promises.violations(readNaively(site.fs.files(eventsDir))))
      // Whoever has a key may ask again, whether or not the answer reached it.
      for (const asked of site.promises.asked) {
        if (asked.drafts.every(draft => draft.key !== undefined))
          step('ask again', () => site.again(journal, asked))
      }
      step('append', () => site.append(journal, [site.draft(), site.draft()]))
      out.push(...this.#inspect(site))
    })
    if (out.length > 0) return out
    // Nothing that was not synced by now was promised.
    site.fs = site.fs.crash({ names: 0, units: new Map() })
    step('open again', () => {
      const journal = site.open()
      step('append again', () => site.append(journal, [site.draft()]))
      step('checkpoint', () => journal.checkpoint())
      step('append after the checkpoint', () => site.append(journal, [site.draft()], true))
      step('close', () => journal.close())
    })
    out.push(...site.fs.misuse, ...site.fs.openDescriptors.map(path => `left open: ${path}`))
    out.push(...site.promises.violations(readNaively(site.fs.files(eventsDir))))
    if (out.length === 0) out.push(...this.#inspect(site))
    out.push(...(await objections(this.#scratch.show(site.fs, eventsDir))))
    return out
  }
}

const digests = new WeakMap<Buffer, string>()

function digest(data: Buffer): string {
  let known = digests.get(data)
  if (known === undefined) {
    known = createHash('sha1').update(data).digest('hex')
    digests.set(data, known)
  }
  return known
}

/** Two disks with one fingerprint are one disk, and were promised the same. */
function fingerprint(fs: SimFs, site: Site): string {
  const hash = createHash('sha1')
  for (const dir of fs.directories('/')) hash.update(`d ${dir}\n`)
  for (const [path, data] of fs.files('/')) hash.update(`f ${path} ${digest(data)}\n`)
  hash.update(`n ${fs.disk.names.map(op => op.label).join('|')}\n`)
  for (const { ino, units } of fs.disk.unsyncedFiles()) {
    const node = fs.disk.node(ino)
    if (node.kind === 'file') hash.update(`u ${digest(node.synced)} ${digest(node.data)} ${units}\n`)
  }
  const { asked, visible } = site.promises
  hash.update(
    `p ${visible.seq} ${visible.writer} ${asked.map(({ marks, receipt }) => `${marks.join()}${receipt === undefined ? '?' : '!'}`).join(' ')}`,
  )
  return hash.digest('hex')
}
