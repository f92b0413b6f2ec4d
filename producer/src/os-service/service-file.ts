import { readFileSync, statSync } from 'node:fs'

/** The words that a service's file starts, whichever supervisor it is for; empty where it starts nothing. */
function commandIn(text: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1]
  if (line !== undefined)
    return [...line.matchAll(WORD)].map(([, quoted, plain]) => systemdWord(quoted, plain))
  const list = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(text)?.[1]
  if (list !== undefined) {
    return [...list.matchAll(/<string>([\s\S]*?)<\/string>|<string\/>/g)].map(([, word = '']) =>
      plainText(word),
    )
  }
  const command = /<Command>([\s\S]*?)<\/Command>/.exec(text)?.[1]
  if (command === undefined) return []
  const rest = plainText(/<Arguments>([\s\S]*?)<\/Arguments>/.exec(text)?.[1] ?? '')
  return [
    plainText(command),
    ...[...rest.matchAll(WORD)].map(([, quoted, plain]) => windowsWord(quoted, plain)),
  ]
}

/** The same, read from where it stands; undefined if it cannot be read. */
export function commandInFile(path: string): string[] | undefined {
  try {
    // A supervisor follows links, and waits for no pipe either.
    if (!statSync(path).isFile()) return undefined
    const bytes = readFileSync(path)
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
    return commandIn(bytes.toString(isWide ? 'utf16le' : 'utf8'))
  } catch {
    return undefined
  }
}

const WORD = /"((?:\\.|[^"\\])*)"|(\S+)/g
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

function systemdWord(quoted: string | undefined, plain = ''): string {
  const text = quoted?.replaceAll(/\\(.)/g, (_, letter: string) => CONTROLS[letter] ?? letter) ?? plain
  return text.replaceAll('%%', '%').replaceAll('$$', '$')
}

/** Backslashes count only before a quotation mark, which for us includes the closing one. */
function windowsWord(quoted: string | undefined, plain = ''): string {
  return (
    quoted?.replaceAll(/(\\+)("|$)/g, (_, slashes: string, mark: string) => {
      return '\\'.repeat(Math.floor(slashes.length / 2)) + mark
    }) ?? plain
  )
}

function plainText(xml: string): string {
  return xml
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&#13;', '\r')
    .replaceAll('&amp;', '&')
}
