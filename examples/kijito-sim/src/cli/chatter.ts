import type { Serving } from '../http/serve.js'
import { readClocks } from '../http/serve.js'
import { performCommand } from '../model/command.js'
import type { Kijito } from '../model/kijito.js'

const TEXTS = [
  'tests are green, merging now',
  'the build is red on main: the parser test fails',
  'can you look at the branch before noon?',
  'done. What is next?',
  'I take the next one',
  'please hold the release until the numbers are in',
]

/** Has the personas of the directory write to each other, in turn, so that there is something to see. */
export function chatter(kijito: Kijito, serving: Serving, everyMs: number, signal: AbortSignal): void {
  let turn = 0
  const timer = setInterval(() => {
    const now = readClocks()
    const names = kijito.directory.names()
    if (names.length < 2) return
    const from = names[turn % names.length] ?? ''
    const to = names[(turn + 1 + (Math.trunc(turn / names.length) % (names.length - 1))) % names.length] ?? ''
    const content = TEXTS[turn % TEXTS.length] ?? ''
    performCommand(kijito, { do: 'send', to, from, content, urgent: turn % 7 === 6 }, now)
    // Somebody who writes has read what was there.
    if (turn % 3 === 2) performCommand(kijito, { do: 'read', persona: from }, now)
    turn++
    serving.changed()
  }, everyMs)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
}
