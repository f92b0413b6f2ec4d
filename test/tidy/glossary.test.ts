import { errorCodes } from '@kim/manifest'
import t from 'tap'
import { withoutCode } from './banned-words.js'
import {
  entriesOf,
  formsOf,
  guides,
  helpText,
  italicsIn,
  programs,
  publicNames,
  wordsOf,
} from './glossary.js'
import { JARGON, PLAIN_WORDS } from './plain-words.js'
import { textOf } from './sources.js'

/** More terms than this, and a newcomer stops reading. */
const TERMS_MAX = 40

const entries = entriesOf(textOf('GLOSSARY.md'))
const all = await programs()

/** Terms with an entry, and the words that an entry introduces in italics. */
const explained = entries.flatMap(({ term, meaning }) => [term, ...italicsIn(meaning)])

/** Whether a word is one of the glossary, in any of its forms, or part of a term there. */
function isTerm(word: string): boolean {
  return explained.some(term =>
    term.split(/\s+/).some(part => new RegExp(`^(${formsOf(part).source})$`, 'i').test(word)),
  )
}

t.test('glossary - has at most 40 terms, in order, each explained once', async t => {
  const terms = entries.map(({ term }) => term)
  t.equal(terms.length, textOf('GLOSSARY.md').match(/^- /gm)?.length, 'every entry was read')
  t.ok(terms.length > 20 && terms.length <= TERMS_MAX, `${terms.length} terms`)
  t.same(
    terms,
    [...new Set(terms)].toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), 'en')),
  )
  const long = entries.flatMap(({ term, meaning }) =>
    meaning
      .split(/(?<=[.?])\s+/)
      .filter(sentence => sentence.split(' ').length > 25)
      .map(sentence => `${term}: ${sentence}`),
  )
  t.same(long, [], 'no sentence has more than 25 words')
})

t.test('glossary - each term is used in README, docs or help', async t => {
  const text = [...guides().map(textOf), helpText(all)].join('\n')
  t.ok(helpText(all).length > 5000, 'help was read')
  const used = ({ term }: { readonly term: string }): boolean => formsOf(term).test(text)
  t.same(
    entries.filter(entry => !used(entry)).map(({ term }) => term),
    [],
  )
  t.equal(used({ term: 'flux capacitor' }), false)
})

t.test('glossary - explains every word that README and docs set in italics', async t => {
  let seen = 0
  const unknown: string[] = []
  for (const file of guides()) {
    for (const phrase of italicsIn(textOf(file))) {
      seen++
      const found = explained.some(term => new RegExp(`^(${formsOf(term).source})$`, 'i').test(phrase))
      if (!found) unknown.push(`${file}: ${phrase}`)
    }
  }
  t.ok(seen > 20, `${seen} words in italics`)
  t.same(unknown, [], 'italics introduce a term; literal output is code')
})

t.test(
  'names - of commands, flags, error codes and public types are glossary words or plain ones',
  async t => {
    const names = new Set([
      ...all.flatMap(({ commands }) =>
        commands.flatMap(({ name, flags }) => [name, ...flags.map(flag => flag.name)]),
      ),
      ...Object.keys(errorCodes),
      ...publicNames('observer-sdk/src/index.ts'),
      ...publicNames('producer/src/index.ts'),
    ])
    t.ok(names.size > 150 && names.has('max-replay') && names.has('store_full') && names.has('openObserver'))
    const unexplained = [...names].flatMap(name =>
      wordsOf(name)
        .filter(word => !isTerm(word) && !PLAIN_WORDS.has(word))
        .map(word => `${word} (${name})`),
    )
    t.same(unexplained, [], 'explain the word in GLOSSARY.md, or say in plain-words.ts that it is plain')
    const both = [...PLAIN_WORDS].filter(isTerm)
    t.same(both, [], 'a term of the glossary is not also listed as plain')
  },
)

t.test('jargon - is not used in README, docs and help without an explanation', async t => {
  const texts = [
    ...guides().map(file => [file, withoutCode(textOf(file))] as const),
    ['help', helpText(all)] as const,
  ]
  const used = texts.flatMap(([where, text]) =>
    JARGON.filter(word => !isTerm(word) && formsOf(word).test(text)).map(word => `${where}: ${word}`),
  )
  t.same(used, [], 'use a word of the glossary, add it there, or say it in plain words')
})

t.test('names - are split into their words', async t => {
  t.same(wordsOf('CheckpointStats'), ['checkpoint', 'stats'])
  t.same(wordsOf('cursors ls'), ['cursors', 'ls'])
  t.same(wordsOf('on-gap'), ['on', 'gap'])
  t.ok(formsOf('hash chain').test('the hash\nchains'))
  t.ok(formsOf('acknowledge').test('it acknowledged') && formsOf('activity').test('activities'))
  t.notOk(formsOf('seal').test('sealant'))
})
