/** Makes a parsed value unchangeable at every depth: state and hand-over share one object. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) {
    const inner = value[key]
    if (typeof inner === 'object') deepFreeze(inner)
  }
  return Object.freeze(value)
}
