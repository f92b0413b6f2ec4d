import type { CrashChoice } from './sim-disk.js'
import type { SimFs } from './sim-fs.js'

/**
 * Every disk that a loss of power at this moment can leave: each prefix of the pending names, crossed with
 * the pending bytes. Each file in turn takes every prefix of its bytes while the others take none or all.
 */
export function* crashChoices(fs: SimFs): Generator<CrashChoice> {
  const files = fs.disk.unsyncedFiles()
  const names = fs.disk.names.length
  for (let kept = 0; kept <= names; kept++) {
    if (files.length === 0) {
      yield { names: kept, units: new Map() }
      continue
    }
    for (const [turn, file] of files.entries()) {
      const others = files.filter((_, i) => i !== turn)
      for (let mask = 0; mask < 1 << others.length; mask++) {
        const units = new Map(others.map((other, i) => [other.ino, (mask >> i) & 1 ? other.units : 0]))
        // Its two ends were met in the first file's turn already.
        const ends = turn === 0 ? 0 : 1
        for (let n = ends; n <= file.units - ends; n++) {
          yield { names: kept, units: new Map([...units, [file.ino, n]]) }
        }
      }
    }
  }
}
