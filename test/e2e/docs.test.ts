import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { errorCodes } from '@kim/manifest'
import t from 'tap'
import { LAUNCHERS, root, run } from '../kit/commands.js'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const BINS: Readonly<Record<string, string>> = LAUNCHERS
const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

const helps = new Map<string, string>()

/** The help of a program, or of one of its commands. */
function help(name: string, ...words: string[]): string {
  const key = [name, ...words].join(' ')
  const known = helps.get(key)
  if (known !== undefined) return known
  const text = run(BINS[name] ?? '', [...words, '--help']).out
  helps.set(key, text)
  return text
}

/** The help of the command that a line calls; undefined if there is no such command. */
function helpOf([name = '', first = '', second = '']: readonly string[]): string | undefined {
  for (const words of [[first, second], [first]]) {
    if (words.some(word => !/^[a-z][a-z-]*$/.test(word))) continue
    const text = help(name, ...words)
    if (text.includes(`\nUsage: ${name} ${words.join(' ')} `)) return text
  }
  return first.startsWith('-') || first === '' ? help(name) : undefined
}

/** What is wrong with a command line that a document tells to type. */
function wrongWith(line: string): string[] {
  const words = line.trim().split(/\s+/)
  const text = helpOf(words)
  if (text === undefined) return [`${line}: no such command`]
  const flags = words.filter(word => /^--?[a-z]/i.test(word)).map(word => word.split('=')[0] ?? word)
  return flags
    .filter(flag => !new RegExp(`(^|[\\s,])${flag}(?=[\\s,]|$)`, 'm').test(text))
    .map(flag => `${line}: no flag ${flag}`)
}

t.test('documents - tell to type what the commands take', async t => {
  let seen = 0
  for (const path of DOCUMENTS) {
    const blocks = [...read(path).matchAll(/^```\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
    for (const line of blocks.join('').split('\n')) {
      const command = line
        .replace(/\s#.*/, '')
        .replace(/[|>].*/, '')
        .replace(/^npx /, '')
      if (!/^kim-(producer|tail|replay) /.test(command)) continue
      seen++
      t.same(wrongWith(command), [], `${path}: ${command}`)
    }
  }
  t.ok(seen > 30, `${seen} command lines`)
  t.same(wrongWith('kim-producer nope --store x'), ['kim-producer nope --store x: no such command'])
  t.same(wrongWith('kim-tail -p river --nope'), ['kim-tail -p river --nope: no flag --nope'])
})

t.test('troubleshoot - has every error code with its exit, what it means and what to do', async t => {
  const rows = [
    ...read('docs/troubleshoot.md').matchAll(/^\| `([a-z_]+)` \| (\d+) \| ([^|]+) \| ([^|]+) \|$/gm),
  ]
  const listed = rows.map(([, code, exit]) => [code, Number(exit)])
  t.same(
    listed.sort(),
    Object.entries(errorCodes)
      .map(([code, { exitCode }]) => [code, exitCode])
      .sort(),
  )
})

t.test(
  'operate - the copy for the collector is as old as what it copies, for the alert goes by its age',
  async t => {
    const [, commands = ''] = /^```\n(install .*[\s\S]*?)^```/m.exec(read('docs/operate.md')) ?? []
    const [, from = '', to = ''] = /(\S+metrics\.prom) (\S+\.prom)\b/.exec(commands) ?? []
    t.match(read('docs/alerts.yml'), 'node_textfile_mtime_seconds')
    const written = join(t.testdir({ 'metrics.prom': 'kim_up 1\n' }), 'metrics.prom')
    const shown = join(t.testdirName, 'kim.prom')
    utimesSync(written, 1_000_000, 1_000_000)
    const typed = commands.replace(from, written).replaceAll(to, shown)
    t.match(spawnSync('sh', ['-c', typed], { encoding: 'utf8' }), { status: 0, stderr: '' })
    t.equal(readFileSync(shown, 'utf8'), 'kim_up 1\n')
    t.match(statSync(shown), { mtimeMs: 1_000_000_000, mode: 0o100644 })
    t.same(readdirSync(t.testdirName).sort(), ['kim.prom', 'metrics.prom'])
  },
)

t.test('token - help and documents tell of one and the same file, and say how it is written', async t => {
  const HOME = '~/.config/kim/token'
  const commands = ['run', 'self-test', 'doctor', 'install-service', 'import']
  const texts = new Map([
    ...DOCUMENTS.map(path => [path, read(path)] as const),
    ...commands.map(name => [`${name} --help`, help('kim-producer', name)] as const),
  ])
  let seen = 0
  for (const [where, text] of texts) {
    const named = [...text.matchAll(/--token-file ([~/][^\s`,;)]*)|(~[\w./-]*token)\b/g)].map(
      ([, flag, path]) => flag ?? path,
    )
    seen += named.length
    t.same(
      [...new Set(named)].filter(path => path !== HOME),
      [],
      where,
    )
  }
  t.ok(seen >= 4, `${seen} times`)
  t.match(read('docs/operate.md'), `(umask 077; cat > ${HOME})`)
})

