/**
 * Writes docs/sdk-reference.md from the declarations that the compiler emits for the doors of `@kim/observer-sdk`.
 * `node scripts/dist/gen-sdk-reference.js [folder of the repository] [file to write]`
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../../', import.meta.url))
const [repository = own, out = join(own, 'docs/sdk-reference.md')] = process.argv.slice(2)

/** The doors: how they are imported, and where they are declared. */
const DOORS = [
  ['@kim/observer-sdk', 'index'],
  ['@kim/observer-sdk/history', 'history-door'],
  ['@kim/observer-sdk/verify', 'verify-door'],
  ['@kim/observer-sdk/consumers', 'consumers-door'],
] as const

/** What begins a declaration at the left margin; the name is the last group. */
const DECLARATION = /^(?:export )?(?:declare )?(?:(?:abstract )?class|function|interface|type|const) ([\w$]+)/

/** One declaration of a file, with the comment before it. */
interface Declaration {
  readonly name: string
  readonly comment: string
  readonly text: string
}

interface DeclarationFile {
  readonly path: string
  /** What the file says of itself. */
  readonly comment: string
  readonly declarations: readonly Declaration[]
  /** Exported names that are declared elsewhere, in their order. */
  readonly passedOn: ReadonlyMap<string, { readonly name: string; readonly from: string }>
}

const files = new Map<string, DeclarationFile>()

function declarationFile(path: string): DeclarationFile {
  const known = files.get(path)
  if (known !== undefined) return known
  const read = readDeclarations(path, readFileSync(path, 'utf8'))
  files.set(path, read)
  return read
}

/** The compiler writes each declaration from the left margin on, and its end there too if it has several lines. */
function readDeclarations(path: string, text: string): DeclarationFile {
  const declarations: Declaration[] = []
  const passedOn = new Map<string, { name: string; from: string }>()
  const lines = text.split('\n')
  let comment: string[] = []
  let first: string[] | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.startsWith('/**')) {
      const end = lines.findIndex((each, n) => n >= at && each.includes('*/'))
      comment = lines.slice(at, end + 1)
      at = end
      first ??= comment
      continue
    }
    const list = /^export (?:type )?\{(.*)\} from '(.*)';$/.exec(line)
    for (const each of list?.[1]?.split(',') ?? []) {
      const [name = '', alias = name] = each
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      if (name !== '') passedOn.set(alias, { name, from: list?.[2] ?? '' })
    }
    const name = DECLARATION.exec(line)?.[1]
    if (name !== undefined) {
      const next = lines.findIndex((each, n) => n > at && !/^[ })\]]/.test(each))
      const end = (next < 0 ? lines.length : next) - 1
      declarations.push({ name, comment: prose(comment), text: lines.slice(at, end + 1).join('\n') })
      at = end
    }
    comment = []
  }
  return { path, comment: prose(first ?? []), declarations, passedOn }
}

/** The text of a comment, without its frame. */
function prose(comment: readonly string[]): string {
  return comment
    .map(line =>
      line
        .replace(/^\s*\/?\*\*? ?/, '')
        .replace(/\s*\*\/$/, '')
        .trimEnd(),
    )
    .join('\n')
    .replace(/^\/$/m, '')
    .trim()
}

/** Where a module that a file names is declared. */
function moduleOf(file: string, name: string): string {
  if (name === '@kim/manifest') return join(repository, 'manifest/dist/index.d.ts')
  return resolve(dirname(file), name.replace(/\.js$/, '.d.ts'))
}

interface Found {
  readonly file: DeclarationFile
  readonly declarations: readonly Declaration[]
}

/** The declarations of a name that a file exports: several if it is a function with overloads. */
function find(file: DeclarationFile, name: string): Found {
  const declarations = file.declarations.filter(declaration => declaration.name === name)
  if (declarations.length > 0) return { file, declarations }
  const elsewhere = file.passedOn.get(name)
  if (elsewhere === undefined) throw new Error(`${file.path} does not export ${name}`)
  return find(declarationFile(moduleOf(file.path, elsewhere.from)), elsewhere.name)
}

