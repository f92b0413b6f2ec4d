import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Program } from '@kim/cli-kit'
import { withoutCode } from './banned-words.js'
import { repositoryFiles, root, textOf } from './sources.js'

/** One entry of the glossary. */
export interface Entry {
  readonly term: string
  readonly meaning: string
}

/** The entries of a glossary, in its order: `- **term** – meaning`. */
export function entriesOf(glossary: string): Entry[] {
  return [...glossary.matchAll(/^- \*\*([^*]+)\*\* – ((?:.+\n?)(?: {2}.+\n?)*)/gm)].map(
    ([, term = '', meaning = '']) => ({ term, meaning: meaning.replaceAll(/\s+/g, ' ').trim() }),
  )
}

/** Where a program's table is in the built tree. */
const PROGRAMS = ['producer/dist/cli/program.js', 'tail/dist/program.js', 'replay/dist/cli/program.js']

/** The tables of our programs, from which their help is printed. */
export async function programs(): Promise<Program[]> {
  const modules = PROGRAMS.map(path => import(pathToFileURL(join(root, path)).href))
  return (await Promise.all(modules)).flatMap((module: Readonly<Record<string, Program>>) =>
    Object.values(module),
  )
}

/** Everything that help prints in words. */
export function helpText(all: readonly Program[]): string {
  const texts = all.flatMap(({ about, commands, exitCodes }) => [
    about,
    ...exitCodes.map(([, meaning]) => meaning),
    ...commands.flatMap(command => [
      command.about,
      ...(command.notes ?? []),
      ...command.flags.map(flag => flag.about),
      ...(command.positionals ?? []).map(positional => positional.about),
      ...(command.examples ?? []).map(([, what]) => what),
    ]),
  ])
  return texts.join('\n')
}

/** Words and phrases that a document sets in italics. */
export function italicsIn(markdown: string): string[] {
  const found = withoutCode(markdown).matchAll(/(?<![*\w])\*(?![\s*])([^*]+?)\*(?!\*)/g)
  return [...found].map(([, phrase = '']) => phrase.replaceAll(/\s+/g, ' '))
}

/** README and the pages for people who run it. */
export function guides(): string[] {
  return ['README.md', ...repositoryFiles().filter(file => /^docs\/[\w-]+\.md$/.test(file))]
}

/** Names that a public door lets out. */
export function publicNames(door: string): string[] {
  const lists = [...textOf(door).matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = '']) => list)
  return lists.flatMap(list => [...list.matchAll(/\b(?!type\b)\w+(?=\s*(?:,|$))/g)].map(([name]) => name))
}

/** The words of a name: `checkpoint`, `stats` of `CheckpointStats`, and so for `on-gap` and `store_full`. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word !== '')
}

/** The forms in which a word occurs in a sentence: plural, past and so on. */
export function formsOf(term: string): RegExp {
  const stem = term.replace(/(e|y)$/, '').replaceAll(/[\s-]+/g, '[\\s-]+')
  const last = term.at(-1) ?? ''
  const ends = last === 'y' ? '(y|ies|ied)' : last === 'e' ? '(e|es|ed|ing)' : `(${last}?(s|es|ed|ing))?`
  return new RegExp(`\\b${stem}${ends}\\b`, 'i')
}
