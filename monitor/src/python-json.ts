import { safeJson } from '@kim/manifest'

/** A number that Python holds as a float: a whole one keeps its `.0`. */
export class PythonFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** What can be printed: JSON values, with floats marked; undefined members are left out. */
export type PythonValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | PythonFloat
  | readonly PythonValue[]
  | { readonly [key: string]: PythonValue }

/**
 * One line of JSON with `": "` and `", "` between its parts, as Python prints it: deployed filters are regular
 * expressions over exactly that spacing.
 */
export function pythonJson(value: PythonValue): string {
  if (value instanceof PythonFloat) {
    const text = JSON.stringify(value.value)
    return /^-?\d+$/.test(text) ? `${text}.0` : text
  }
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${quote(key)}: ${pythonJson(member)}`).join(', ')}}`
  }
  return typeof value === 'string' ? quote(value) : JSON.stringify(value ?? null)
}

function quote(text: string): string {
  return safeJson(JSON.stringify(text))
}
