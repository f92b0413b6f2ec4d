/** The line of a message as another life of the writer left it. */
export const whole = (seq: number): string =>
  `{"action":"create","agent":"river","entity_rev":1,"item_id":"river/${seq}","item_type":"message","payload":{"schema_version":1},"seq":${seq},"summary":"","ts":"2026-06-10T14:03:22.114Z","v":2,"writer":"w_1-aa"}`
/** The same as record `i` of `n` in a transaction. */
export const run = (seq: number, i: number, n: number): string =>
  whole(seq).replace('"v":2', `"tx":{"i":${i},"id":"run","n":${n}},"v":2`)
