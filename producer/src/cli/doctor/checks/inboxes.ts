import { type Check, fine, unseen } from '../check.js'

/** What the journal itself says is wrong with inboxes. */
export const inboxes: Check = {
  id: 'inboxes',
  about: 'no inbox has an open alarm',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const open = [...observer.state.values('alert')].flatMap(({ payload }) =>
      payload !== undefined && 'status' in payload && payload['status'] === 'open' ? [payload] : [],
    )
    const isDown = open.some(({ kind }) => kind === 'unreachable')
    const [first] = open.map(({ persona, reason }) => `${String(persona)}: ${String(reason)}`)
    if (first === undefined) return fine('none is open')
    const more = open.length > 1 ? `, and ${open.length - 1} more` : ''
    return {
      status: 'warn',
      evidence: `${first}${more}`,
      remedy: isDown
        ? `once what it names is mended, ask again now: ${context.command('kim-producer poke')}; a producer does so by itself, later`
        : `see: ${context.command('kim-tail status')}`,
    }
  },
}
