import { actionClasses, alertKinds, anomalies, TAIL_ROWS } from '@kim/manifest'
import t from 'tap'
import { repositoryFiles, textOf } from './sources.js'

const pages = repositoryFiles().filter(file => /^spec\/[\w-]+\.md$/.test(file))

/** The part of a page under the heading that begins so. */
function section(page: string, heading: string): string {
  const found = textOf(page)
    .split(/^(?=## )/m)
    .find(part => part.startsWith(`## ${heading}`))
  return found ?? ''
}

/** Cells of the rows of the tables in a text, headings and rulers left out. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter(line => /^\|.*\|$/.test(line))
  const isRuler = (line: string | undefined): boolean => line !== undefined && /^\|[-|]+\|$/.test(line)
  return lines
    .filter((line, at) => !isRuler(line) && !isRuler(lines[at + 1]))
    .map(line =>
      line
        .slice(1, -1)
        .split(' | ')
        .map(cell => cell.trim()),
    )
}

const code = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, inner = '']) => inner)

interface Feature {
  readonly name: string
  readonly values: readonly string[]
}

/** The features listed above a table of decisions. */
function featuresOf(text: string): Feature[] {
  return [...text.matchAll(/^- `(\w+)`: ((?:`\w+`(?:\s*\|\s*)?)+)/gm)].map(([, name = '', values = '']) => ({
    name,
    values: code(values),
  }))
}

function combinations(features: readonly Feature[]): string[][] {
  let all: string[][] = [[]]
  for (const { values } of features) all = all.flatMap(one => values.map(value => [...one, value]))
  return all
}

const accepts = (cell: string | undefined, value: string): boolean =>
  cell === '*' || (cell?.split(' ').includes(value) ?? false)

t.test('recovery - every combination of features meets exactly one row, RC-2', async t => {
  const headings = [...textOf('spec/recovery.md').matchAll(/^## ([A-Z]): /gm)].map(([, label = '']) => label)
  t.same(headings, ['T', 'M', 'R', 'C', 'G', 'D', 'X', 'U', 'F'])
  for (const label of headings) {
    const text = section('spec/recovery.md', `${label}: `)
    const features = featuresOf(text)
    const rows = rowsOf(text)
    t.ok(features.length > 1 && rows.length > 5, `table ${label} was read`)
    t.same(
      rows.map(([name]) => name),
      rows.map((_, at) => `${label}${at + 1}`),
      `labels of table ${label} ascend`,
    )
    const unknown = rows.flatMap(row =>
      features.flatMap(({ values }, at) =>
        (row[at + 1] ?? '').split(' ').filter(value => value !== '*' && !values.includes(value)),
      ),
    )
    t.same(unknown, [], `cells of table ${label} hold values of their feature`)
    const wrong = combinations(features)
      .map(values => ({
        values,
        rows: rows
          .filter(row => values.every((value, at) => accepts(row[at + 1], value)))
          .map(([name]) => name),
      }))
      .filter(match => match.rows.length !== 1)
    t.same(wrong, [], `table ${label} decides everything once`)
  }
})

t.test('recovery - table T is the one the code holds', async t => {
  const rows = rowsOf(section('spec/recovery.md', 'T: ')).map(([label, lines, fragments, actions]) => ({
    label,
    lines,
    fragments: fragments?.split(' '),
    actions: actions === '–' ? [] : actions?.split(' '),
  }))
  t.same(rows, TAIL_ROWS)
})

t.test('clauses - are numbered without gaps, and each number stands once', async t => {
  for (const page of pages) {
    const numbers = [...textOf(page).matchAll(/^\*\*[A-Z]{2}-(\d+)\*\*/gm)].map(([, digits]) =>
      Number(digits),
    )
    t.same(
      numbers.toSorted((a, b) => a - b),
      numbers.map((_, at) => at + 1),
      page,
    )
  }
})

t.test('limits - the table is the data, JF section 21', async t => {
  const data = JSON.parse(textOf('manifest/limits.json')) as Record<string, { value: number; unit: string }>
  const rows = rowsOf(section('spec/journal-format.md', '21. ')).map(([name = '', value, unit]) => [
    code(name)[0],
    Number(value),
    unit,
  ])
  t.same(
    new Map(rows.map(([name, ...rest]) => [name, rest])),
    new Map(Object.entries(data).map(([name, { value, unit }]) => [name, [value, unit]])),
  )
})

t.test('anomalies - the table names every kind once, OB-27', async t => {
  const named = rowsOf(section('spec/observer-protocol.md', '6. ')).flatMap(([kinds = '']) => code(kinds))
  t.same(named.toSorted(), Object.keys(anomalies).toSorted())
})

t.test('notes - the table names every kind, JF section 6', async t => {
  const named = rowsOf(section('spec/journal-format.md', '6. ')).flatMap(([kind = '']) =>
    kind.includes('(verb)') ? [] : code(kind),
  )
  t.same(named.toSorted(), [...actionClasses.note_kinds].toSorted())
})

t.test('alerts - the table names every kind, KS section 10', async t => {
  const named = rowsOf(section('spec/kijito-source.md', '10. ')).flatMap(([kind = '']) => code(kind))
  t.same(named, [...alertKinds.keys()])
})

t.test('classes - the table gives every verb its class, JF section 5', async t => {
  const verbs = new Map<string, string>()
  for (const [name = '', cell = ''] of rowsOf(section('spec/journal-format.md', '5. '))) {
    for (const group of cell.split(';')) {
      const [first = '', ...rest] = code(group)
      const named = group.includes(' + ') ? rest.map(verb => first + verb) : [first, ...rest]
      for (const verb of named) verbs.set(verb, name)
    }
  }
  t.same(verbs, new Map(Object.entries(actionClasses.verbs)))
})
