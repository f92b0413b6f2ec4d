import { createHash } from 'node:crypto'

/** Room for what a template puts around it, and for the number of a rotated file, in the 255 bytes of a name. */
const NAME_BYTES_MAX = 120
const HASH_DIGITS = 8

/** What stands for a persona in a template. */
const PLACEHOLDER = '{persona}'
/** With such an end of a template, the number of a rotated file can be part of another persona's name. */
const NUMBER_LIKE = /^\d*(\.\d+)*$/
/** Such a name may be that of a rotated file. */
const NUMBERED = /\.\d*$/

/**
 * The part of a file's name that stands for a persona (KS-68). File systems that fold case hold one file for two
 * spellings, so names are folded; two personas that would get one name are told apart by a hash, and so is one whose
 * file could be taken for a rotated one of another. Who has a name keeps it: a consumer is following that file.
 */
export class FileNames {
  readonly #byPersona: Map<string, string>
  readonly #taken: Set<string>

  readonly #mayBeRotated: (name: string) => boolean

  /** `given`: names of earlier lives; what could be a rotated file is overwritten some day, and not kept. */
  constructor(template: string, given: readonly (readonly [persona: string, name: string])[] = []) {
    const end = template.slice(template.lastIndexOf(PLACEHOLDER) + PLACEHOLDER.length)
    this.#mayBeRotated = name => NUMBER_LIKE.test(end) && NUMBERED.test(name)
    this.#byPersona = new Map(given.filter(([, name]) => !this.#mayBeRotated(name)))
    this.#taken = new Set(this.#byPersona.values())
  }

  /** What was given out so far. */
  get given(): readonly (readonly [persona: string, name: string])[] {
    return [...this.#byPersona]
  }

  of(persona: string): string {
    const known = this.#byPersona.get(persona)
    if (known !== undefined) return known
    const name = this.#free(persona)
    this.#byPersona.set(persona, name)
    this.#taken.add(name)
    return name
  }

  #free(persona: string): string {
    const plain = safeName(persona)
    const isWhole = Buffer.byteLength(plain) <= NAME_BYTES_MAX && isFileName(plain)
    if (isWhole && !this.#taken.has(plain) && !this.#mayBeRotated(plain)) return plain
    const hash = createHash('sha256').update(persona).digest('hex')
    const stem = firstBytes(plain.replace(/^\.+$/, ''), NAME_BYTES_MAX - 1 - HASH_DIGITS)
    const short = `${stem}-${hash.slice(0, HASH_DIGITS)}`
    return this.#taken.has(short) ? hash : short
  }
}

/** True for what can have been given out: one part of a path, and never one that leads upwards. */
export function isFileName(name: string): boolean {
  return /^[\p{L}\p{N}._-]+$/u.test(name) && !/^\.+$/.test(name)
}

/** What the older monitor made of a name: it knew neither a longest name nor two that become one. */
export function olderFileName(persona: string): string {
  return safeName(persona)
}

/** Lower case, and nothing but letters, digits and `._-`: no separator, no shell word, nothing invisible. */
function safeName(persona: string): string {
  return persona
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}._-]/gu, '_')
}

function firstBytes(text: string, bytes: number): string {
  let used = 0
  let kept = ''
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) break
    kept += character
  }
  return kept
}
