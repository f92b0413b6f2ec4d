import { createContext, Script } from 'node:vm'

/** A search pattern that always answers. */
export interface Pattern {
  test(text: string): boolean
}

/** Time for one text; nothing that a person would wait for takes longer. */
const TEST_MS_MAX = 1000

/**
 * What can make a pattern try an exponential number of ways: more than one repetition, a group that repeats, or a
 * reference back. Anything else is matched directly, which is much faster than being able to stop it.
 */
const CAN_EXPLODE = /[*+}?].*[*+}]|\)[*+{]|\\[1-9k]/s

/**
 * A regular expression whose search of one text ends, so that signals are answered, whatever a message holds.
 * `undecided` is the answer for a text on which its time was up.
 */
export function bounded(pattern: RegExp, undecided: boolean): Pattern {
  if (!CAN_EXPLODE.test(pattern.source)) return pattern
  const context = createContext({ pattern, text: '' })
  const script = new Script('pattern.test(text)')
  return {
    test: text => {
      context['text'] = text
      try {
        return script.runInContext(context, { timeout: TEST_MS_MAX }) === true
      } catch {
        return undecided
      }
    },
  }
}
