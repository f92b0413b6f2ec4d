import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src')

t.test(
  'CL-35 kim-replay - opens files through the store alone, and writes only what was asked for',
  async t => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
      file => file.endsWith('.ts') && !file.startsWith('cli'),
    )
    t.ok(files.length > 20)
    const open = files.filter(file =>
      /from 'node:(fs|net|http|https|dgram|tls|dns)/.test(readFileSync(join(source, file), 'utf8')),
    )
    t.same(open.sort(), [join('output', 'out-file.ts')])
    const callers = readdirSync(join(source, 'cli'), { encoding: 'utf8' }).filter(file =>
      /\b(writeOut|OutFile)\b/.test(readFileSync(join(source, 'cli', file), 'utf8')),
    )
    t.same(callers.sort(), ['bundle.ts', 'timeline.ts'])
  },
)
