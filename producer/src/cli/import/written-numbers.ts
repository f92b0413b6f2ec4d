/**
 * A JSON text in which numbers with a fraction or an exponent stand as strings: parsed, `4.0` and `1e3` would be the
 * whole numbers that whoever wrote them did not mean.
 */
export function fractionsAsText(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, token =>
    token.startsWith('"') || /^-?\d+$/.test(token) ? token : `"${token}"`,
  )
}
