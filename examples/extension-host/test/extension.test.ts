import { register } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'
import { settings, shown } from './stub-host.js'

// Inside an editor this module is the editor's own.
const stub = JSON.stringify(new URL('./stub-host.js', import.meta.url).href)
const hook = `export const resolve = async (name, context, next) =>
  name === 'vscode' ? { url: ${stub}, shortCircuit: true } : next(name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
const { activate } = await import('@kim/example-extension-host')

interface Tree {
  getChildren(node?: object): { kind: string; id?: string; entity?: { itemId: string } }[]
  getTreeItem(node: object): { label: string; description: string; contextValue?: string }
  onDidChangeTreeData(listener: (node: { id?: string } | undefined) => void): void
}

/** Waits until the extension has seen what was appended. */
async function until(what: () => boolean): Promise<boolean> {
  const deadline = performance.now() + 20_000
  while (!what() && performance.now() < deadline) await sleep(5)
  return what()
}

t.test('extension - shows unread mail, redraws stale sections only, and keeps its place', async t => {
  const storeDir = join(t.testdir(), 'store')
  settings.set('eventsDir', join(storeDir, 'events'))
  const memento = new Map<string, unknown>()
  const subscriptions: { dispose(): unknown }[] = []
  const workspaceState = {
    get: (key: string) => memento.get(key),
    update: async (key: string, value: unknown) => void memento.set(key, value),
  }
  const context = { subscriptions, workspaceState } as unknown as Parameters<typeof activate>[0]
  const actions = { available: () => ['claim', 'show'], perform: async () => undefined }
  await activate(context, actions)
  const bar = shown.bars[0]
  t.match(bar, { isShown: true, text: /no journal yet/ }, 'there need not be a store')

  const journal = openJournal({ storeDir, source: 'http://localhost:7474' })
  t.teardown(() => journal.close())
  const message = (id: number, read: boolean): void => {
    const payload = { persona: 'river', id, from: 'argus', content: 'hi', content_length: 2, read }
    journal.append([
      {
        agent: 'river',
        action: read ? 'update' : 'create',
        item_type: 'message',
        item_id: `river/${id}`,
        ...(read ? {} : { event: 'new' }),
        summary: 'from argus: hi',
        payload: { ...payload, created: '2026-06-10T14:03:21Z', schema_version: 1 },
      },
    ])
  }
  const persona = { persona: 'river', cursor: 0, floor: 0, state: 'up', watched: true, unread_urgent: 0 }
  journal.append([
    {
      agent: 'river',
      action: 'update',
      item_type: 'persona',
      item_id: 'river',
      summary: 'armed',
      payload: { ...persona, schema_version: 1 },
    },
  ])
  message(1, false)
  message(2, false)
  t.ok(await until(() => bar?.text === '$(inbox) 2'), 'two unread')

  const tree = shown.providers.get('kim.board') as Tree
  const sections = tree.getChildren()
  const inbox = sections.find(({ id }) => id === 'inbox')
  t.ok(inbox)
  t.same(
    tree.getChildren(inbox).map(({ entity }) => entity?.itemId),
    ['river/1', 'river/2'],
  )
  t.match(tree.getTreeItem(inbox ?? {}), { label: 'inbox', description: '2' })
  const [entry] = tree.getChildren(inbox)
  t.match(tree.getTreeItem(entry ?? {}), { description: 'message', contextValue: 'claim show' })

  const redrawn: (string | undefined)[] = []
  tree.onDidChangeTreeData(node => redrawn.push(node?.id))
  message(1, true)
  t.ok(await until(() => bar?.text === '$(inbox) 1'), 'one was read')
  t.same([...redrawn].sort(), ['attention', 'inbox'], 'nothing else was redrawn')
  t.equal(tree.getChildren()[sections.indexOf(inbox ?? { kind: '' })], inbox, 'a section stays the same node')

  t.ok(await until(() => shown.messages.some(text => text.endsWith(' new'))), 'new mail is announced')
  t.ok([...memento.keys()].some(key => key.startsWith('kim.observer.cursor.')))
  for (const each of subscriptions.reverse()) await each.dispose()
  t.equal(bar?.isShown, false)
  t.equal(shown.providers.size, 0)
})

t.test('extension - goes on announcing while a warning waits to be closed', async t => {
  const storeDir = join(t.testdir(), 'store')
  settings.set('eventsDir', join(storeDir, 'events'))
  const journal = openJournal({ storeDir, source: 'http://localhost:7474' })
  t.teardown(() => journal.close())
  const ahead = { seq: journal.head.seq + 1000, checkpoint_seq: 0, writer: null }
  const saved: string[] = []
  const subscriptions: { dispose(): unknown }[] = []
  const workspaceState = {
    get: (key: string) => (key.startsWith('kim.observer.cursor.') ? ahead : undefined),
    update: async (key: string) => void saved.push(key),
  }
  shown.messages.length = 0
  await activate({ subscriptions, workspaceState } as unknown as Parameters<typeof activate>[0])
  t.ok(await until(() => shown.messages.some(text => text.endsWith(' are missing'))), 'a gap is shown')
  journal.append([
    {
      agent: 'river',
      action: 'session_start',
      item_type: 'session',
      item_id: 'a',
      event: 'new',
      summary: 's',
    },
  ])
  t.ok(await until(() => shown.messages.some(text => text.endsWith(' new'))), 'and what came after it')
  t.ok(saved.length > 0, 'its place is kept')
  for (const each of subscriptions.reverse()) await each.dispose()
})

t.test('extension - without a configured directory does nothing', async t => {
  settings.clear()
  const before = shown.bars.length
  await activate({ subscriptions: [] } as unknown as Parameters<typeof activate>[0])
  t.equal(shown.bars.length, before)
})
