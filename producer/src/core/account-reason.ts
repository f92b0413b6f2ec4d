import { type AccountAlertKind, actionClasses } from '@kim/manifest'

/** So many names, each so long, stand in a sentence; the members of the alarm hold them all. */
const NAMES_MAX = 5
const NAME_UNITS_MAX = 80

/** What an account-wide alarm says, naming whom it is about (KS-91). */
export function accountReason(kind: AccountAlertKind, names: readonly string[]): string {
  const isOne = names.length === 1
  const whose = listOf(names)
  if (kind === 'urgent-unanswered') {
    return `${kind}: ${whose} ${isOne ? 'has' : 'have'} urgent mail and wrote nothing since`
  }
  const [holds, them] = isOne ? ['holds', 'it'] : ['hold', 'them']
  return `${kind}: ${whose} ${holds} unread mail, and nobody is seen to read ${them}`
}

/** What its end says. */
export function accountEnd(kind: AccountAlertKind, names: readonly string[]): string {
  return names.length === 0 ? `${kind}: ended` : `${kind}: ended for ${listOf(names)}`
}

/** The member of such an alarm that lists whom it is about. */
export function accountMember(kind: AccountAlertKind): 'stranded_inboxes' | 'urgent_unanswered' {
  return actionClasses.alert_kinds[kind].names_in
}

/** `a`, `a and b`, `a, b, c, d, e and 3 more`. */
function listOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(shortened)
  const more = names.length - shown.length
  const last = more > 0 ? `${more} more` : shown.pop()
  return [shown.join(', '), last].filter(Boolean).join(' and ')
}

function shortened(name: string): string {
  // By code points: half of a pair is no text.
  const points = [...name]
  return points.length <= NAME_UNITS_MAX ? name : `${points.slice(0, NAME_UNITS_MAX).join('')}…`
}
