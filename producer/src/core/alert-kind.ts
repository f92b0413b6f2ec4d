import { type AlertKind, isAlertKind, type JsonObject } from '@kim/manifest'

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
  const kind = itemId.slice(at + 1)
  return at > 0 && isAlertKind(kind) ? { persona: itemId.slice(0, at), kind } : undefined
}
