import type { Io } from '@kim/cli-kit'
import type { Plan } from '../plan.js'
import type { JournalFacts } from '../record-line.js'
import { chooseRenderer } from '../render/choose.js'
import type { Renderer } from '../render/renderer.js'
import { wantsColour } from '../render/wants-colour.js'

/** The renderer of a plan, for the streams of a command. */
export async function rendererOf(plan: Plan, facts: JournalFacts, io: Io): Promise<Renderer> {
  const { bodyChars, color, fields, maxLine, mode, prefix, selection, template, utc } = plan
  const isTerminal = io.stdout.isTTY === true
  return await chooseRenderer({
    mode,
    fields,
    template,
    maxLine,
    look: {
      facts,
      nowMs: Date.now,
      utc,
      colour: wantsColour(color, io.env, isTerminal),
      prefix: prefix || (mode !== 'cat' && selection.personas.length !== 1),
      bodyChars,
      // A terminal that nobody told its size says 0.
      columns: isTerminal ? io.stdout.columns || 80 : undefined,
    },
    monitor: { facts, contentChars: bodyChars, platform: process.platform },
  })
}
