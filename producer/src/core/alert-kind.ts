import type { JsonObject } from '@kim/manifest'

/** The conditions that are alarms (spec/kijito-source.md section 10). */
const alertKinds = [
  'unreachable',
  'bounded-window',
  'unread-not-shown',
  'stranded-mail',
  'urgent-unanswered',
  'id-regressed',
] as const

/** One of the alarms. */
export type AlertKind = (typeof alertKinds)[number]

/** The alarms of one persona that ever stood, by their newest payload: its status is the latch. */
export type Alerts = ReadonlyMap<AlertKind, JsonObject>

/** The payload of an alarm that is open. */
export function openAlert(alerts: Alerts, kind: AlertKind): JsonObject | undefined {
  const payload = alerts.get(kind)
  return payload?.['status'] === 'open' ? payload : undefined
}

/** `<persona>/<kind>`; a persona may hold a slash, a kind cannot. */
export function parseAlertId(
  itemId: string,
): { readonly persona: string; readonly kind: AlertKind } | undefined {
  const at = itemId.lastIndexOf('/')
  const kind = alertKinds.find(known => known === itemId.slice(at + 1))
  return at > 0 && kind !== undefined ? { persona: itemId.slice(0, at), kind } : undefined
}