/** A declaration as a reader needs it: without the words of an export and without what is private or protected. */
function shown({ file, declarations }: Found, name: string): string {
  return declarations
    .map(declaration => {
      const keys = keysOf(file, declaration.text)
      const text = keys ?? withoutHidden(declaration.text)
      return oneBelowTheOther(text)
        .replace(/^(export |declare )+/, '')
        .replace(new RegExp(`\\b${declaration.name}\\b`), name)
        .replace(/^( {4})+/gm, indent => ' '.repeat(indent.length / 2))
        .replace(/;$/gm, '')
    })
    .join('\n')
}

/** A type that is the keys of a constant says nothing by itself: the keys are listed. */
function keysOf(file: DeclarationFile, text: string): string | undefined {
  const [, head, constant] = /^(export type \w+ = )keyof typeof (\w+);$/.exec(text) ?? []
  const declared = file.declarations.find(({ name }) => name === constant)
  if (head === undefined || declared === undefined) return undefined
  const keys = [...declared.text.matchAll(/^ {4}readonly (\w+):/gm)].map(([, key]) => `\n    | '${key}'`)
  return head.trimEnd() + keys.join('')
}

/** A long choice of texts, one on each line. */
function oneBelowTheOther(text: string): string {
  const isLongChoice = text.length > 110 && /^export type \w+ = ('\w+'[ |;]*)+$/.test(text)
  return isLongChoice ? text.replace(/(?<==) (?=')/, '\n    | ').replace(/(?<=') (?=\| ')/g, '\n    ') : text
}

/** The members of a class or an interface that are public, with their comments. */
function withoutHidden(text: string): string {
  const comment = ' {4}/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n'
  const hidden = ' {4}(?:#private;|(?:private|protected) .*)\\n'
  return text.replace(new RegExp(`^(?:${comment})?${hidden}`, 'gm'), '')
}

const code = (text: string): string => `\`\`\`ts\n${text.trim()}\n\`\`\`\n`

/** Names that say nothing of themselves. */
const missing: string[] = []

function entry(found: Found, name: string): string {
  const comment = found.declarations.map(declaration => declaration.comment).find(text => text !== '')
  if (comment === undefined) missing.push(`${name} (${found.file.path})`)
  const [text = '', ...examples] = (comment ?? '').split(/^@example\n/m)
  const used = examples.map(example => `For example:\n\n${code(example)}`)
  return [`### ${name}\n`, `${text.trim()}\n`, code(shown(found, name)), ...used].join('\n')
}

function page(): string {
  const seen = new Map<Declaration | undefined, string>()
  const parts = DOORS.map(([door, path]) => {
    const file = declarationFile(join(repository, `observer-sdk/dist/${path}.d.ts`))
    const entries: string[] = []
    const repeated: string[] = []
    for (const name of [...file.passedOn.keys()].sort((a, b) => a.localeCompare(b, 'en'))) {
      const found = find(file, name)
      if (seen.has(found.declarations[0])) repeated.push(`[${name}](#${name.toLowerCase()})`)
      else entries.push(entry(found, name))
      seen.set(found.declarations[0], door)
    }
    const also = repeated.length === 0 ? [] : [`It also exports ${repeated.join(', ')}.\n`]
    return [`## ${door}\n`, `${file.comment}\n`, ...also, ...entries].join('\n')
  })
  return `# Reference of the SDK

Every public name of \`@kim/observer-sdk\`, by the door that exports it, with its types. The
[guide](../observer-sdk/README.md) shows how to use them. \`npm run gen:reference\` writes this page from the types and their comments.

${parts.join('\n')}`
}

const text = page()
if (missing.length > 0) {
  process.stderr.write(`without a comment:\n  ${missing.join('\n  ')}\n`)
  process.exitCode = 1
} else writeFileSync(out, text)
