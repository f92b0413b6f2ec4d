import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The directory with the page and its pictures. */
export const DOCS: string = join(root, 'docs')

/** The page that finds the incident's cause. */
export const WALK_THROUGH: string = join(DOCS, 'incident.md')

/** A command that the page tells to type, and what it says follows. */
export interface Told {
  readonly command: string
  readonly output: string
}

/** What a person sees in a terminal stands in blocks of their own: a command after `$ `, then its output. */
const BLOCK = /^```console\n([\s\S]*?)^```$/gm
/** Stands for the directory in which all of it is typed. */
const HERE = '/tmp/walk'

/** The commands of the page, in order. */
export function commandsOf(page: string): Told[] {
  return [...page.matchAll(BLOCK)].flatMap(([, block = '']) =>
    block.split(/^\$ /m).flatMap(part => {
      const end = part.indexOf('\n')
      return end < 0 ? [] : [{ command: part.slice(0, end), output: part.slice(end + 1) }]
    }),
  )
}

/** The page, with what the commands came to in the place of what it says. */
export function retold(page: string, outputs: readonly string[]): string {
  let next = 0
  return page.replaceAll(BLOCK, (_, block: string) => {
    const told = block.replaceAll(/^\$ (.*)\n(?:(?!\$ ).*\n)*/gm, (_part, command: string) => {
      return `$ ${command}\n${outputs[next++] ?? ''}`
    })
    return `\`\`\`console\n${told}\`\`\``
  })
}

/** Types a command in a directory and gives what it prints, the directory called by the page's name for it. */
export function type(command: string, directory: string): string {
  const PATH = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
  const { stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, PATH, TZ: 'UTC' },
  })
  // Rows of a spreadsheet end as RFC 4180 has it; a terminal does not show it.
  return `${stdout}${stderr}`.replaceAll('\r\n', '\n').replaceAll(directory, HERE)
}

/** The page as it is committed. */
export function readPage(): string {
  return readFileSync(WALK_THROUGH, 'utf8')
}
