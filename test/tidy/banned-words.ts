import { repositoryFiles, textOf } from './sources.js'
import { textsIn } from './texts-in.js'

/** Words that make a sentence hard to read, each with what to write instead. */
export const BANNED: Readonly<Record<string, string>> = {
  anew: 'again',
  whoever: 'the actor: the reader, the producer, the user',
  whom: 'the actor, in a sentence of its own',
  nobody: 'no person, no program, no reader: what you mean',
  'is told': 'gets, sees; or the active voice: the producer logs …',
  'stands there': 'is there, exists',
}

/**
 * Files that were written before the ban, and how many banned words each may still have. The list only shrinks;
 * `node test/dist-test/tidy/shrink-banned-words.js` takes out what is no longer needed.
 */
export const LATER: Readonly<Record<string, number>> = JSON.parse(textOf('test/tidy/banned-words-later.json'))

const PATTERN = new RegExp(`\\b(${Object.keys(BANNED).join('|').replaceAll(' ', '\\s+')})\\b`, 'gi')

/** What the ban covers of a file: documents but for code, sentences in sources, data but for comments. */
export function textUnderBan(file: string, text: string): string {
  if (file.endsWith('.md')) return withoutCode(text)
  if (file.endsWith('.yml')) return text.replaceAll(/^\s*#.*$/gm, '')
  if (!/\.(ts|js|mjs)$/.test(file)) return text
  // A text of one word is data, such as a name.
  return textsIn(text)
    .filter(one => /\s/.test(one))
    .join('\n·\n')
}

/** A document without its blocks and spans of code. */
export function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```.*?^```$/gms, '').replaceAll(/(`+)(?!`).+?(?<!`)\1(?!`)/gs, '``')
}

/** The banned words in a text. */
export function bannedIn(text: string): string[] {
  return [...text.matchAll(PATTERN)].map(([word]) => word.toLowerCase().replaceAll(/\s+/g, ' '))
}

/** Files whose words we chose: not the lockfile, the licence, the bytes of vectors and of older stores, nor this ban. */
function isOurs(file: string): boolean {
  if (!/\.(md|ts|js|mjs|json|yml)$/.test(file) || file === 'package-lock.json') return false
  return !/^spec\/(vectors|compat)\/.*\//.test(file) && !/^test\/tidy\/(banned-words|words\.test)/.test(file)
}

/** How many banned words each file has, of those that have any. */
export function bannedByFile(): Record<string, number> {
  const counts = repositoryFiles()
    .filter(isOurs)
    .map(file => [file, bannedIn(textUnderBan(file, textOf(file))).length] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}
