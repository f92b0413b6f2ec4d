/**
 * Writes manifest/src/generated from the JSON in manifest/.
 * `node scripts/dist/gen-manifest.js [folder of the JSON] [folder to write]`; `npm run gen` formats the result.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface ActionClasses {
  manifest_version: number
  classes: Record<string, unknown>
  verbs: Record<string, string>
  sections: Record<string, string>
  wake_classes: Record<string, string>
  unclassified_wake: string
  alert_kinds: Record<string, { names_in?: string }>
}

type Limits = Record<string, { value: number; unit: string; why: string }>

const union = (doc: string, name: string, members: Iterable<string>): string =>
  `/** ${doc} */\nexport type ${name} =${[...new Set(members)].map(m => `\n  | ${JSON.stringify(m)}`).join('')}\n`

const constant = (doc: string, name: string, value: unknown): string =>
  `/** ${doc} */\nexport const ${name} = ${JSON.stringify(value, null, 2)} as const\n`

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase())

const file = (source: string, parts: string[]): string =>
  [`// Generated from ${source} by \`npm run gen\`; edit the JSON.\n`, ...parts].join('\n')

function actionClassesFile(m: ActionClasses): string {
  return file('action-classes.json', [
    union('What an action does to the state.', 'ActionClass', Object.keys(m.classes)),
    union('The verbs that have a class of their own.', 'Verb', Object.keys(m.verbs)),
    union('The parts of the board.', 'Section', Object.keys(m.sections)),
    union('Whether an event wakes an agent.', 'WakeClass', [
      ...Object.values(m.wake_classes),
      m.unclassified_wake,
    ]),
    union('The conditions that raise an alert.', 'AlertKind', Object.keys(m.alert_kinds)),
    union(
      'The alerts about the account as a whole; each lists the inboxes that it is about.',
      'AccountAlertKind',
      Object.keys(m.alert_kinds).filter(kind => m.alert_kinds[kind]?.names_in !== undefined),
    ),
    constant('The manifest as data.', 'actionClasses', m),
  ])
}

function limitsFile(limits: Limits): string {
  const entries = Object.entries(limits).map(
    ([name, { value, unit, why }]) => `  /** ${unit}: ${why}. */\n  ${camel(name)}: ${value},\n`,
  )
  return file('limits.json', [
    `/** The bounds, by name; the unit stands in the name. */\nexport const limitValues = {\n${entries.join('')}} as const\n`,
  ])
}

function anomaliesFile(anomalies: Record<string, unknown>): string {
  return file('anomalies.json', [
    union('What a reader counts.', 'AnomalyKind', Object.keys(anomalies)),
    constant('Each kind with its severity and meaning.', 'anomalies', anomalies),
  ])
}

const home = fileURLToPath(new URL('../../manifest/', import.meta.url))
const [from = home, to = join(home, 'src', 'generated')] = process.argv.slice(2)
const read = <T>(name: string): T => JSON.parse(readFileSync(join(from, name), 'utf8')) as T

mkdirSync(to, { recursive: true })
writeFileSync(join(to, 'action-classes.ts'), actionClassesFile(read('action-classes.json')))
writeFileSync(join(to, 'limits.ts'), limitsFile(read('limits.json')))
writeFileSync(join(to, 'anomalies.ts'), anomaliesFile(read('anomalies.json')))
