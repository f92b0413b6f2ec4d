import type { SimResponse } from './answer.js'
import { type Distortion, effectBody, type RuleEffect } from './rule.js'

type Members = Record<string, unknown>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function without(members: Members, names: readonly string[] = []): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)))
}

function lowest(rows: readonly unknown[]): number {
  return Math.min(...rows.map(row => (isObject(row) ? Number(row['id']) : Number.NaN)))
}

function distorted(page: Members, distortion: Distortion): Members {
  const rows = Array.isArray(page['result']) ? page['result'] : []
  if (distortion === 'empty-page') return { ...page, result: [] }
  if (distortion === 'repeat-row') return { ...page, result: [...rows, ...rows.slice(-1)] }
  if (distortion === 'skip-rows') {
    return { ...page, truncated: true, next_before_id: Math.max(0, lowest(rows) - 10) }
  }
  if (distortion === 'claim-more')
    return { ...page, truncated: false, size_dropped: 0, next_before_id: lowest(rows) }
  if (distortion === 'claim-end') return { ...page, truncated: true, next_before_id: null }
  return page
}

/** A faithful answer, with an effect on it. */
export function withEffect(answer: SimResponse, effect: RuleEffect): SimResponse {
  let body = effectBody(effect) ?? answer.body
  if ('json' in body && isObject(body.json)) {
    let members: Members = body.json
    if (effect.distort !== undefined) members = distorted(members, effect.distort)
    members = { ...without(members, effect.omit), ...effect.patch }
    const rows = members['result']
    if (Array.isArray(rows) && (effect.patch_rows ?? effect.omit_rows) !== undefined) {
      const changed = (row: unknown): unknown =>
        isObject(row) ? { ...without(row, effect.omit_rows), ...effect.patch_rows } : row
      members = { ...members, result: rows.map(changed) }
    }
    body = { json: members }
  }
  return {
    status: effect.status ?? answer.status,
    headers: { ...answer.headers, ...effect.headers },
    body,
    wire: effect.wire ?? answer.wire,
    delayMs: effect.delay_ms ?? answer.delayMs,
  }
}
