import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Following, line, tail, write } from './kim-tail-process.js'

const said = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []

/** A store of three messages, and a place for the command's own words. */
function setUp(root: string): { readonly store: string; readonly segment: string; readonly out: string } {
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) + line(2) + line(3) })
  return { store, segment: join(store, 'events/seg-00000001.jsonl'), out: join(root, 'out') }
}

t.test('kim-tail --exec - runs once per event, in order, with its variables and no credential', async t => {
  const root = t.testdir()
  const { out, segment, store } = setUp(root)
  appendFileSync(
    segment,
    line(4, { event: undefined, action: 'update', entity_rev: 2 }) +
      line(5, { event: 'armed', item_type: 'persona', item_id: 'river', payload: { cursor: 3 } }),
  )
  const command = `env | grep ^KIJITOMON_ | sort | tr '\\n' ' ' >> ${out}; echo >> ${out}; echo chatter; test -z "$KIJITOMON_TOKEN$KIM_TOKEN"`
  const args = ['--store', store, '--consumer', 'x', '--start', 'earliest', '--exec', command]
  const done = tail(root, args, { KIJITOMON_TOKEN: 'secret', KIM_TOKEN: 'secret', KIJITOMON_ID: '999' })
  t.equal(done.code, 0)
  t.equal(done.stdout, '', 'stdout is not the place of the command')
  t.match(done.stderr, /chatter/)
  const runs = said(out)
  t.equal(runs.length, 4)
  t.match(
    runs[0],
    /^KIJITOMON_CONTENT=text 1 KIJITOMON_CREATED=\S+ KIJITOMON_EVENT=new KIJITOMON_EVENT_ID=river:new:1 KIJITOMON_FROM=argus KIJITOMON_ID=1 KIJITOMON_NONCE=\w{11} KIJITOMON_PERSONA=river KIJITOMON_SOURCE=kijito-inbox KIJITOMON_TS=\S+ $/,
  )
  t.match(runs[3], /^KIJITOMON_CURSOR=3 KIJITOMON_EVENT=armed /)
  t.notMatch(runs[3], /KIJITOMON_ID=/)
  t.equal(tail(root, args).code, 0)
  t.equal(said(out).length, 4, 'acknowledged is acknowledged')
})

t.test('kim-tail --exec - CL-31 a failing command holds its event and everything behind it', async t => {
  const root = t.testdir()
  const { out, store } = setUp(root)
  const gate = join(root, 'gate')
  const command = `echo $KIJITOMON_ID >> ${out}; test $KIJITOMON_ID != 2 || test -e ${gate}`
  const args = ['--store', store, '--consumer', 'x', '--exec', command]
  const once = tail(root, [...args, '--start', 'earliest'])
  t.equal(once.code, 1, 'without -f it is not waited for')
  t.match(once.stderr, /cannot deliver river:new:2: the command exited with 1/)
  t.same(said(out), ['1', '2'])
  const following = new Following(root, [...args, '-f'])
  await following.until(({ stderr }) => stderr.includes('retrying river:new:2'))
  writeFileSync(gate, '')
  while (said(out).at(-1) !== '3') await new Promise(resolve => setTimeout(resolve, 50))
  const ids = said(out)
  t.equal(ids.filter(id => id === '1').length, 1)
  t.same(ids.slice(-2), ['2', '3'], 'in order')
  following.child.kill('SIGTERM')
  t.equal((await following.ended).code, 143)
})

t.test('kim-tail --exec - CL-32 poison is passed after so many tries, loudly', async t => {
  const root = t.testdir()
  const { out, store } = setUp(root)
  const command = `echo $KIJITOMON_ID >> ${out}; test $KIJITOMON_ID != 2`
  const args = ['--store', store, '--consumer', 'x', '--start', 'earliest', '--exec', command]
  const done = tail(root, [...args, '--max-attempts', '2'])
  t.equal(done.code, 0)
  t.same(said(out), ['1', '2', '2', '3'])
  t.match(done.stderr, /skipped river:new:2 after 2 tries: the command exited with 1; skipped so far: 1/)
})

t.test('kim-tail --exec - CL-32 --max-attempts counts what was skipped', async t => {
  const root = t.testdir()
  const { out, store } = setUp(root)
  const command = `echo $KIJITOMON_ID >> ${out}; test $KIJITOMON_ID = 2`
  const args = ['--store', store, '--consumer', 'x', '--start', 'earliest', '--exec', command]
  const done = tail(root, [...args, '--max-attempts', '1'])
  t.equal(done.code, 0)
  t.same(said(out), ['1', '2', '3'])
  t.match(done.stderr, /skipped river:new:1 after one try: the command exited with 1; skipped so far: 1/)
  t.match(done.stderr, /skipped river:new:3 after one try: the command exited with 1; skipped so far: 2/)
  t.equal(tail(root, args).code, 0)
  t.equal(said(out).length, 3, 'what was skipped is passed')
})

t.test('kim-tail --exec - CL-32 a sign of life that the command refuses holds no mail', async t => {
  const root = t.testdir()
  const { out, segment, store } = setUp(root)
  appendFileSync(
    segment,
    line(4, { event: 'armed', item_type: 'persona', item_id: 'river', payload: { cursor: 3 } }) + line(5),
  )
  const command = `test "$KIJITOMON_EVENT" = new && echo $KIJITOMON_ID >> ${out}`
  const done = tail(root, ['--store', store, '--consumer', 'x', '--start', 'earliest', '--exec', command])
  t.equal(done.code, 0)
  t.same(said(out), ['1', '2', '3', '5'])
  t.match(done.stderr, /skipped river:armed:\S+ after one try: the command exited with 1/)
})

t.test('kim-tail --exec - what was not acknowledged when the process died comes again', async t => {
  const root = t.testdir()
  const { out, store } = setUp(root)
  const args = ['--store', store, '--consumer', 'x', '--start', 'earliest', '-f']
  const command = `echo $KIJITOMON_ID >> ${out}; test $KIJITOMON_ID != 2 || sleep 600`
  const following = new Following(root, [...args, '--exec', command])
  while (said(out).at(-1) !== '2') await new Promise(resolve => setTimeout(resolve, 50))
  following.child.kill('SIGTERM')
  t.equal((await following.ended).code, 143)
  const rest = tail(root, ['--store', store, '--consumer', 'x', '--exec', `echo $KIJITOMON_ID >> ${out}`])
  t.equal(rest.code, 0)
  t.same(said(out), ['1', '2', '2', '3'])
})
