import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clientState } from '@kim/manifest'
import { type Check, fine, unseen } from '../check.js'

/** So far behind, a consumer is not slow: nobody runs it. */
const BEHIND_MAX = 10_000

/** Named consumers keep their place; one that was forgotten keeps it for ever. */
export const consumers: Check = {
  id: 'consumers',
  about: 'every named consumer keeps up',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const directory = join(clientState(context.env, context.home, 'kim-tail'), 'cursors')
    const head = observer.head.seq
    const names = namesIn(directory)
    const problems = names.flatMap(name => {
      const { seq, project_id } = context.readObject(join(directory, `${name}.json`))
      if (typeof seq !== 'number' || typeof project_id !== 'string') return [`${name}: its file is damaged`]
      return head - seq > BEHIND_MAX ? [`${name} is ${head - seq} records behind`] : []
    })
    const [first] = problems
    if (first === undefined) return fine(`${names.length} of them`)
    const name = first.split(/[: ]/)[0] ?? ''
    return {
      status: 'warn',
      evidence: problems.join('; '),
      remedy: `start it again, or forget it: rm ${join(directory, `${name}.json`)}`,
    }
  },
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter(name => name.endsWith('.json') && !name.startsWith('.'))
      .map(name => name.slice(0, -'.json'.length))
      .sort()
  } catch {
    return []
  }
}
