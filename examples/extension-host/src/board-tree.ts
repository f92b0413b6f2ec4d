import { type EntityView, type Observer, sectionsOf } from '@kim/observer-sdk'
import * as vscode from 'vscode'
import type { ActionPort } from './action-port.js'

/** A section, or an entity within one. */
export type BoardNode =
  | { readonly kind: 'section'; readonly id: string }
  | { readonly kind: 'entity'; readonly entity: EntityView }

/** The board as a tree of sections that redraw one by one. */
export class BoardTree implements vscode.TreeDataProvider<BoardNode>, vscode.Disposable {
  readonly #observer: Observer
  readonly #actions: ActionPort
  readonly #changed = new vscode.EventEmitter<BoardNode | undefined>()
  /** One object a section: the host knows nodes by identity. */
  readonly #sections = new Map<string, BoardNode>()
  readonly onDidChangeTreeData: vscode.Event<BoardNode | undefined> = this.#changed.event

  constructor(observer: Observer, actions: ActionPort) {
    this.#observer = observer
    this.#actions = actions
  }

  /** Redraws these sections; one that was not shown before, or is empty now, redraws the list of sections. */
  refresh(sections: readonly string[]): void {
    const shown = new Set(this.#observer.board().sections.map(({ id }) => id))
    const isListStale = sections.some(id => shown.has(id) !== this.#sections.has(id))
    if (isListStale) this.#changed.fire(undefined)
    else
      for (const id of sections) {
        const node = this.#sections.get(id)
        if (node !== undefined) this.#changed.fire(node)
      }
  }

  getTreeItem(node: BoardNode): vscode.TreeItem {
    if (node.kind === 'section') {
      const item = new vscode.TreeItem(node.id, vscode.TreeItemCollapsibleState.Collapsed)
      const items = this.#observer.board().sections.find(({ id }) => id === node.id)?.items ?? 0
      item.description = String(items)
      return item
    }
    const { itemType, itemId } = node.entity
    const item = new vscode.TreeItem(itemId, vscode.TreeItemCollapsibleState.None)
    item.description = itemType
    item.contextValue = this.#actions.available(itemType, itemId).join(' ')
    return item
  }

  getChildren(node?: BoardNode): BoardNode[] {
    if (node === undefined) return this.#listSections()
    if (node.kind === 'entity') return []
    const types = Object.keys(this.#observer.board().counts)
    const within = types.filter(type => sectionsOf(type).includes(node.id))
    return within.flatMap(type =>
      Array.from(this.#observer.state.values(type), entity => ({ kind: 'entity', entity }) as const),
    )
  }

  dispose(): void {
    this.#changed.dispose()
  }

  #listSections(): BoardNode[] {
    const ids = this.#observer.board().sections.map(({ id }) => id)
    for (const id of this.#sections.keys()) if (!ids.includes(id)) this.#sections.delete(id)
    return ids.map(id => {
      const node = this.#sections.get(id) ?? { kind: 'section', id }
      this.#sections.set(id, node)
      return node
    })
  }
}