/** Codes that a text of the producer logs with one of these levels, alone or as one of two. */
const logged = (text: string, levels: string): string[] => {
  const one = `'(?:${levels})'`
  const level = `(?:${one}|\\w+ \\? (?:${one} : '\\w+'|'\\w+' : ${one}))`
  const pattern = new RegExp(`level: ${level},\\s+(?:time: .+\\s+)?code: '(\\w+)'`, 'g')
  return [...text.matchAll(pattern)].map(([, code]) => code ?? '')
}

t.test('troubleshoot - has a row for every code that is logged as a warning or an error', async t => {
  const sources = readdirSync(join(root, 'producer/src'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => read(`producer/src/${path}`))
  const codes = [...new Set(sources.flatMap(text => logged(text, 'warn|error|fatal')))]
  t.ok(codes.length >= 35, codes.join(', '))
  const cells = [...read('docs/troubleshoot.md').matchAll(/^\|([^|]+)\|/gm)]
    .map(([, cell = '']) => cell)
    .join()
  t.same(
    codes.filter(code => !cells.includes(`\`${code}\``)),
    [],
  )
  const every = new Set([...sources.flatMap(text => logged(text, '\\w+')), ...Object.keys(errorCodes)])
  const table = /## By what the log says[\s\S]*?\n## /.exec(read('docs/troubleshoot.md'))?.[0] ?? ''
  const named = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(
    ([, cell = '']) => cell.replace(/, kind .*/, '').match(/`[a-z_]+`/g) ?? [],
  )
  t.same(
    named.map(name => name.slice(1, -1)).filter(code => !every.has(code)),
    [],
    'and none that is never logged',
  )
})

t.test('operate - lists every variable that a command gets', async t => {
  const source = read('monitor/src/exec-env.ts')
  const set = [...source.matchAll(/^ {2}\w+: '([A-Z_]+)',$/gm)].map(([, name]) => name)
  t.ok(set.length >= 19, set.join(', '))
  const table = /\| `KIJITOMON_…` [\s\S]*?\n\n/.exec(read('docs/operate.md'))?.[0] ?? ''
  t.same(
    [...table.matchAll(/`([A-Z_]+)`(?=[^|]*\|[^|]*\|[^|]*\|\n)/g)].map(([, name]) => name).sort(),
    set.sort(),
  )
})

/** Names of metrics in a text, without the suffixes of histograms. */
function metricsIn(text: string): string[] {
  const names = text.match(/\b(kim|process)_[a-z_]*[a-z]\b/g) ?? []
  return [...new Set(names)].sort()
}

t.test('alerts - whatever can be down wakes somebody by that alone', async t => {
  const ups = metricsIn(read('producer/src/run/metrics.ts')).filter(name => /_up$/.test(name))
  t.same(ups, ['kim_persona_up', 'kim_sink_up', 'kim_up', 'kim_upstream_up'])
  const rules = [...read('docs/alerts.yml').matchAll(/expr: (.*)/g)].map(([, expr = '']) => expr)
  // A sink that is off waits for nothing, so its lag is none.
  const asks = (name: string): boolean => rules.some(expr => new RegExp(`(^| or )${name} == 0`).test(expr))
  t.same(
    ups.filter(name => !asks(name)),
    [],
  )
})

t.test('CL-53 metrics - are all in the specification, and documents and alerts name no other', async t => {
  const clause = /\*\*CL-53\*\*([\s\S]*?)\*\*CL-/.exec(read('spec/cli.md'))?.[1] ?? ''
  const table = clause.slice(clause.indexOf('|'))
  const specified = metricsIn(table)
  t.same(specified, metricsIn(read('producer/src/run/metrics.ts')))
  const node = (name: string): boolean => name.startsWith('process_')
  for (const path of [...DOCUMENTS, 'docs/alerts.yml']) {
    const named = metricsIn(read(path)).filter(name => !node(name))
    t.same(
      named.filter(name => !specified.includes(name)),
      [],
      path,
    )
  }
})

const noPromtool = spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not here'

t.test('alerts - promtool takes the rules', { skip: noPromtool }, async t => {
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', join(root, 'docs/alerts.yml')], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
})
