import type { Observer } from '@kim/observer-sdk'
import * as vscode from 'vscode'

/** The unread mail of everybody, in the status bar. */
export class StatusItem implements vscode.Disposable {
  readonly #observer: Observer
  readonly #item: vscode.StatusBarItem

  constructor(observer: Observer) {
    this.#observer = observer
    this.#item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left)
    this.#item.name = 'KIM'
    this.draw()
    this.#item.show()
  }

  /** Draws what the journal says now. */
  draw(): void {
    const { kind, reasons } = this.#observer.status
    const unread = this.#observer
      .personas()
      .reduce((sum, name) => sum + this.#observer.persona(name).unread, 0)
    this.#item.text = kind === 'no_store' ? '$(inbox) no journal yet' : `$(inbox) ${unread}`
    this.#item.tooltip = [kind, ...reasons].join(', ')
  }

  dispose(): void {
    this.#item.dispose()
  }
}
