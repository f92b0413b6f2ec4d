import type { Observer } from '@kim/observer-sdk'

/** Draws the board now, and again when a part of it changed. What is returned ends this. */
export function showBoard(observer: Observer, draw: (lines: readonly string[]) => void): () => void {
  const drawNow = (): void => draw(observer.board().sections.map(({ id, items }) => `${id}: ${items}`))
  drawNow()
  return observer.onInvalidate(({ sections }) => {
    if (sections.length > 0) drawNow()
  })
}
