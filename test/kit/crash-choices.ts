import { type CrashChoice, pageBytes, sectorBytes, unsyncedSectors } from './sim-disk.js'
import type { SimFs } from './sim-fs.js'
import type { FileNode } from './sim-node.js'

/** Of more pending bytes than this in one file, not every prefix is taken. */
const everyPrefixMax = { usual: 1100, thorough: 16_384 }
/** Bytes at both ends of a write of which every prefix is taken. */
const edge = 48
/** Of a file with more sectors than this, not every pair is lost. */
const everyPairMax = 12

/**
 * The disks that a loss of power at this moment can leave. Every prefix of the pending names, each with none
 * and with all of every file's pending bytes, crossed; and with all names, each file in turn with every
 * prefix of its bytes, the other files having all of theirs. Where more than 1100 bytes are pending in one file,
 * the prefixes are those near both ends of each write and near each sector's end. Last, with everything else on the
 * disk, each file in turn without one of its sectors, without one of its pages, without any two of few sectors, and
 * without all sectors but one.
 *
 * `thorough` takes the prefixes with every prefix of the names, with every choice of the other files, and
 * of up to 16 KiB.
 */
export function* crashChoices(fs: SimFs, thorough = false): Generator<CrashChoice> {
  const files = fs.disk.unsyncedFiles()
  const names = fs.disk.names.length
  const max = thorough ? everyPrefixMax.thorough : everyPrefixMax.usual
  for (let kept = 0; kept <= names; kept++) {
    for (const mask of subsets(files.length)) {
      yield {
        names: kept,
        units: new Map(files.map((file, i) => [file.ino, (mask >> i) & 1 ? file.units : 0])),
      }
    }
    if (kept < names && !thorough) continue
    yield* lostMiddles(fs, kept)
    for (const file of files) {
      const others = files.filter(other => other !== file)
      const cuts = prefixes(fs.disk.node(file.ino) as FileNode, file.units, max)
      for (const mask of thorough ? subsets(others.length) : [all(others.length)]) {
        const units = others.map((other, i): [number, number] => [
          other.ino,
          (mask >> i) & 1 ? other.units : 0,
        ])
        for (const cut of cuts) yield { names: kept, units: new Map([...units, [file.ino, cut]]) }
      }
    }
  }
}

/** All bytes of all files, without some of the sectors of one file. */
function* lostMiddles(fs: SimFs, names: number): Generator<CrashChoice> {
  const files = fs.disk.unsyncedFiles()
  const units = new Map(files.map(file => [file.ino, file.units]))
  for (const { ino } of files) {
    const sectors = unsyncedSectors(fs.disk.node(ino) as FileNode)
    if (sectors.length < 2) continue
    for (const lost of sectorSets(sectors)) yield { names, units, lost: new Map([[ino, new Set(lost)]]) }
  }
}

function* sectorSets(sectors: readonly number[]): Generator<readonly number[]> {
  const pageOf = (sector: number): number => Math.floor((sector * sectorBytes) / pageBytes)
  for (const [i, sector] of sectors.entries()) {
    yield [sector]
    yield sectors.filter(other => other !== sector)
    if (sectors.length > everyPairMax) continue
    for (const other of sectors.slice(i + 1)) yield [sector, other]
  }
  for (const page of new Set(sectors.map(pageOf))) yield sectors.filter(sector => pageOf(sector) === page)
}

const all = (files: number): number => (1 << files) - 1

/** Which of so many files: every subset of a few; of more, none, all, each one, and all but each one. */
function subsets(files: number): number[] {
  if (files <= 3) return Array.from({ length: all(files) + 1 }, (_, mask) => mask)
  const single = Array.from({ length: files }, (_, i) => 1 << i)
  return [0, all(files), ...single, ...single.map(one => all(files) & ~one)]
}

/** Lengths strictly between nothing and everything at which a file's pending bytes may be cut. */
function prefixes(file: FileNode, units: number, max: number): number[] {
  const cuts = new Set<number>()
  const near = (at: number, reach: number): void => {
    for (let n = at - reach; n <= at + reach; n++) if (n > 0 && n < units) cuts.add(n)
  }
  if (units <= max) near(0, units)
  else {
    let at = 0
    for (const op of file.pending) {
      near(at, edge)
      at += op.kind === 'truncate' ? 1 : op.bytes.length
    }
    near(units, edge)
    for (let n = sectorBytes; n < units; n += sectorBytes) near(n, 1)
  }
  return [...cuts].sort((a, b) => a - b)
}
