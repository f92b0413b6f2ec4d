import t, { type Test } from 'tap'
import { CoreHarness, failure, whole } from './core-harness.js'

/** Nobody has mail, unless a test says so. */
const list = (t: Test, personas: readonly string[], options = {}, script = {}): CoreHarness =>
  new CoreHarness(
    t,
    { personas, ...options },
    { page: () => whole([]), directory: () => ['river', 'argus'], ...script },
  )
const looks = (desk: CoreHarness): number => desk.asked.filter(({ ask }) => ask.kind === 'directory').length
const said = (desk: CoreHarness): string[] =>
  desk.core.notes().map(({ code, persona, message }) => `${code} ${persona}: ${message}`)

t.test(
  'names - one that the directory does not list is said once, with the nearest that it does (KS-92)',
  async t => {
    const desk = list(t, ['rivr', 'argus']).settle()
    t.same(said(desk), ['persona_unlisted rivr: the server lists no persona "rivr"; did you mean river?'])
    desk.pass(20_000)
    t.same([said(desk), looks(desk)], [[], 1], 'and that is all')
    t.ok(
      desk.records().some(({ item_id, event }) => item_id === 'rivr' && event === 'armed'),
      'it is watched',
    )
    desk.restart().settle()
    t.equal(said(desk).length, 1, 'a process that begins says it again: nothing of it stands')
  },
)

t.test('names - one that shows mail, now or before, is looked up nowhere (KS-92)', async t => {
  const desk = list(t, ['rivr'], {}, { page: () => whole([5]) }).settle()
  t.same([said(desk), looks(desk)], [[], 0])
  desk.script.page = () => whole([])
  desk.restart().pass(5000)
  t.same([said(desk), looks(desk)], [[], 0], 'what stands proves it')
})

t.test('names - one that comes later is said when it does: listed, or with mail (KS-92)', async t => {
  const desk = list(t, ['loom', 'nova'], { rediscoverSeconds: 10 }).settle()
  t.equal(said(desk).length, 2)
  desk.script.directory = () => ['river', 'argus', 'loom']
  desk.pass(11_000)
  t.same(said(desk), ['persona_listed loom: the server now lists the persona'])
  desk.script.page = ({ persona }) => whole(persona === 'nova' ? [5] : [])
  desk.pass(2000)
  t.same(said(desk), ['persona_listed nova: the server now lists the persona'])
  const before = looks(desk)
  desk.pass(30_000)
  t.equal(looks(desk), before, 'no name is missing any more')
})

t.test(
  'names - a comma is part of one, and where it was meant to part two that is said (KS-67, KS-92)',
  async t => {
    const desk = list(t, ['river,argus', 'river, absent']).settle()
    const [first, second] = desk.core.notes()
    t.match(first, { message: /but it lists river and argus$/, hint: /--persona river --persona argus$/ })
    t.match(second, { message: /no persona "river, absent"$/, hint: /exact case/ })
  },
)

t.test('names - a directory that fails is asked again later, and ends nothing (KS-51, KS-92)', async t => {
  const desk = list(t, ['rivr'], { rediscoverSeconds: 10 }, { directory: () => failure(401) }).settle()
  t.same([said(desk), looks(desk), desk.core.verdict], [[], 1, undefined])
  desk.pass(9000)
  t.equal(looks(desk), 1)
  desk.script.directory = () => ['river']
  desk.pass(2000)
  t.equal(said(desk).length, 1)
})

t.test(
  'names - a directory that refuses the token ends nothing, even before anybody is armed (KS-51, KS-92)',
  async t => {
    // The first contact waits for counts, so nothing stands yet.
    const script = { directory: () => failure(401), counts: () => undefined }
    const desk = list(t, ['rivr'], { fastPath: true }, script).settle()
    t.same([looks(desk), desk.core.status().personas[0]?.armed, desk.core.verdict], [1, false, undefined])
  },
)

t.test('names - an old directory judges no name that comes in later (KS-92)', async t => {
  const desk = list(t, ['rivr', 'loom'], { rediscoverSeconds: 10 })
  desk.script.page = ({ persona }) => (persona === 'loom' ? failure() : whole([]))
  desk.settle()
  t.equal(said(desk).length, 1)
  desk.script.directory = () => undefined
  desk.pass(15_000)
  desk.script.page = () => whole([])
  desk.pass(3000)
  t.same(said(desk), [], 'the next look is still under way')
  desk.script.directory = () => ['river', 'loom']
  desk.release()
  t.same(said(desk), [])
})
