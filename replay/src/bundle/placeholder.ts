/** What a redaction puts in place of a line that was no record (CL-51). */
const PLACEHOLDER = /^\{"bytes":\d{1,16},"redacted_line":true\}$/

/** Whether a line is such a one. In a bundle that nobody redacted it is a line like any other. */
export function isPlaceholder(bytes: Uint8Array): boolean {
  return bytes.length < 64 && PLACEHOLDER.test(Buffer.from(bytes).toString('latin1'))
}
