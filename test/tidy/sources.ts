import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folders of the packages that are published, those that others import first. */
export const PACKAGES: readonly string[] = [
  'manifest',
  'cli-kit',
  'observer-sdk',
  'monitor',
  'tail',
  'replay',
  'producer',
]

/** The repository's root. */
export const root: string = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

/** Every file that git tracks or would track, relative to the root. */
export function repositoryFiles(): string[] {
  const output = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  return output
    .toString('utf8')
    .split('\0')
    .filter(file => file !== '' && existsSync(join(root, file)))
}

/** The text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** TypeScript sources whose path begins with one of the prefixes. */
export function sources(...prefixes: string[]): string[] {
  return repositoryFiles().filter(
    file => file.endsWith('.ts') && prefixes.some(prefix => file.startsWith(prefix)),
  )
}

/** One place where a rule is broken. */
export interface Breach {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** Lines of the files that match, comments left out when only code counts. */
export function grep(files: readonly string[], pattern: RegExp, codeOnly = false): Breach[] {
  const found: Breach[] = []
  for (const file of files) {
    for (const [index, text] of textOf(file).split('\n').entries()) {
      if (codeOnly && /^\s*(\/\/|\/?\*)/.test(text)) continue
      if (pattern.test(text)) found.push({ file, line: index + 1, text: text.trim() })
    }
  }
  return found
}

/** What a failing rule prints. */
export function report(breaches: readonly Breach[]): string[] {
  return breaches.map(({ file, line, text }) => `${file}:${line}: ${text}`)
}
