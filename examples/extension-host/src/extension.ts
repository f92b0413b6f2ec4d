import { mementoCursors, openObserver } from '@kim/observer-sdk'
import * as vscode from 'vscode'
import { type ActionPort, noActions } from './action-port.js'
import { BoardTree } from './board-tree.js'
import { StatusItem } from './status-item.js'

export type { ActionPort } from './action-port.js'

/** Called by the host once. What it returns can be handed to extensions that build on this one. */
export async function activate(
  context: vscode.ExtensionContext,
  actions: ActionPort = noActions,
): Promise<void> {
  const eventsDir = vscode.workspace.getConfiguration('kim').get<string>('eventsDir')
  if (eventsDir === undefined) return
  const observer = await openObserver({ eventsDir, cursors: mementoCursors(context.workspaceState) })
  const status = new StatusItem(observer)
  const tree = new BoardTree(observer, actions)
  const view = vscode.window.registerTreeDataProvider('kim.board', tree)
  // Redrawing follows the state, which runs ahead of what is handed over.
  const stop = observer.onInvalidate(stale => {
    status.draw()
    tree.refresh(stale.sections)
  })
  context.subscriptions.push({ dispose: stop }, view, tree, status, { dispose: () => observer.close() })

  const announce = async (): Promise<void> => {
    for await (const { gap, news } of observer.changes()) {
      // Not awaited: it is answered when somebody closes the notification, and mail that comes is announced until then.
      if (gap !== undefined)
        void vscode.window.showWarningMessage(`records ${gap.from}–${gap.to} are missing`)
      const mail = news.filter(({ event }) => event === 'new').length
      if (mail > 0) vscode.window.setStatusBarMessage(`${mail} new`, 5000)
    }
  }
  announce().catch((error: unknown) => vscode.window.showErrorMessage(String(error)))
}
