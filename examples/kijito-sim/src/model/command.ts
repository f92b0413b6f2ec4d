import type { Instant, Kijito } from './kijito.js'
import type { Letter } from './mail.js'
import type { Match, Rule } from './rule.js'
import type { Settings } from './settings.js'

/** What a script tells the model to do. */
export type ScriptCommand =
  /** Mail comes in; `count` makes several of it. */
  | ({ readonly do: 'send'; readonly count?: number } & Letter)
  /** Mail was read by its persona, or (`read: false`) is unread again. Without ids, all of it. */
  | {
      readonly do: 'read'
      readonly persona: string
      readonly ids?: readonly number[]
      readonly read?: boolean
    }
  | { readonly do: 'remove'; readonly persona: string; readonly ids?: readonly number[] }
  /** A persona joins the account, or members of its directory row are set or left out. */
  | {
      readonly do: 'persona'
      readonly persona: string
      readonly row?: Readonly<Record<string, unknown>>
      readonly omit?: readonly string[]
    }
  | { readonly do: 'drop_persona'; readonly persona: string }
  /** The next id, or how many are left out. */
  | { readonly do: 'ids'; readonly next?: number; readonly skip?: number }
  | { readonly do: 'set'; readonly settings: Partial<Settings> }
  | ({ readonly do: 'rule' } & Rule)
  | { readonly do: 'drop_rules'; readonly name?: string }
  | { readonly do: 'log'; readonly on?: Match; readonly since?: number }
  | { readonly do: 'count'; readonly on?: Match; readonly since?: number }
  | { readonly do: 'inbox'; readonly persona: string }

type Check = 'string' | 'object'

const REQUIRED: Readonly<Record<ScriptCommand['do'], Readonly<Record<string, Check>>>> = {
  send: { to: 'string', from: 'string', content: 'string' },
  read: { persona: 'string' },
  remove: { persona: 'string' },
  persona: { persona: 'string' },
  drop_persona: { persona: 'string' },
  ids: {},
  set: { settings: 'object' },
  rule: { on: 'object', effect: 'object' },
  drop_rules: {},
  log: {},
  count: {},
  inbox: { persona: 'string' },
}

const isKind = (name: string): name is ScriptCommand['do'] => Object.hasOwn(REQUIRED, name)

/** Reads a command out of JSON; text says what is wrong with it. */
export function commandIn(value: unknown): ScriptCommand | string {
  if (typeof value !== 'object' || value === null) return 'a command must be an object'
  const members = value as Readonly<Record<string, unknown>>
  const kind = members['do']
  if (typeof kind !== 'string' || !isKind(kind)) {
    return `"do" must be one of ${Object.keys(REQUIRED).join(', ')}, not ${JSON.stringify(kind)}`
  }
  for (const [name, check] of Object.entries(REQUIRED[kind])) {
    const member = members[name]
    if (typeof member !== check || member === null) return `${kind}: "${name}" must be of type ${check}`
  }
  return members as unknown as ScriptCommand
}

/** Does what a command says; gives what it asked for. */
export function performCommand(kijito: Kijito, command: ScriptCommand, now: Instant): unknown {
  const { mail, directory, rules, log } = kijito
  switch (command.do) {
    case 'send': {
      const created = new Date(now.wallMs).toISOString()
      return Array.from({ length: command.count ?? 1 }, () => mail.deliver(command, created).id)
    }
    case 'read':
      return mail.mark(command.persona, command.ids, command.read ?? true)
    case 'remove':
      return mail.remove(command.persona, command.ids)
    case 'persona':
      directory.put(command.persona, command.row, command.omit)
      return null
    case 'drop_persona':
      return directory.remove(command.persona)
    case 'ids':
      if (command.next !== undefined) mail.startIdsAt(command.next)
      if (command.skip !== undefined) mail.skipIds(command.skip)
      return mail.lastId
    case 'set':
      kijito.settings = { ...kijito.settings, ...command.settings }
      return kijito.settings
    case 'rule': {
      const { do: _, ...rule } = command
      rules.add(rule)
      return null
    }
    case 'drop_rules':
      return rules.drop(command.name)
    case 'log':
      return log.find(command.on, command.since)
    case 'count':
      return log.find(command.on, command.since).length
    case 'inbox':
      return mail.inbox(command.persona)
  }
}
