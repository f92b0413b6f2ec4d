import type { Group } from './all.js'

// Why a row of recovery.md has no vector. Everything that bytes at rest can show has one.

const inMotion =
  'what a reader makes of it depends on what it saw before, and a vector is one look at files at rest'
const writerOnly = 'the bytes are those of the row named; the rows differ in what the writer does next'

const withoutVector: readonly (readonly [row: string, why: string])[] = [
  ['M1', 'every other vector has no meta.json'],
  ['R5', `a segment of 10 MiB; to a reader as R3: ${writerOnly}`],
  ['R6', `a segment of 10 MiB; to a reader as R4: ${writerOnly}`],
  ['G7', 'impossible'],
  ['D3', 'impossible'],
  ['X3', 'impossible'],
  ['U2', 'a reader refuses to open, so there is nothing to compare'],
  ['F2', 'the mode of a directory is not in a vector, and a reader run as root would not notice it'],
  ['F3', inMotion],
  ['F7', 'the mode of a file is not in a vector; `unreadable` counts while following only'],
  ['F9', inMotion],
  ['F10', inMotion],
  ['F11', inMotion],
  ['F12', inMotion],
  ['F13', inMotion],
  ['F14', inMotion],
  ['F15', inMotion],
]

const intro = `# Conformance vectors

Journals as bytes, and what any reader in any language must make of them. Each folder is one case, named for
what is the matter with it:

\`\`\`
<name>/events/…      the directory a reader is pointed at; a case without it is about its absence
<name>/cursor.json   the cursor the reader opens with, where it has one
<name>/expect.json   what it must find, members as in OB-62 of ../observer-protocol.md
\`\`\`

An implementation is judged through the command of OB-61, twice for each vector:

\`\`\`
node test/dist-test/conformance/runner.js -- <cmd> [args]
\`\`\`

Everything here, this page included, is written by \`node scripts/dist/gen-vectors.js\` from the declarations in
\`scripts/src/vectors/\`; a second run changes nothing, and a test compares the two. What a reader must find is stated
by hand in each declaration. Only the digest is computed there, from the list of live entities, by code that no
reader shares. Do not edit the files: change the declaration, and say in the commit which reader was wrong.
`

/** The page that names every vector, what it shows, and the rows and clauses it stands for. */
export function readmeText(groups: readonly Group[]): string {
  const tables = groups.map(({ heading, vectors }) => {
    const rows = vectors.map(({ name, shows, cites }) => `| \`${name}\` | ${shows} | ${cites.join(' ')} |`)
    return [`## ${heading}`, '', '| vector | shows | stands for |', '|---|---|---|', ...rows, ''].join('\n')
  })
  const rows = withoutVector.map(([row, why]) => `| ${row} | ${why} |`)
  const rest = [
    '## Rows of recovery.md without a vector',
    '',
    '| row | why |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n')
  return `${intro}\n${tables.join('\n')}\n${rest}`
}
