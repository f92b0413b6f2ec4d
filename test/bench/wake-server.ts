/** A hive to be woken by, in a process of its own: told by its parent to send, it answers with when it let go of the poll. */
import { Kijito, performCommand, readClocks, serve, settingsOf } from '@kim/example-kijito-sim'

/** What the parent says. */
export type Told =
  | { readonly do: 'load'; readonly personas: readonly string[]; readonly each: number }
  | { readonly do: 'send'; readonly to: readonly string[] }
  /** `each` messages to everybody. */
  | { readonly do: 'burst'; readonly to: readonly string[]; readonly each: number }
  /** Only the newest of each inbox are left, as in a hive whose mail is old: an account full of it is slow to count. */
  | { readonly do: 'trim'; readonly keep: number }
  /** Everybody reads what is there. */
  | { readonly do: 'read' }
  | { readonly do: 'count' }

/** What it answers. */
export interface Said {
  readonly url?: string
  /** Of the messages that were sent; the highest one of a load or a burst. */
  readonly ids?: readonly number[]
  /** The system's monotonic clock, which all processes share, in ms. */
  readonly atMs?: number
  readonly requests?: number
}

const content = 'tests are green, merging now. '.repeat(8)
const kijito = new Kijito(settingsOf('hosted'))
const serving = await serve(kijito)
const say = (said: Said): void => void process.send?.(said)

function deliver(to: string, count = 1): number[] {
  return performCommand(kijito, { do: 'send', to, from: 'kestrel', content, count }, readClocks()) as number[]
}

process.on('message', (told: Told) => {
  switch (told.do) {
    case 'load':
      for (const persona of told.personas) performCommand(kijito, { do: 'persona', persona }, readClocks())
      // In turns, so that ids are spread over the inboxes as they are in a hive.
      for (let n = 0; n < told.each; n++) for (const persona of told.personas) deliver(persona)
      say({ ids: [kijito.mail.lastId] })
      return
    case 'send': {
      const ids = told.to.flatMap(persona => deliver(persona))
      const atMs = Number(process.hrtime.bigint()) / 1e6
      serving.changed()
      say({ ids, atMs })
      return
    }
    case 'burst':
      for (const persona of told.to) deliver(persona, told.each)
      serving.changed()
      say({ ids: [kijito.mail.lastId] })
      return
    case 'trim':
      for (const persona of kijito.mail.personas()) {
        const ids = kijito.mail.inbox(persona).map(({ id }) => id)
        kijito.mail.remove(persona, ids.slice(0, -told.keep))
      }
      say({})
      return
    case 'read':
      for (const persona of kijito.mail.personas()) kijito.mail.mark(persona)
      serving.changed()
      say({})
      return
    case 'count':
      say({ requests: kijito.log.count })
  }
})
process.once('disconnect', () => process.exit(0))
say({ url: serving.url })
