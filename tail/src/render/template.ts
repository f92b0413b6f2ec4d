import { usageError } from '@kim/cli-kit'
import type { JournalFacts } from '../record-line.js'
import { plain } from './fields.js'
import { valueAt } from './paths.js'
import type { Renderer } from './renderer.js'

/**
 * A line from a pattern such as `{seq} {payload.from}: {text}`. `{{` and `}}` are braces, `\t` and `\n` what they
 * are in a shell; values are escaped, so only the pattern itself can end a line.
 */
export function createTemplate(pattern: string, facts: JournalFacts): Renderer {
  const parts = parse(pattern)
  return entry =>
    parts.map(part => (part.literal ? part.text : plain(valueAt(part.text, entry, facts)))).join('')
}

interface Part {
  readonly literal: boolean
  readonly text: string
}

function parse(pattern: string): Part[] {
  const parts: Part[] = []
  for (const [found] of pattern.matchAll(/\{\{|\}\}|\{[^{}]*\}|\\[tn\\]|[^{}\\]+|[\s\S]/g)) {
    if (found.length > 2 && found.startsWith('{')) parts.push({ literal: false, text: found.slice(1, -1) })
    else if (found === '{}' || found === '{' || found === '}') {
      throw usageError(
        `--template: "${found}" is not a field`,
        'use fields such as {seq}; write {{ and }} for literal braces',
      )
    } else parts.push({ literal: true, text: LITERALS[found] ?? found })
  }
  return parts
}

const LITERALS: Readonly<Record<string, string>> = {
  '{{': '{',
  '}}': '}',
  '\\t': '\t',
  '\\n': '\n',
  '\\\\': '\\',
}
