/**
 * What makes two lines tell of the same event: its `event_id`, as the text around it depends on the flags of the day.
 * A line without one is itself.
 */
export function lineIdentityOf(line: string): string {
  try {
    const { event_id: id } = JSON.parse(line) as Record<string, unknown>
    return typeof id === 'string' ? id : line
  } catch {
    return line
  }
}
