import type { Page } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { CoreHarness, cut, entry, failure, whole } from './core-harness.js'

function at100(t: Test, page: Page): CoreHarness {
  const desk = new CoreHarness(t, {}, { page: () => whole([90, 100]) }).settle()
  desk.story()
  desk.script.page = () => page
  return desk
}

const alert = (desk: CoreHarness): unknown => desk.payload('alert', 'argus/unread-not-shown')

t.test('unread not shown - says where the window stood to the watermark (KS-62; H1, H2, H3)', async t => {
  const h1 = at100(t, cut([90, 100], { unreadNotShown: 3 })).pass(1000)
  t.same(h1.story(), ['alert unread-not-shown'])
  t.match(alert(h1), { unread_not_shown: 3, window_floor: 90, cursor_at: 100, above_watermark: false })
  const h2 = at100(t, whole([200], { unreadNotShown: 2 })).pass(1000)
  t.same(h2.story(), ['new 200', 'alert unread-not-shown'])
  t.match(alert(h2), { above_watermark: true })
  const h3 = at100(t, whole([], { unreadNotShown: 2 })).pass(1000)
  t.match(alert(h3), { window_floor: null, above_watermark: null })
  const first = new CoreHarness(t, {}, { page: () => cut([90, 100], { unreadNotShown: 3 }) }).settle()
  t.match(alert(first), { window_floor: 90, cursor_at: 100, above_watermark: false }, 'E4: at first contact')
})

t.test('unread not shown - cleared by a justified zero alone (KS-62; H4, H5, H6, H8)', async t => {
  const shown = (count: number | undefined, more: Partial<Page> = {}): Page =>
    cut([90, 100], { unreadNotShown: count, ...more })
  const desk = at100(t, shown(3))
  t.same(desk.pass(1000).story(), ['alert unread-not-shown'])
  desk.script.page = () => shown(undefined)
  t.same(desk.pass(1000).story(), [])
  desk.script.page = () => shown(0, { continuation: { kind: 'end' }, isContradictory: true })
  t.same(desk.pass(1000).story(), [], 'a contradictory zero proves nothing')
  desk.script.page = () => shown(3)
  t.same(desk.restart().pass(1000).story(), ['armed 100'], 'it stands after a restart')
  desk.script.page = () => shown(0)
  t.same(desk.pass(1000).story(), ['cleared unread-not-shown'])
  desk.script.page = () => shown(3)
  t.same(desk.pass(1000).story(), ['alert unread-not-shown'])
})

t.test('unread not shown - the pages of a walk are never looked at (KS-62; H9)', async t => {
  const desk = at100(t, cut([200], { unreadNotShown: 0 }))
  desk.script.page = ({ beforeId }) =>
    beforeId === undefined ? cut([200], { unreadNotShown: 0 }) : failure()
  desk.script.page = ({ beforeId }) =>
    beforeId === undefined ? cut([200], { unreadNotShown: 0 }) : whole([150], { unreadNotShown: 9 })
  t.same(desk.pass(1000).story(), ['new 150', 'new 200'])
})

t.test('unread not shown - held back for an inbox the directory does not list (KS-62; H10)', async t => {
  const desk = new CoreHarness(
    t,
    { personas: undefined, rediscoverSeconds: 5 },
    { page: () => whole([100]) },
  ).settle()
  desk.story()
  desk.script.directory = () => [entry('river')]
  desk.pass(5000)
  desk.script.page = () => whole([100], { unreadNotShown: 3 })
  t.notOk(desk.pass(2000).story().includes('alert unread-not-shown'))
  desk.script.directory = () => [entry('argus'), entry('river')]
  t.ok(desk.pass(5000).story().includes('alert unread-not-shown'))
})
