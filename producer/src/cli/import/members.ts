/** How many members the objects of a JSON text have, each as often as it is written. */
export function memberCount(json: string): number {
  let count = 0
  let isString = false
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') isString = !isString
    else if (isString && character === '\\') at++
    else if (!isString && character === ':') count++
  }
  return count
}

/** How many members are left of them once parsed: of those with one name, the last. */
export function memberTotal(value: unknown): number {
  let total = 0
  const rest = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one !== 'object' || one === null) continue
    const values: readonly unknown[] = Object.values(one)
    if (!Array.isArray(one)) total += values.length
    for (const inner of values) rest.push(inner)
  }
  return total
}
