import { type Observer, safeText } from '@kim/observer-sdk'

/** Shows what waits for a person now, and again when it changed. What is returned ends this. */
export function showWaiting(observer: Observer, show: (lines: readonly string[]) => void): () => void {
  const showNow = (): void => {
    const personas = observer.personas().map(name => observer.persona(name))
    const alerts = personas.flatMap(({ alerts }) => alerts)
    const reasons = alerts.map(({ itemId, payload }) => safeText(`${itemId}: ${payload?.['reason'] ?? ''}`))
    show([`${observer.board().attentionRequired} in all`, ...reasons])
  }
  showNow()
  return observer.onInvalidate(({ attentionChanged }) => {
    if (attentionChanged) showNow()
  })
}
